"""Who sends this request: a key in the header, or the cookie of a server on loopback."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from fastapi import Request
from starlette.requests import HTTPConnection

from turnwire.admission.api_keys import KeyPolicy, digest, read_bearer, recognise
from turnwire.admission.principal import OPERATOR, Principal, Scope, staff
from turnwire.admission.rates import Rates
from turnwire.clock import Now
from turnwire.errors import Forbidden, InvalidApiKey, RateLimited
from turnwire.server.key_watch import HeldKey, KeyWatch
from turnwire.storage.base import KeyRecord, KeyStore

COOKIE: Final = "turnwire_operator"
COOKIE_SECONDS: Final = 30 * 24 * 3600
_REMEMBERED_SECONDS: Final = 2.0
"""How long a looked-up key is believed; a revoked one is refused after that."""
_REMEMBERED: Final = 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Who is let in."""

    keys: KeyPolicy
    cookies: bool
    """Whether the printed link and its cookie are taken: only on loopback."""
    user_header: str = "X-Turnwire-User"
    """The header in which a key with the scope ``studio`` names the staff user it speaks for."""


class Access:
    """Recognises callers; looks each key up once in a while, not once a request."""

    def __init__(
        self, store: KeyStore, policy: AccessPolicy, *, rates: Rates, watch: KeyWatch, now: Now
    ) -> None:
        self._store = store
        self._policy = policy
        self._rates = rates
        self._watch = watch
        self._now = now
        self._keys = _Memory[KeyRecord | None]()
        self._cookies = _Memory[bool]()

    async def require(self, request: Request, scope: Scope) -> Principal:
        """Return the caller.

        Raises:
            InvalidApiKey: nobody that we know.
            RateLimited: the key has made as many requests as it may.
            Forbidden: somebody who lacks the scope.
        """
        principal = await self.identify(request)
        principal.require(scope)
        return principal

    async def identify(self, request: Request) -> Principal:
        """Return the caller, whatever they may do, or raise as :meth:`require` does.

        A request counts once, however often it is asked about.
        """
        known: Principal | None = getattr(request.state, "principal", None)
        if known is None:
            known = request.state.principal = await self._identify(request)
        return known

    async def _identify(self, request: Request) -> Principal:
        named = request.headers.getlist(self._policy.user_header)
        caller = await self._application(request)
        return _speaks_for(caller, named) if named else caller

    async def _application(self, request: Request) -> Principal:
        headers = request.headers.getlist("authorization")
        cookie = request.cookies.get(COOKIE)
        if not headers and cookie is not None and self._policy.cookies and own_page(request):
            return await self._by_cookie(cookie)
        if len(headers) > 1:  # a proxy may have judged by another one than we would
            raise InvalidApiKey("Send one `Authorization` header.")
        return await self._by_key(request, headers[0] if headers else None)

    async def _by_key(self, request: Request, header: str | None) -> Principal:
        presented = read_bearer(header, self._policy.keys)
        held = HeldKey(presented.key_id, digest(presented.secret))
        # Remembered with its secret, so that a rotated key's new one is looked up at once.
        name = f"{held.key_id} {held.secret_hash}"
        record = await self._keys.get(name, lambda: self._store.key(presented.key_id))
        now = self._now()
        principal = recognise(presented, record, now=now)
        limit = (record.per_minute if record else None) or self._policy.keys.per_minute
        wait_ms = await self._rates.take(held.key_id, limit, now=now)
        if wait_ms:
            raise RateLimited(retry_after=wait_ms / 1000)
        self._watch.let_in(request, held)
        return principal

    async def _by_cookie(self, cookie: str) -> Principal:
        name = digest(cookie)

        async def look() -> bool:
            return await self._store.has_secret("cookie", name, now=self._now())

        if not await self._cookies.get(name, look):
            raise InvalidApiKey("Open the link that `turnwire serve` printed, or send an API key.")
        return OPERATOR


class _Memory(Generic[T]):
    """What was looked up a moment ago."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, T]] = {}

    async def get(self, name: str, look: Callable[[], Awaitable[T]]) -> T:
        seen = self._seen.get(name)
        if seen is not None and time.monotonic() - seen[0] < _REMEMBERED_SECONDS:
            return seen[1]
        found = await look()
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[name] = (time.monotonic(), found)
        return found


def _speaks_for(application: Principal, named: list[str]) -> Principal:
    """Return the staff user whom a key names."""
    application.require("studio")
    if application is OPERATOR or len(named) > 1:
        raise Forbidden("One API key speaks for one staff user; the operator for nobody else.")
    return staff(named[0])


def own_page(request: HTTPConnection) -> bool:
    """Whether a browser sent this from our own page, or something that is no browser did.

    The cookie is `SameSite=Strict`, but another port of this host counts as the same site.
    """
    origins = request.headers.getlist("origin")
    host = request.headers.get("host")
    return not origins or (len(origins) == 1 and urlsplit(origins[0]).netloc == host)
