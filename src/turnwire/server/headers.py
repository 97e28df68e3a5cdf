"""What surrounds every request and answer: the proxy in front, other origins, safe defaults."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from turnwire.ids import new_id

_SENT: Final = (
    "Accept",
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "traceparent",
)
"""Request headers that scripts of other origins may send."""
_EXPOSED: Final = ("Retry-After", "X-Request-ID")
"""Response headers that they may read."""

_DEFAULTS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    # For what is no page: nothing in it may load, run or be framed. The page has its own.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
# RFC 6797, section 7.2: not over plain HTTP. The site's other names are the operator's.
_TLS_ONLY: Final = (b"strict-transport-security", b"max-age=31536000")

_REQUESTS: Final = ("http", "websocket")
_STARTS: Final = ("http.response.start", "websocket.http.response.start")
"""The second is a socket's that is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderPolicy:
    """Whom to believe and whom to answer."""

    trusted_proxies: Sequence[str] = ()
    """Addresses and networks whose ``X-Forwarded-For`` and ``-Proto`` are believed."""
    cors_origins: Sequence[str] = ()
    """Origins whose scripts may read answers; cookies never go with them."""
    tls_only: bool = False
    """Whether browsers that came by TLS are told to come by nothing else."""
    session_header: str = "X-Turnwire-Session"
    """The name of the header with a member's session."""


class Heads:
    """Gives each request an id, which its answer carries, and each answer safe headers.

    What an answer has set itself stays.
    """

    def __init__(self, app: ASGIApp, *, tls_only: bool) -> None:
        self._app = app
        self._tls_only = tls_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] not in _REQUESTS:
            await self._app(scope, receive, send)
            return
        request_id = new_id("req")
        scope.setdefault("state", {})["request_id"] = request_id
        tls = self._tls_only and scope.get("scheme") in ("https", "wss")
        added = (*_DEFAULTS, _TLS_ONLY) if tls else _DEFAULTS

        async def send_safely(message: Message) -> None:
            if message["type"] in _STARTS:
                given = message["headers"] = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                given += [each for each in added if each[0] not in names]
                given.append((b"x-request-id", request_id.encode()))
            await send(message)

        await self._app(scope, receive, send_safely)


def install(app: FastAPI, policy: HeaderPolicy) -> None:
    """Surround ``app``, errors included; to be called when everything else is in place."""
    if policy.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=policy.cors_origins,
            allow_methods=("GET", "POST", "PUT", "DELETE"),
            allow_headers=(*_SENT, policy.session_header),
            expose_headers=_EXPOSED,
        )
    app.add_middleware(Heads, tls_only=policy.tls_only)
    if policy.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(policy.trusted_proxies))
