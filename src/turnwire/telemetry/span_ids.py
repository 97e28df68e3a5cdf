"""Span ids that can be worked out again: the run that goes on after a restart links to them."""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from turnwire.ids import RunId

Wanted = tuple[int, int]
"""A trace id and a span id."""

WANTED: Final[ContextVar[Wanted | None]] = ContextVar("WANTED", default=None)
"""The ids of the span that is being made, where they are not to be random."""


def trace_id_of(trace_id: str) -> int:
    """Return the number that 32 hexadecimal digits stand for."""
    return int(trace_id, 16)


def span_id_of(run_id: RunId) -> int:
    """Return the id of the run's span: 64 bits of the run's own random ones, never 0."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return int.from_bytes(digest[:8]) or 1


@contextmanager
def own_ids(trace_id: str, run_id: RunId) -> Generator[None]:
    """Give the span that is made inside the turn's trace and the run's own id."""
    token = WANTED.set((trace_id_of(trace_id), span_id_of(run_id)))
    try:
        yield
    finally:
        WANTED.reset(token)
