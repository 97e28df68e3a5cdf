"""Members: their sessions, and what a caller has used."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.admission.quota import QuotaPolicy
from turnwire.clock import Now
from turnwire.server.callers import Callers
from turnwire.server.openapi import CALLER, KEY, refuses
from turnwire.storage.members import Charge, MemberStore, Used
from turnwire.wires.base import iso


def router(callers: Callers, store: MemberStore, quotas: QuotaPolicy, *, now: Now) -> APIRouter:
    """Return the routes of sessions and of usage."""
    routes = APIRouter(tags=["members"])

    @routes.post("/auth/session", responses=refuses(*KEY))
    async def session(request: Request) -> Response:
        """A new session for a member of the caller's; its id is told once."""
        session_id, record = await callers.mint(request)
        body = {
            "session_id": session_id,
            "expires_at": iso(record.expires_ms),
            "signed_in": False,
        }
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    @routes.get("/usage", responses=refuses(*CALLER))
    async def usage(request: Request) -> Response:
        """What the caller, member or key, has used of each of its allowances that has a limit."""
        caller = await callers.require(request)
        mine = [each for each in quotas.charges(caller, now=now()) if each.subject == caller.id]
        used = await store.used(mine)
        windows = [_window(each, so_far) for each, so_far in zip(mine, used, strict=True)]
        return JSONResponse({"windows": windows})

    return routes


def _window(charge: Charge, used: Used) -> Mapping[str, Any]:
    return {
        "of": charge.subject.partition(":")[0],
        "seconds": charge.window_ms / 1000,
        "resets_at": iso(charge.ends_ms),
        "messages": {"used": used.messages, "limit": charge.messages},
        "tokens": {"used": used.tokens, "limit": charge.tokens},
    }
