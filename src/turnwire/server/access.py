"""Who sends this request: a key in the header, or the cookie of a server on loopback."""

import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from turnwire.admission.api_keys import KeyPolicy, digest, read_bearer, recognise
from turnwire.admission.principal import OPERATOR, Principal, Scope
from turnwire.clock import Now
from turnwire.errors import InvalidApiKey
from turnwire.storage.base import KeyRecord, KeyStore

COOKIE: Final = "turnwire_operator"
COOKIE_SECONDS: Final = 30 * 24 * 3600
_REMEMBERED_SECONDS: Final = 2.0
"""How long a looked-up key is believed; a revoked one is refused after that."""
_REMEMBERED: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Who is let in."""

    keys: KeyPolicy
    cookies: bool
    """Whether the printed link and its cookie are taken: only on loopback."""


class Access:
    """Recognises callers; looks each key up once in a while, not once a request."""

    def __init__(self, store: KeyStore, policy: AccessPolicy, *, now: Now) -> None:
        self._store = store
        self._policy = policy
        self._now = now
        self._seen: dict[str, tuple[float, KeyRecord | bool | None]] = {}

    async def require(self, request: Request, scope: Scope) -> Principal:
        """Return the caller.

        Raises:
            InvalidApiKey: nobody that we know.
            Forbidden: somebody who lacks the scope.
        """
        principal = await self.identify(request)
        principal.require(scope)
        return principal

    async def identify(self, request: Request) -> Principal:
        """Return the caller, whatever they may do, or raise :class:`InvalidApiKey`."""
        header = request.headers.get("authorization")
        cookie = request.cookies.get(COOKIE)
        if header is None and cookie is not None and self._policy.cookies and _own_page(request):
            return await self._by_cookie(cookie)
        presented = read_bearer(header, self._policy.keys)
        record = await self._remember(presented.key_id, "key")
        return recognise(presented, record if isinstance(record, KeyRecord) else None)

    async def _by_cookie(self, cookie: str) -> Principal:
        if await self._remember(digest(cookie), "cookie") is not True:
            raise InvalidApiKey("Open the link that `turnwire serve` printed, or send an API key.")
        return OPERATOR

    async def _remember(self, name: str, kind: str) -> KeyRecord | bool | None:
        seen = self._seen.get(name)
        if seen is not None and time.monotonic() - seen[0] < _REMEMBERED_SECONDS:
            return seen[1]
        if kind == "key":
            found: KeyRecord | bool | None = await self._store.key(name)
        else:
            found = await self._store.has_secret("cookie", name, now=self._now())
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[name] = (time.monotonic(), found)
        return found


def _own_page(request: Request) -> bool:
    """Whether a browser sent this from our own page, or something that is no browser did.

    The cookie is `SameSite=Strict`, but another port of this host counts as the same site.
    """
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
