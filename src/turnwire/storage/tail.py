"""The live end of the turns that run in this process, and the one function that follows them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, closing
from typing import Final

from turnwire.events import Envelope
from turnwire.ids import RunId, Seq, TurnId
from turnwire.storage.base import Patience
from turnwire.storage.projection import ends_run, retracted, without_words

Read = Callable[[TurnId, Seq], Awaitable[list[Envelope]]]

KEPT: Final = 4096
"""Envelopes of one turn that stay in memory while it runs; older ones are read from the store."""

WINDOW: Final = 1024
"""Envelopes that a follower is handed at once."""


class Tail:
    """The latest envelopes of one run, and who waits for the next.

    A follower owns a number, not a queue: one that stops reading costs nothing.
    """

    __slots__ = ("ended", "envelopes", "first", "retracted", "run_id", "waiters")

    def __init__(self, run_id: RunId, first: int) -> None:
        self.run_id = run_id
        self.first = first
        self.envelopes: list[Envelope] = []
        self.waiters: list[asyncio.Future[None]] = []
        self.ended = False
        self.retracted = 0
        """The event by which a guard took back what was said before it; 0 for none."""

    @property
    def last(self) -> int:
        """The number of the newest envelope."""
        return self.first + len(self.envelopes) - 1

    def extend(self, envelopes: Sequence[Envelope]) -> None:
        """Add envelopes and wake who waits."""
        self.envelopes.extend(envelopes)
        taken_back = retracted(envelopes)
        if taken_back:
            self.retracted = taken_back
            self.envelopes = without_words(self.envelopes, taken_back)
        self.ended = self.ended or ends_run(envelopes)
        if self.waiters:
            waiters, self.waiters = self.waiters, []
            for each in waiters:
                if not each.done():
                    each.set_result(None)

    def trim(self, durable: int) -> None:
        """Forget what is older than the window and, up to ``durable``, in the store."""
        spare = min(len(self.envelopes) - KEPT, durable - self.first + 1)
        if spare > KEPT:
            del self.envelopes[:spare]
            self.first += spare


class Listener:
    """Waits for a tail's next envelopes, again and again; to be closed.

    Its timer outlives a wait: a stream of words would else make and cancel one for each.
    """

    __slots__ = ("_deadline", "_loop", "_tail", "_timer", "_waiter")

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._waiter: asyncio.Future[None] | None = None

    async def changed(self, patience: float) -> bool:
        """Wait for the next envelope; false if none came within ``patience`` seconds."""
        self._deadline = self._loop.time() + patience
        if self._timer is None or self._timer.when() > self._deadline:
            self._wind()
        self._waiter = waiter = self._loop.create_future()
        self._tail.waiters.append(waiter)
        try:
            await waiter
        except TimeoutError:
            return False
        finally:
            self._waiter = None
            if waiter in self._tail.waiters:
                self._tail.waiters.remove(waiter)
        return True

    def close(self) -> None:
        """Wait no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wind(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self._deadline, self._look)

    def _look(self) -> None:
        self._timer = None
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._loop.time() < self._deadline:
            self._wind()
        else:
            waiter.set_exception(TimeoutError())


class Tails:
    """The tails of all turns that run here."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._tails: dict[TurnId, Tail] = {}

    def start(self, envelopes: Sequence[Envelope]) -> None:
        """Begin a run by its first envelopes."""
        first = envelopes[0]
        tail = self._tails[first.turn_id] = Tail(first.run_id, first.seq)
        tail.extend(envelopes)

    def extend(self, envelopes: Sequence[Envelope]) -> None:
        """Show envelopes of one turn to its followers."""
        tail = self._tails.get(envelopes[0].turn_id)
        if tail is not None:
            tail.extend(envelopes)

    def settle(self, turn_id: TurnId, durable: int) -> None:
        """Bound what a turn keeps in memory, now that it is in the store up to ``durable``."""
        tail = self._tails.get(turn_id)
        if tail is None:
            return
        if tail.ended and durable >= tail.last:
            del self._tails[turn_id]
        else:
            tail.trim(durable)

    async def follow(
        self, turn_id: TurnId, *, after: Seq, patience: Patience, run_id: RunId | None
    ) -> AsyncIterator[Sequence[Envelope]]:
        """Yield everything after ``after``; see :class:`turnwire.storage.base.EventLog`."""
        cursor = int(after)
        while True:
            # Subscribed before the store is read: nothing falls in between, and what is in
            # both is passed over by the cursor.
            tail = self._tails.get(turn_id)
            kept = tail is not None and tail.first <= cursor + 1
            if tail is not None and kept:
                live = _drain(tail, cursor, patience)
            else:
                live = _windows(await self._read(turn_id, Seq(cursor)))
            before = cursor
            async with aclosing(live):
                async for batch in live:
                    if batch:
                        cursor = batch[-1].seq
                    yield self._as_it_stands(turn_id, tail, batch)
                    if run_id is not None and _ends(batch, run_id):
                        return
            # Without progress from the store it was erased: nothing of what memory dropped is left.
            if self._is_over(turn_id, tail, cursor) or (not kept and cursor == before):
                return

    def _as_it_stands(
        self, turn_id: TurnId, tail: Tail | None, batch: Sequence[Envelope]
    ) -> Sequence[Envelope]:
        """Return a batch without what a guard took back after the batch was read."""
        for each in (tail, self._tails.get(turn_id)):
            if each is not None and batch and batch[0].seq < each.retracted:
                batch = without_words(batch, each.retracted)
        return batch

    def _is_over(self, turn_id: TurnId, tail: Tail | None, cursor: int) -> bool:
        """Whether ``cursor`` is at the end of what was followed and nothing newer runs."""
        if tail is not None and (not tail.ended or cursor < tail.last):
            return False
        newer = self._tails.get(turn_id)
        return newer is None or newer is tail


def _ends(batch: Sequence[Envelope], run_id: RunId) -> bool:
    return ends_run(batch) and batch[-1].run_id == run_id


async def _drain(
    tail: Tail, cursor: int, patience: Patience
) -> AsyncGenerator[Sequence[Envelope], None]:
    """Yield from memory until the run ends, or until the reader fell behind what is kept."""
    with closing(Listener(tail)) as listener:
        while tail.first <= cursor + 1:
            start = cursor + 1 - tail.first
            batch = tail.envelopes[start : start + WINDOW]
            if batch:
                cursor = batch[-1].seq
                yield batch
            elif tail.ended:
                return
            elif not await listener.changed(patience() if callable(patience) else patience):
                yield ()


async def _windows(stored: Sequence[Envelope]) -> AsyncGenerator[Sequence[Envelope], None]:
    """Yield what was stored, a run at a time and no more than a window at once."""
    start = 0
    for end, each in enumerate(stored, start=1):
        if end - start == WINDOW or end == len(stored) or ends_run((each,)):
            yield stored[start:end]
            start = end
