"""Let a node say an event.

Any node of any LangGraph graph may call :func:`emit` or keep a :func:`speaker`; outside a run both
do nothing, so that a node stays an ordinary function. What is said travels through LangGraph's own
stream writer, in order with the starts and ends of nodes.
"""

import asyncio
from collections.abc import Callable

from langgraph.config import get_stream_writer

from turnwire.events import Event, TextDelta

Write = Callable[[object], None]


class Batch(list[Event]):
    """Events that were ready together: one item on LangGraph's stream, however many tokens.

    A model that is faster than the reader would cost one stream item a token; the writer adds to
    the batch until the reader takes it.
    """

    __slots__ = ("taken",)

    def __init__(self, first: Event) -> None:
        super().__init__((first,))
        self.taken = False

    def take(self) -> "Batch":
        """Close the batch to its writer and return it."""
        self.taken = True
        return self


class Speaker:
    """What one node says in one run; get one with :func:`speaker` when the node starts."""

    __slots__ = ("_batch", "_joins", "_write")

    def __init__(self, write: Write | None, *, joins: bool) -> None:
        self._write = write
        self._batch: Batch | None = None
        # Only on the event loop: in a thread, the reader could take a batch under the writer.
        self._joins = joins

    def emit(self, event: Event) -> None:
        """Say that something happened."""
        batch = self._batch
        if batch is not None and self._joins and not batch.taken:
            batch.append(event)
            return
        self._batch = batch = Batch(event)
        if self._write is not None:
            self._write(batch)

    def say(self, text: str) -> None:
        """Say the next words of the answer; empty text is not said."""
        if not text:
            return
        batch = self._batch
        if batch is not None and self._joins and not batch.taken:
            batch.append(TextDelta(text=text))
        else:
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
        return Speaker(write, joins=False)
    return Speaker(write, joins=True)


def nobody() -> Speaker:
    """Return a speaker that nobody hears."""
    return Speaker(None, joins=False)


def emit(event: Event) -> None:
    """Say one event; a node that says several keeps its :func:`speaker`."""
    speaker().emit(event)
