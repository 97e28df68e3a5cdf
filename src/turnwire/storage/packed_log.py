"""The SQL store's event log: words are shown at once and stored together, endings the other way.

Ordinary events are shown as they come and wait for each other for a flush window; an ending is
stored first, with what waits of its turn, and then shown. What was shown and could not be stored
is owed, and is stored as soon as that is possible.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from sqlalchemy import Connection

from turnwire.errors import StorageUnavailable
from turnwire.events import Envelope
from turnwire.ids import TurnId
from turnwire.storage import statements
from turnwire.storage.projection import ends_run, retracted
from turnwire.storage.receipt import Tally
from turnwire.storage.tail import Tails
from turnwire.storage.writer import Writer

FLUSH_SECONDS: Final = 0.05
"""Ordinary events wait for each other this long; a crash can lose no more than they hold."""
RETRY_SECONDS: Final = 1.0
UNFLUSHED: Final = 20_000
"""Events that may wait for a slow disk before the turns wait for it too."""


class PackedLog:
    """Appends through one writer, and shows through the tails.

    ``scrub`` is called when words that a guard took back have left the rows.
    """

    def __init__(self, writer: Writer, tails: Tails, *, scrub: Callable[[], None]) -> None:
        self._writer = writer
        self._scrub = scrub
        self._tails = tails
        self._waiting: dict[TurnId, list[Envelope]] = {}
        self._tallies: dict[TurnId, Tally] = {}
        """Of turns in their first run; the receipt of any other is reduced from what is stored."""
        self._unflushed = 0
        self._flush: asyncio.TimerHandle | None = None
        self._broken: set[TurnId] = set()
        self._owed: list[Sequence[Envelope]] = []
        self._payment: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Hand everything that waits or is owed to the writer."""
        if self._flush is not None:
            self._flush.cancel()
        self._flush_now()
        if self._payment is not None:
            self._payment.cancel()
        self._pay()

    def stop(self) -> None:
        """Try nothing more; after the writer has ended."""
        if self._payment is not None:
            self._payment.cancel()

    def begun(self, started: Sequence[Envelope]) -> None:
        """Count along with a new turn, whose beginning is stored."""
        self._tallies[started[0].turn_id] = Tally().hear(started)

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        if not envelopes:
            return
        turn_id = envelopes[0].turn_id
        if ends_run(envelopes):
            await self._end(turn_id, envelopes)
            return
        if turn_id in self._broken:
            raise StorageUnavailable("Events of this turn could not be stored.")
        self.show(envelopes)
        # What a guard took back waits for nobody: it is in the file until this is stored.
        if self._unflushed > UNFLUSHED or retracted(envelopes):
            self._flush_now()
            with suppress(StorageUnavailable):  # these were shown; the next ones are refused
                await self._writer.run(lambda db: None)

    def takes(self, turn_id: TurnId) -> bool:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._unflushed < UNFLUSHED and turn_id not in self._broken

    def show(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        self._tails.extend(envelopes)
        turn_id = envelopes[0].turn_id
        tally = self._tallies.get(turn_id)
        if tally is not None:
            tally.hear(envelopes)
        waiting = self._waiting.get(turn_id)
        if waiting is None:
            self._waiting[turn_id] = list(envelopes)
        else:
            waiting.extend(envelopes)
        self._unflushed += len(envelopes)
        if self._flush is None:
            loop = asyncio.get_running_loop()
            self._flush = loop.call_later(FLUSH_SECONDS, self._flush_now)

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        self._tallies.pop(envelopes[0].turn_id, None)
        self._tails.extend(envelopes)
        self._owe(envelopes)

    async def _end(self, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
        """Store an ending with what waits of its turn; it is shown when it is durable."""
        waiting, tally = self._take(turn_id), self._tallies.pop(turn_id, None)
        receipt = tally.hear(envelopes).receipt() if tally is not None else None
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
                self._scrub_after((waiting, envelopes))
                told.set_result(None)
            else:
                self._owe(waiting)
                told.set_exception(error)
                told.exception()  # marks it as retrieved, should nobody wait any more

        settled = [*waiting, *envelopes]
        self._writer.submit(lambda db: statements.settle(db, settled, receipt), done)
        await asyncio.shield(told)

    def _take(self, turn_id: TurnId) -> list[Envelope]:
        waiting = self._waiting.pop(turn_id, [])
        self._unflushed -= len(waiting)
        return waiting

    def _flush_now(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
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
            if error is None:
                self._scrub_after(waiting.values())

        self._writer.submit(lambda db: statements.keep(db, list(waiting.values())), done)

    def _owe(self, envelopes: Sequence[Envelope]) -> None:
        if envelopes:
            self._owed.append(envelopes)
        if self._payment is None:
            loop = asyncio.get_running_loop()
            self._payment = loop.call_later(RETRY_SECONDS, self._pay)

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
            self._scrub_after(owed)

        self._writer.submit(lambda db: _store_owed(db, owed), done)

    def _scrub_after(self, stored: Iterable[Sequence[Envelope]]) -> None:
        if any(retracted(each) for each in stored):
            self._scrub()


def _store_owed(db: Connection, owed: Sequence[Sequence[Envelope]]) -> None:
    for batch in owed:
        if ends_run(batch):
            statements.settle(db, batch)
        else:
            statements.keep_late(db, batch)
