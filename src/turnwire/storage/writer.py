"""One thread that writes: what waits while a commit runs goes into the next one together.

SQLite has one writer at a time. A commit for each event would cost twenty times as much as
packing what is ready, so the thread takes all jobs that wait and commits them at once; each has
a savepoint, and one that fails takes no other with it.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from turnwire.errors import StorageUnavailable

T = TypeVar("T")
Job = Callable[[Connection], Any]
Done = Callable[[Any, BaseException | None], None]
Task = tuple[Job, Done]

_TOGETHER: Final = 256
_GATHER_SECONDS: Final = 0.005
"""How long a job that nobody is kept waiting by waits for company, if one has just gone."""


class Writer:
    """Runs jobs against one connection, in order, several to a commit."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._gathered: list[Task] = []
        self._gathering: asyncio.TimerHandle | None = None
        self._sent = 0.0
        self._thread = threading.Thread(target=self._run, name="turnwire-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job, done: Done, *, urgent: bool = False) -> None:
        """Run ``job`` soon; ``done`` hears of it on the event loop, after the commit."""
        self._gathered.append((job, done))
        since = self._loop.time() - self._sent
        if urgent or since >= _GATHER_SECONDS:
            self._send()
        elif self._gathering is None:
            self._gathering = self._loop.call_later(_GATHER_SECONDS - since, self._send)

    async def run(self, job: Callable[[Connection], T]) -> T:
        """Run ``job`` in a transaction and return what it returned, after the commit.

        Raises:
            StorageUnavailable: the database failed; nothing of the job is stored.
        """
        told: asyncio.Future[T] = self._loop.create_future()

        def done(result: T, error: BaseException | None) -> None:
            if told.done():
                return
            if error is not None:
                told.set_exception(error)
            else:
                told.set_result(result)

        self.submit(job, done, urgent=True)
        return await told

    async def close(self) -> None:
        """Finish what waits and end the thread."""
        self._send()
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _send(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        for each in self._gathered:
            self._jobs.put(each)
        self._gathered.clear()
        self._sent = self._loop.time()

    def _run(self) -> None:
        writing = self._engine.execution_options(writer=True)
        with writing.connect() as connection:
            closing = False
            while not closing:
                batch = [self._jobs.get()]
                while len(batch) < _TOGETHER and not self._jobs.empty():
                    batch.append(self._jobs.get())
                jobs = [each for each in batch if each is not None]
                closing = len(jobs) < len(batch)
                self._tell(jobs, _commit(connection, [job for job, _ in jobs]))

    def _tell(
        self,
        jobs: Sequence[Task],
        outcomes: Sequence[tuple[Any, BaseException | None]],
    ) -> None:
        def tell() -> None:
            for (_, done), (result, error) in zip(jobs, outcomes, strict=True):
                done(result, error)

        if jobs and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(tell)


def _commit(
    connection: Connection, jobs: Sequence[Job]
) -> Sequence[tuple[Any, BaseException | None]]:
    """Run the jobs in one transaction; return each one's result or error."""
    outcomes: list[tuple[Any, BaseException | None]] = []
    try:
        with connection.begin():
            outcomes.extend(_one(connection, job, alone=len(jobs) == 1) for job in jobs)
    except _Undone as undone:
        return [(None, undone.cause)]
    except SQLAlchemyError as error:
        return [(None, _unavailable(error)) for _ in jobs]
    return outcomes


class _Undone(Exception):
    """The only job of the transaction failed, so that the transaction is rolled back."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


def _one(connection: Connection, job: Job, *, alone: bool) -> tuple[Any, BaseException | None]:
    if alone:
        try:
            return job(connection), None
        except Exception as error:
            raise _Undone(_told(error)) from error
    connection.exec_driver_sql("SAVEPOINT job")
    try:
        result = job(connection)
    except Exception as error:
        connection.exec_driver_sql("ROLLBACK TO job")
        connection.exec_driver_sql("RELEASE job")
        return None, _told(error)
    connection.exec_driver_sql("RELEASE job")
    return result, None


def _told(error: Exception) -> BaseException:
    return _unavailable(error) if isinstance(error, SQLAlchemyError) else error


def _unavailable(error: Exception) -> StorageUnavailable:
    unavailable = StorageUnavailable("The store can't be written right now; try again shortly.")
    unavailable.__cause__ = error
    return unavailable
