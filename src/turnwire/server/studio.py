"""``GET /studio/ws-token``: what opens a socket once."""

from collections.abc import Callable

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from turnwire.admission.ws_tokens import SECONDS, Issuer, Uses, sign, username_of
from turnwire.clock import Now
from turnwire.server.access import Access
from turnwire.server.openapi import KEY, refuses


class SocketToken(BaseModel):
    """A token for ``WS /ws/{session_id}?token=…``."""

    token: str
    expires_in: int
    """In seconds."""


def router(access: Access, secret: Callable[[], bytes], *, uses: Uses, now: Now) -> APIRouter:
    """Return the route of socket tokens, which are signed with ``secret``."""
    routes = APIRouter(prefix="/studio", tags=["studio"])
    issuer = Issuer()

    @routes.get("/ws-token", response_model=SocketToken, responses=refuses(*KEY))
    async def ws_token(request: Request) -> Response:
        """A token that opens one socket, for the caller or for the staff user they speak for."""
        principal = await access.require(request, "studio")
        username = username_of(principal)
        token = await _unlike(issuer, uses, username, secret(), now=now())
        told = SocketToken(token=token, expires_in=SECONDS)
        return JSONResponse(told.model_dump(), headers={"Cache-Control": "no-store"})

    return routes


async def _unlike(issuer: Issuer, uses: Uses, username: str, secret: bytes, *, now: int) -> str:
    """Return a token that no other worker has given out either."""
    while True:
        expires = issuer.expiry(username, now=now)
        token = sign(username, secret, expires=expires)
        if await uses.take(f"issued:{token.rpartition(':')[2]}", expires=expires, now=now):
            return token
