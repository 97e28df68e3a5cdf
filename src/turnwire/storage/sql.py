"""Keep everything in one SQLite file, in WAL mode."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, create_engine, delete, event, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from turnwire.errors import SetupError, StorageUnavailable
from turnwire.events import Envelope
from turnwire.ids import BEGINNING, ConversationId, RunId, Seq, TurnId
from turnwire.storage import statements
from turnwire.storage.base import (
    Answer,
    ConversationFacts,
    ConversationRecord,
    KeyRecord,
    Opening,
    PauseRecord,
    TurnRecord,
)
from turnwire.storage.projection import ends_run
from turnwire.storage.rows import key_record, key_values
from turnwire.storage.tables import KEYS, META, METADATA, SECRETS, VERSION
from turnwire.storage.tail import Tails
from turnwire.storage.writer import Writer

T = TypeVar("T")

_FLUSH_SECONDS: Final = 0.05
"""Ordinary events wait for each other this long; a crash can lose no more than they hold."""
_RETRY_SECONDS: Final = 1.0
_UNFLUSHED: Final = 20_000
"""Events that may wait for a slow disk before the turns wait for it too."""


class SqliteStore:
    """A store in ``path``; one process writes, any number reads."""

    def __init__(self, path: Path, *, busy_seconds: float = 5.0) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._tails = Tails(self._stored)
        self._waiting: dict[TurnId, list[Envelope]] = {}
        self._unflushed = 0
        self._flush: asyncio.TimerHandle | None = None
        self._broken: set[TurnId] = set()
        self._owed: list[Sequence[Envelope]] = []
        """What was shown and could not be stored yet."""
        self._payment: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Open the file, make its tables, and start the writer.

        Raises:
            SetupError: the folder can't be written, or the file was made by another version.
        """
        self._engine = _engine(self._path, self._busy_seconds)
        self._readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="turnwire-reader")
        await asyncio.to_thread(_prepare, self._engine, self._path)
        self._writer = Writer(self._engine)

    async def close(self) -> None:
        """Write what waits and close the file."""
        if self._flush is not None:
            self._flush.cancel()
        self._flush_now()
        self._pay()
        await self._writer.close()
        if self._payment is not None:
            self._payment.cancel()
        self._readers.shutdown()
        self._engine.dispose()

    async def check(self) -> None:
        """See :class:`turnwire.storage.base.Store`."""
        await self._writer.run(
            lambda db: db.execute(update(META).where(META.c.name == "checked").values(value="1"))
        )

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        if not envelopes:
            return
        turn_id = envelopes[0].turn_id
        if ends_run(envelopes):
            await self._end(turn_id, envelopes)
            return
        if self._broken and turn_id in self._broken:
            raise StorageUnavailable("Events of this turn could not be stored.")
        self._tails.extend(envelopes)
        waiting = self._waiting.get(turn_id)
        if waiting is None:
            self._waiting[turn_id] = list(envelopes)
        else:
            waiting.extend(envelopes)
        self._unflushed += len(envelopes)
        if self._flush is None:
            loop = asyncio.get_running_loop()
            self._flush = loop.call_later(_FLUSH_SECONDS, self._flush_now)
        elif self._unflushed > _UNFLUSHED:
            self._flush_now()
            with suppress(StorageUnavailable):  # these were shown; the next ones are refused
                await self._writer.run(lambda db: None)

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        self._tails.extend(envelopes)
        self._owe(envelopes)

    async def read(self, turn_id: TurnId, *, after: Seq = BEGINNING) -> list[Envelope]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return await self._query(lambda db: statements.read(db, turn_id, after))

    def follow(
        self, turn_id: TurnId, *, after: Seq, patience: float, run_id: RunId | None = None
    ) -> AsyncIterator[Sequence[Envelope]]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._tails.follow(turn_id, after=after, patience=patience, run_id=run_id)

    async def facts(
        self, principal: str, conversation_id: ConversationId | None, idempotency_key: str | None
    ) -> ConversationFacts:
        """See :class:`turnwire.storage.base.TurnStore`."""
        if conversation_id is None and idempotency_key is None:
            return ConversationFacts()
        return await self._query(
            lambda db: statements.facts(db, principal, conversation_id, idempotency_key)
        )

    async def begin(self, opening: Opening) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.begin(db, opening))
        self._tails.start(opening.started)

    async def resume(
        self, turn_id: TurnId, answers: Sequence[Answer], started: Sequence[Envelope], *, now: int
    ) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.resume(db, turn_id, answers, started, now))
        self._tails.start(started)

    async def close_paused(self, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.close_paused(db, turn_id, envelopes))

    async def turn(self, turn_id: TurnId) -> TurnRecord | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.turn(db, turn_id))

    async def turns(self, conversation_id: ConversationId) -> list[TurnRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.turns(db, conversation_id))

    async def running(self) -> list[TurnRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(statements.running)

    async def pauses(
        self, conversation_id: ConversationId | None = None, *, kind: str | None = None
    ) -> list[PauseRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.pauses(db, conversation_id, kind))

    async def conversation(self, conversation_id: ConversationId) -> ConversationRecord | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.conversation(db, conversation_id))

    async def conversations(self, principal: str) -> list[ConversationRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.conversations(db, principal))

    async def erase(self, conversation_id: ConversationId) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.erase(db, conversation_id))
        await asyncio.get_running_loop().run_in_executor(self._readers, self._empty_wal)

    async def add_key(self, key: KeyRecord) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        await self._writer.run(lambda db: db.execute(insert(KEYS).values(**key_values(key))))

    async def key(self, key_id: str) -> KeyRecord | None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        query = select(KEYS).where(KEYS.c.key_id == key_id)
        found = await self._query(lambda db: db.execute(query).mappings().first())
        return key_record(found) if found else None

    async def keys(self) -> list[KeyRecord]:
        """See :class:`turnwire.storage.base.KeyStore`."""
        query = select(KEYS).order_by(KEYS.c.created_ms)
        rows = await self._query(lambda db: db.execute(query).mappings().all())
        return [key_record(each) for each in rows]

    async def revoke_key(self, key_id: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        valid = update(KEYS).where(KEYS.c.key_id == key_id, KEYS.c.revoked_ms.is_(None))
        revoke = valid.values(revoked_ms=now)
        return await self._writer.run(lambda db: db.execute(revoke).rowcount == 1)

    async def add_secret(self, kind: str, secret_hash: str, *, expires_ms: int) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        new = {"kind": kind, "secret_hash": secret_hash, "expires_ms": expires_ms}
        await self._writer.run(lambda db: db.execute(insert(SECRETS).values(**new)))

    async def take_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        known = SECRETS.c.kind == kind, SECRETS.c.secret_hash == secret_hash
        take = delete(SECRETS).where(*known, SECRETS.c.expires_ms > now)
        return await self._writer.run(lambda db: db.execute(take).rowcount == 1)

    async def has_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        known = SECRETS.c.kind == kind, SECRETS.c.secret_hash == secret_hash
        query = select(SECRETS.c.kind).where(*known, SECRETS.c.expires_ms > now)
        return await self._query(lambda db: db.execute(query).first() is not None)

    def _empty_wal(self) -> None:
        """Leave no copy of what was erased in the write-ahead log."""
        with closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    async def _stored(self, turn_id: TurnId, after: Seq) -> list[Envelope]:
        return await self.read(turn_id, after=after)

    async def _query(self, read: Callable[[Connection], T]) -> T:
        def run() -> T:
            with self._engine.connect() as db:
                return read(db)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, run)
        except SQLAlchemyError as error:
            raise StorageUnavailable("The store can't be read right now.") from error

    async def _end(self, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
        """Store an ending with what waits of its turn; it is shown when it is durable."""
        waiting = self._take(turn_id)
        broken = turn_id in self._broken
        self._broken.discard(turn_id)
        if broken:
            self._owe(waiting)
            raise StorageUnavailable("Events of this turn could not be stored.")
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(_: object, error: BaseException | None) -> None:
            # Here and not after the wait: a run that is cancelled meanwhile has still ended.
            if error is None:
                self._tails.extend(envelopes)
                self._tails.settle(turn_id, envelopes[-1].seq)
                told.set_result(None)
            else:
                self._owe(waiting)
                told.set_exception(error)
                told.exception()  # marks it as retrieved, should nobody wait any more

        self._writer.submit(lambda db: statements.settle(db, [*waiting, *envelopes]), done)
        await asyncio.shield(told)

    def _take(self, turn_id: TurnId) -> list[Envelope]:
        waiting = self._waiting.pop(turn_id, [])
        self._unflushed -= len(waiting)
        return waiting

    def _flush_now(self) -> None:
        self._flush = None
        waiting, self._waiting, self._unflushed = self._waiting, {}, 0
        if not waiting:
            return

        def done(_: object, error: BaseException | None) -> None:
            for turn_id, batch in waiting.items():
                if error is not None:
                    self._broken.add(turn_id)
                    self._owe(batch)
                elif turn_id not in self._broken:
                    self._tails.settle(turn_id, batch[-1].seq)

        self._writer.submit(lambda db: statements.keep(db, list(waiting.values())), done)

    def _owe(self, envelopes: Sequence[Envelope]) -> None:
        if envelopes:
            self._owed.append(envelopes)
        if self._payment is None:
            loop = asyncio.get_running_loop()
            self._payment = loop.call_later(_RETRY_SECONDS, self._pay)

    def _pay(self) -> None:
        """Try again to store what was shown and is owed to the log."""
        self._payment = None
        owed, self._owed = self._owed, []
        if not owed:
            return

        def done(_: object, error: BaseException | None) -> None:
            if error is not None:
                self._owed = [*owed, *self._owed]
                self._owe(())
                return
            for batch in owed:
                self._broken.discard(batch[0].turn_id)
                self._tails.settle(batch[0].turn_id, batch[-1].seq)

        self._writer.submit(lambda db: _store_owed(db, owed), done)


def _store_owed(db: Connection, owed: Sequence[Sequence[Envelope]]) -> None:
    for batch in owed:
        if ends_run(batch):
            statements.settle(db, batch)
        else:
            statements.keep(db, (batch,))


def _engine(path: Path, busy_seconds: float) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": busy_seconds, "check_same_thread": False, "isolation_level": None},
    )

    def on_connect(connection: Any, _: object) -> None:  # noqa: ANN401 - sqlite3's own type
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=ON")

    def on_begin(connection: Connection) -> None:
        # A reader takes no write lock; the writer takes it at once instead of failing half-way.
        writer = connection.get_execution_options().get("writer")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


def _prepare(engine: Engine, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with engine.execution_options(writer=True).begin() as db:
            METADATA.create_all(db)
            version = db.execute(select(META.c.value).where(META.c.name == "version")).scalar()
            if version is None:
                rows = [
                    {"name": "version", "value": str(VERSION)},
                    {"name": "checked", "value": ""},
                ]
                db.execute(insert(META), rows)
    except (OSError, SQLAlchemyError) as error:
        raise SetupError(f"{path} can't be opened for writing: {error}") from error
    if version not in (None, str(VERSION)):
        raise SetupError(
            f"{path} was made by another version of turnwire (tables {version}, here {VERSION}); "
            "use the version that made it, or another --data-dir"
        )
