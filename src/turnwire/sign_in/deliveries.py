"""Codes that are on their way after the request for them was answered."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Final

from turnwire.errors import where
from turnwire.sign_in.http import Unreachable

_LOG: Final = logging.getLogger("turnwire.sign_in")
_MOST: Final = 1000
_AT_ONCE: Final = 50
_LEAVE_SECONDS: Final = 5.0


class Deliveries:
    """Owns the tasks that bring codes to members, and waits for them when it is closed.

    What fails is logged without a word of whom it was for.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Do it soon; where too many wait already, not at all."""
        if len(self._tasks) >= _MOST:
            work.close()
            _LOG.warning("too many codes are on their way; one was dropped")
            return
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def idle(self) -> None:
        """Wait until nothing is on its way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Give what is on its way a moment, then end it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LEAVE_SECONDS)
        left = list(self._tasks)
        for each in left:
            each.cancel()
        if left:
            await asyncio.wait(left)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            async with self._turns:
                await work
        except Unreachable as error:
            _LOG.warning("a code was not sent: %s", error)
        except Exception as error:  # one member's trouble is nobody else's
            _LOG.error(
                "a code was not sent: %s", type(error).__name__, extra={"where": where(error)}
            )
        finally:
            work.close()
