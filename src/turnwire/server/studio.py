"""``GET /studio/ws-token``: what opens a socket once."""

from collections.abc import Callable

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from turnwire.admission.ws_tokens import SECONDS, Uses, issue, username_of
from turnwire.clock import Now
from turnwire.server.access import Access
from turnwire.server.openapi import KEY, refuses


class SocketToken(BaseModel):
    """A token for ``WS /ws/{session_id}?token=…``."""

    token: str
    expires_in: int
    """In seconds."""


def router(access: Access, secret: Callable[[], bytes], uses: Uses, *, now: Now) -> APIRouter:
    """Return the route of socket tokens, signed with ``secret``; ``uses`` tells them apart."""
    routes = APIRouter(prefix="/studio", tags=["studio"])

    @routes.get("/ws-token", response_model=SocketToken, responses=refuses(*KEY))
    async def ws_token(request: Request) -> Response:
        """A token that opens one socket, for the caller or for the staff user they speak for."""
        principal = await access.require(request, "studio")
        token = await issue(username_of(principal), secret(), uses, now=now())
        told = SocketToken(token=token, expires_in=SECONDS)
        return JSONResponse(told.model_dump(), headers={"Cache-Control": "no-store"})

    return routes
