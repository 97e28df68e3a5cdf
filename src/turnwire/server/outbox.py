"""What waits to be written to one socket: bounded, so that a client that does not read costs
little, and is left."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

_ROOM: Final = 262_144
"""Characters that may wait before turns have to."""
_ANSWERS: Final = 256
"""Short answers (``pong``, errors) that may wait beside them."""


class TooSlow(Exception):
    """The client does not read what it asked for."""


class Outbox:
    """Takes from several, gives to one writer; in order, but answers go ahead of turns."""

    def __init__(self, *, patience: float) -> None:
        """Begin empty; ``patience`` is how many seconds a turn waits for room."""
        self._patience = patience
        self._turns: deque[Sequence[str]] = deque()
        self._answers: deque[str] = deque()
        self._waiting = 0
        self._filled, self._emptied = asyncio.Event(), asyncio.Event()
        self._emptied.set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def put(self, texts: Sequence[str]) -> None:
        """Take a turn's messages; waits while too much waits before them.

        Raises:
            TooSlow: it did so for as long as the patience is.
        """
        if self._waiting >= _ROOM:
            await self._room()
        self._turns.append(texts)
        self._waiting += sum(map(len, texts))
        self._fill()

    def answer(self, text: str) -> None:
        """Take a short answer, without a wait.

        Raises:
            TooSlow: the client asks and asks and does not read.
        """
        if len(self._answers) >= _ANSWERS:
            raise TooSlow
        self._answers.append(text)
        self._fill()

    async def next(self) -> Sequence[str]:
        """Return what is to be written next, in order; what was returned before is written."""
        if not self._answers and not self._turns:
            self._idle.set()
            self._filled.clear()
            await self._filled.wait()
        if self._answers:
            texts: Sequence[str] = tuple(self._answers)
            self._answers.clear()
            return texts
        texts = self._turns.popleft()
        self._waiting -= sum(map(len, texts))
        if self._waiting < _ROOM:
            self._emptied.set()
        return texts

    async def written(self) -> None:
        """Wait until everything was written."""
        await self._idle.wait()

    def _fill(self) -> None:
        self._idle.clear()
        self._filled.set()

    async def _room(self) -> None:
        try:
            async with asyncio.timeout(self._patience):
                while self._waiting >= _ROOM:
                    self._emptied.clear()
                    await self._emptied.wait()
        except TimeoutError:
            raise TooSlow from None
