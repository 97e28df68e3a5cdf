"""Let a node do what must not be cut short, or what is to be done after its turn."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final

from turnwire.work import Own

OWN: Final[ContextVar[Own | None]] = ContextVar("OWN", default=None)
"""Who owns what the run to which the current task belongs has begun."""

Later = Callable[[], Coroutine[Any, Any, None]]
"""Begins what is done after a turn; it takes care of its own errors."""

AFTER: Final[ContextVar[list[Later] | None]] = ContextVar("AFTER", default=None)
"""What the run to which the current task belongs leaves to be done after its turn."""

_ORPHANS: Final[set[asyncio.Task[None]]] = set()


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Do ``work`` and return at its end; where this is cancelled, the work still goes on.

    Its owner waits for it before the process ends; outside a server it belongs to nobody.
    """
    await asyncio.shield(begin(work))


def begin(work: Coroutine[Any, Any, None]) -> Awaitable[None]:
    """Begin what the run's owner waits for before the process ends."""
    return (OWN.get() or _orphan)(work)


def afterwards(work: Later) -> None:
    """Have ``work`` done once the turn is complete, by a task that shutdown waits for.

    Nobody else waits for it. A turn that fails, is cancelled or pauses leaves it undone: after a
    pause, only what the nodes of the last run ask for is done. Outside a server it begins at once.
    """
    later = AFTER.get()
    if later is None:
        _orphan(work())
    else:
        later.append(work)


def _orphan(work: Coroutine[Any, Any, None]) -> Awaitable[None]:
    task = asyncio.get_running_loop().create_task(work)
    _ORPHANS.add(task)  # the loop itself keeps no task alive
    task.add_done_callback(_ORPHANS.discard)
    return task
