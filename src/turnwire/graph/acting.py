"""Let a node do what must not be cut short: it goes on although the run is stopped."""

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import ContextVar
from typing import Any, Final

from turnwire.work import Own

OWN: Final[ContextVar[Own | None]] = ContextVar("OWN", default=None)
"""Who owns what the run to which the current task belongs has begun."""

_ORPHANS: Final[set[asyncio.Task[None]]] = set()


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Do ``work`` and return at its end; where this is cancelled, the work still goes on.

    Its owner waits for it before the process ends; outside a server it belongs to nobody.
    """
    own = OWN.get() or _orphan
    await asyncio.shield(own(work))


def _orphan(work: Coroutine[Any, Any, None]) -> Awaitable[None]:
    task = asyncio.get_running_loop().create_task(work)
    _ORPHANS.add(task)  # the loop itself keeps no task alive
    task.add_done_callback(_ORPHANS.discard)
    return task
