"""Who hears of everything that happens to turns: metrics, traces and logs are made from it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple, Protocol

from turnwire.errors import StorageUnavailable
from turnwire.events import Envelope, TextDelta, TurnStarted
from turnwire.ids import BEGINNING, RunId, Seq, TurnId
from turnwire.storage.base import EventLog, Patience
from turnwire.work import Work


class Earlier(NamedTuple):
    """What the log told of a turn before its next envelopes."""

    started: TurnStarted
    run_id: RunId
    """The latest run before them."""
    worked_ms: int | None
    """How long the turn worked before them, without waiting for people; none where nobody knows."""


class Observer(Protocol):
    """Told of what was written to the log, after it was; nothing waits for it."""

    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        """Take every envelope in order, but of a run's words the first only.

        ``earlier`` is given where the turn's beginning was not heard in one piece: for a run
        that goes on after a pause, and for the ending of a turn that another process began.
        """
        ...

    def running(self, work: Work, /) -> AbstractContextManager[object]:
        """Surround a run, in its task."""
        ...

    def unstored(self) -> None:
        """Note that the store refused something that belongs to a turn."""
        ...


class _Nobody:
    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        pass

    def running(self, work: Work, /) -> AbstractContextManager[object]:
        return nullcontext()

    def unstored(self) -> None:
        pass


NOBODY: Final[Observer] = _Nobody()


class HeardLog:
    """The log of one run, with an observer who hears what it takes."""

    def __init__(self, log: EventLog, observer: Observer) -> None:
        self._log = log
        self._observer = observer
        self._spoke = False

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        try:
            await self._log.append(envelopes)
        except StorageUnavailable:
            self._observer.unstored()
            raise
        self._tell(envelopes)

    def takes(self, turn_id: TurnId) -> bool:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._log.takes(turn_id)

    def show(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`; only words are shown."""
        self._log.show(envelopes)
        if not self._spoke:
            self._tell(envelopes)

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        await self._log.announce(envelopes)
        self._tell(envelopes)

    def follow(
        self, turn_id: TurnId, *, after: Seq, patience: Patience, run_id: RunId | None = None
    ) -> AsyncIterator[Sequence[Envelope]]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._log.follow(turn_id, after=after, patience=patience, run_id=run_id)

    async def read(self, turn_id: TurnId, *, after: Seq = BEGINNING) -> list[Envelope]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return await self._log.read(turn_id, after=after)

    def _tell(self, envelopes: Sequence[Envelope]) -> None:
        """Pass on what is news: nine of ten events are words, and nothing is made of them."""
        news: list[Envelope] = []
        for each in envelopes:
            if type(each.event) is TextDelta:
                if self._spoke:
                    continue
                self._spoke = True
            news.append(each)
        if news:
            self._observer.heard(news)
