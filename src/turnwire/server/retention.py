"""Removes what nobody can come back to: conversations of people without a session."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from turnwire.admission.principal import EPHEMERAL
from turnwire.clock import Now
from turnwire.errors import StorageUnavailable, where
from turnwire.ids import ConversationId
from turnwire.storage.base import TurnStore

_LOG: Final = logging.getLogger("turnwire.server")
_LOOK_SECONDS: Final = 60.0
_AT_ONCE: Final = 100
"""Conversations that are looked up together."""
_SPARE_SECONDS: Final = 0.01
"""Left to turns after each removal: there is one writer."""


class Retention:
    """Erases conversations of ephemeral members ``seconds`` after their last message.

    One that runs, or that a reviewer may still decide about, is left until it is over.
    """

    def __init__(
        self,
        store: TurnStore,
        erase: Callable[[ConversationId], Awaitable[None]],
        *,
        now: Now,
        seconds: float,
    ) -> None:
        self._store = store
        self._erase = erase
        self._now = now
        self._seconds = seconds

    @asynccontextmanager
    async def keeping(self) -> AsyncGenerator[None]:
        """Look from time to time while the context is open."""
        looking = asyncio.get_running_loop().create_task(self._look())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait([looking])

    async def sweep(self) -> int:
        """Erase what is due; return how many that were."""
        erased = 0
        while due := await self._due():
            for each in due:
                await self._erase(each)
                await asyncio.sleep(_SPARE_SECONDS)
            erased += len(due)
        return erased

    async def _due(self) -> list[ConversationId]:
        now = self._now()
        before = now - round(self._seconds * 1000)
        return await self._store.abandoned(EPHEMERAL, before_ms=before, now=now, limit=_AT_ONCE)

    async def _look(self) -> None:
        while True:
            await self._guarded()
            await asyncio.sleep(min(_LOOK_SECONDS, self._seconds))

    async def _guarded(self) -> None:
        try:
            if erased := await self.sweep():
                _LOG.info("erased %d conversations of people without a session", erased)
        except StorageUnavailable:
            _LOG.warning("old conversations can't be erased right now", extra={"code": "storage"})
        except Exception as error:  # a bug of ours must not end the looking, or the server with it
            extra = {"where": where(error)}
            _LOG.error("erasing old conversations: %s", type(error).__name__, extra=extra)
