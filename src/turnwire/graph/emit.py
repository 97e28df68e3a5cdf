"""Let a node say an event.

Any node of any LangGraph graph may call :func:`emit` or keep a :func:`speaker`; outside a run both
do nothing, so that a node stays an ordinary function. What is said travels through LangGraph's own
stream writer, in order with the starts and ends of nodes. Words take a shorter way as soon as
what happened before them has been read: see :class:`Outlet`.
"""

import asyncio
from collections.abc import Callable, Container
from contextvars import ContextVar
from typing import Final

from langgraph.config import get_config, get_stream_writer

from turnwire.events import Event, TextDelta
from turnwire.graph.plain import root_task
from turnwire.work import Aloud

Write = Callable[[object], None]

LEAST: Final = 0.005
"""Seconds that words gather for; shorter than any model's pace that a person sees."""
MOST: Final = 0.050
"""The same, once they come by the hundred: those are shown 20 times a second."""
_FULL: Final = 3


class Outlet:
    """What the speakers of one run have on the stream, and the short way past it.

    An item on LangGraph's stream costs as much as several tokens. Once the start of their node
    and all that was said have been read from it, words go straight to the run and stay in order:
    nothing can overtake them, and there is nothing that they could overtake. Words that come soon
    after the last ones gather for a moment and go together; words that come alone are never held.
    """

    def __init__(
        self, aloud: Aloud, started: Container[str], may_pass: Callable[[str], bool]
    ) -> None:
        self._aloud = aloud
        self._started = started
        self._may_pass = may_pass
        self._loop = asyncio.get_running_loop()
        self._gathered: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._window = LEAST
        self._last = 0.0
        self._write: Write | None = None
        self._open: Batch | None = None
        self._on_the_way = 0

    def say(self, text: str, task: str, write: Write) -> bool:
        """Take words of a task for the short way; false if they have to go by ``write``."""
        if self._on_the_way or task not in self._started or not self._may_pass(text):
            return False
        if self._timer is None:
            now = self._loop.time()
            spare = self._last + self._window - now
            if spare <= 0:
                self._last, self._window = now, LEAST
                return self._aloud((text,))
            self._timer = self._loop.call_later(spare, self.flush)
        self._gathered.append(text)
        self._write = write
        return True

    def flush(self) -> None:
        """Say what has gathered."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        words, self._gathered = self._gathered, []
        self._last = self._loop.time()
        self._window = min(MOST, self._window * 2) if len(words) >= _FULL else LEAST
        if not self._aloud(words) and self._write is not None:
            self._write(Batch([TextDelta(text=each) for each in words], self))

    def close(self) -> None:
        """Say what has gathered, if anybody still hears it; nobody reads the stream any more."""
        self._write = None
        self.flush()

    def is_open(self, batch: "Batch") -> bool:
        """Whether the batch is the last that was put on the stream, and not taken yet."""
        return batch is self._open

    def put(self, batch: "Batch") -> None:
        """Note that a batch goes on the stream, behind what has gathered."""
        self.flush()
        self._open = batch
        self._on_the_way += 1
        self._last = self._loop.time()

    def take(self, batch: "Batch") -> None:
        """Note that the reader has it."""
        self._on_the_way -= 1
        if batch is self._open:
            self._open = None


OUTLET: Final[ContextVar[Outlet | None]] = ContextVar("OUTLET", default=None)
"""Of the run to which the current task belongs."""


class Batch(list[Event]):
    """Events that were ready together: one item on LangGraph's stream.

    The writer adds to the batch until the reader takes it.
    """

    __slots__ = ("_outlet",)

    def __init__(self, events: list[Event], outlet: Outlet | None) -> None:
        super().__init__(events)
        self._outlet = outlet
        if outlet is not None:
            outlet.put(self)

    def take(self) -> "Batch":
        """Close the batch to its writer and return it."""
        if self._outlet is not None:
            self._outlet.take(self)
        return self


class Speaker:
    """What one node says in one run; get one with :func:`speaker` when the node starts."""

    __slots__ = ("_batch", "_outlet", "_task", "_write")

    def __init__(self, write: Write, outlet: Outlet | None = None, task: str = "") -> None:
        self._write = write
        self._outlet = outlet
        self._task = task
        self._batch: Batch | None = None

    def emit(self, event: Event) -> None:
        """Say that something happened."""
        batch, outlet = self._batch, self._outlet
        if batch is not None and outlet is not None and outlet.is_open(batch):
            batch.append(event)
            return
        self._batch = batch = Batch([event], outlet)
        self._write(batch)

    def say(self, text: str) -> None:
        """Say the next words of the answer; empty text is not said."""
        if not text:
            return
        outlet = self._outlet
        if outlet is None or not outlet.say(text, self._task, self._write):
            self.emit(TextDelta(text=text))


def speaker() -> Speaker:
    """Return the running node's speaker; outside a run, one that nobody hears."""
    try:
        write = get_stream_writer()
    except RuntimeError:
        return nobody()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return Speaker(write)  # in a thread, the reader could take a batch under its writer
    return Speaker(write, OUTLET.get(), root_task(get_config().get("metadata", {}))[1])


def nobody() -> Speaker:
    """Return a speaker that nobody hears."""
    return Speaker(_unheard)


def _unheard(_: object) -> None:
    pass


def emit(event: Event) -> None:
    """Say one event; a node that says several keeps its :func:`speaker`."""
    speaker().emit(event)
