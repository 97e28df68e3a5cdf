"""Let a node say an event.

Any node of any LangGraph graph may call :func:`emit` or keep a :func:`speaker`; outside a run both
do nothing, so that a node stays an ordinary function. What is said travels through LangGraph's own
stream writer, in order with the starts and ends of nodes. Words that come one by one take a
shorter way once all that was said before them has been read: see :class:`Outlet`.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from langgraph.config import get_stream_writer

from turnwire.events import Event, TextDelta
from turnwire.graph.pace import LEAST
from turnwire.work import Aloud

Write = Callable[[object], None]


class Outlet:
    """What the speakers of one run have on the stream, and the short way past it.

    An item on that stream costs as much as all the rest of a token. Where nothing is on the
    stream that the reader has not taken, words that come alone are said at once, and stay in
    order: nothing can overtake them and there is nothing that they could overtake.
    """

    __slots__ = ("_aloud", "_last", "_may_pass", "_on_the_way", "_open", "_time")

    def __init__(self, aloud: Aloud, may_pass: Callable[[str], bool]) -> None:
        self._aloud = aloud
        self._may_pass = may_pass
        self._time = asyncio.get_running_loop().time
        self._last = 0.0
        self._open: Batch | None = None
        self._on_the_way = 0

    def say(self, text: str) -> bool:
        """Say words that come alone; false if they have to go the long way."""
        now = self._time()
        since, self._last = now - self._last, now
        alone = since >= LEAST and not self._on_the_way
        return alone and self._may_pass(text) and self._aloud(text)

    def is_open(self, batch: "Batch") -> bool:
        """Whether the batch is the last that was put on the stream, and not taken yet."""
        return batch is self._open

    def put(self, batch: "Batch") -> None:
        """Note that a batch goes on the stream."""
        self._open = batch
        self._on_the_way += 1
        self._last = self._time()

    def take(self, batch: "Batch") -> None:
        """Note that the reader has it."""
        self._on_the_way -= 1
        if batch is self._open:
            self._open = None


OUTLET: Final[ContextVar[Outlet | None]] = ContextVar("OUTLET", default=None)
"""Of the run to which the current task belongs."""


class Batch(list[Event]):
    """Events that were ready together: one item on LangGraph's stream, however many tokens.

    A model that is faster than the reader would cost one stream item a token; the writer adds to
    the batch until the reader takes it.
    """

    __slots__ = ("_outlet",)

    def __init__(self, first: Event, outlet: Outlet | None) -> None:
        super().__init__((first,))
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

    __slots__ = ("_batch", "_outlet", "_write")

    def __init__(self, write: Write | None, outlet: Outlet | None) -> None:
        self._write = write
        self._outlet = outlet
        self._batch: Batch | None = None

    def emit(self, event: Event) -> None:
        """Say that something happened."""
        batch, outlet = self._batch, self._outlet
        if batch is not None and outlet is not None and outlet.is_open(batch):
            batch.append(event)
        else:
            self._put(event)

    def say(self, text: str) -> None:
        """Say the next words of the answer; empty text is not said."""
        if not text:
            return
        batch, outlet = self._batch, self._outlet
        if batch is not None and outlet is not None:
            if outlet.is_open(batch):
                batch.append(TextDelta(text=text))
                return
            # What followed the node's start, on the stream, came alone: this may come alone too.
            if len(batch) == 1 and outlet.say(text):
                return
        self._put(TextDelta(text=text))

    def _put(self, event: Event) -> None:
        self._batch = batch = Batch(event, self._outlet)
        if self._write is not None:
            self._write(batch)


def speaker() -> Speaker:
    """Return the running node's speaker; outside a run, one that nobody hears."""
    try:
        write = get_stream_writer()
    except RuntimeError:
        return nobody()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # In a thread, the reader could take a batch under its writer.
        return Speaker(write, None)
    return Speaker(write, OUTLET.get())


def nobody() -> Speaker:
    """Return a speaker that nobody hears."""
    return Speaker(None, None)


def emit(event: Event) -> None:
    """Say one event; a node that says several keeps its :func:`speaker`."""
    speaker().emit(event)
