"""Let a fast speaker's words gather before they are taken on.

Each item on LangGraph's stream costs the same, however many words it holds. A batch that comes
soon after the last one is therefore left open for a moment, and its writer adds to it. Words that
come slower than the moment are never held.
"""

import asyncio
from collections.abc import Sized
from typing import Final

LEAST: Final = 0.005
"""Seconds between two batches of one turn; shorter than any model's pace that a person sees."""
MOST: Final = 0.050
"""The same, once batches are full: words that come by the hundred are shown 20 times a second."""
_FULL: Final = 3


class Pace:
    """When the next batch of one turn may be taken."""

    __slots__ = ("_last", "_window")

    def __init__(self) -> None:
        self._last = 0.0
        self._window = LEAST

    async def gather(self, batch: Sized) -> None:
        """Return when ``batch`` may be taken."""
        time = asyncio.get_running_loop().time
        spare = self._last + self._window - time()
        if spare > 0:
            await asyncio.sleep(spare)
        self._window = min(MOST, self._window * 2) if len(batch) >= _FULL else LEAST
        self._last = time()
