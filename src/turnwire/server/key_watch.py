"""Follows API keys while they are in use: notes when, and ends the streams of one that is gone."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import HTTPConnection

from turnwire.admission.api_keys import opens
from turnwire.clock import Now
from turnwire.errors import InvalidApiKey, StorageUnavailable, where
from turnwire.storage.base import KeyStore

_LOG: Final = logging.getLogger("turnwire.server")
_STATE: Final = "api_key"
_GONE: Final = "This API key is not valid."
_NOTED_MS: Final = 60_000
"""How often the use of one key is written at the most."""


@dataclass(frozen=True, slots=True)
class HeldKey:
    """The key that a request was let in with."""

    key_id: str
    secret_hash: str


class KeyWatch:
    """Looks at the keys of all open streams at once, every ``seconds``.

    Nothing of it is on a request's way: where the store fails it tries again, and open streams
    stay open meanwhile.
    """

    def __init__(self, store: KeyStore, *, now: Now, seconds: float = 2.0) -> None:
        self._store = store
        self._now = now
        self._seconds = seconds
        self._held: dict[asyncio.Timeout, HeldKey] = {}
        self._gone: set[HeldKey] = set()
        """Keys whose streams were ended: one that was just looked up is not believed any more."""
        self._used: dict[str, int] = {}
        self._noted: dict[str, int] = {}

    def let_in(self, request: HTTPConnection, key: HeldKey) -> None:
        """Note that the key was used, and that this request hangs on it.

        Raises:
            InvalidApiKey: the watch has seen the key go.
        """
        if key in self._gone:
            raise InvalidApiKey(_GONE)
        self._used[key.key_id] = self._now()
        setattr(request.state, _STATE, key)

    @asynccontextmanager
    async def holding(self, scope: Mapping[str, Any]) -> AsyncGenerator[None]:
        """Go on inside for as long as the request's key opens; a request without one goes on.

        Raises:
            InvalidApiKey: the key was revoked or rotated out; what ran inside was cancelled.
        """
        key: HeldKey | None = scope.get("state", {}).get(_STATE)
        if key is None:
            yield
            return
        # A timeout without an end is a scope that the watch can cancel.
        ending = asyncio.timeout(None)
        try:
            async with ending:
                self._held[ending] = key
                try:
                    yield
                finally:
                    self._held.pop(ending, None)
        except TimeoutError:
            if ending.expired():
                raise InvalidApiKey(_GONE) from None
            raise

    @asynccontextmanager
    async def watching(self) -> AsyncGenerator[None]:
        """Watch while the context is open; what was not written by then is written at its end."""
        watch = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.wait([watch])
            await self._guarded(every_ms=0)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            await self._guarded(every_ms=_NOTED_MS)

    async def _guarded(self, *, every_ms: int) -> None:
        try:
            await self._end_streams()
            await self._note_uses(every_ms)
        except StorageUnavailable:
            _LOG.warning("API keys can't be looked at right now", extra={"code": "storage"})
        except Exception as error:  # a bug of ours must not end the watch, or the server with it
            _LOG.error("watching API keys: %s", type(error).__name__, extra={"where": where(error)})

    async def _end_streams(self) -> None:
        if not self._held:
            return
        found = await self._store.keys({each.key_id for each in self._held.values()})
        known, now = {each.key_id: each for each in found}, self._now()
        at_once = asyncio.get_running_loop().time()
        for ending, key in list(self._held.items()):
            if not opens(key.secret_hash, known.get(key.key_id), now=now):
                del self._held[ending]
                self._gone.add(key)
                ending.reschedule(at_once)

    async def _note_uses(self, every_ms: int) -> None:
        due = {
            key_id: at
            for key_id, at in self._used.items()
            if at - self._noted.get(key_id, 0) >= every_ms
        }
        if not due:
            return
        await self._store.keys_used(due)
        self._noted |= due
        for key_id, at in due.items():
            if self._used[key_id] == at:
                del self._used[key_id]
