"""What agents remember of a user, for the user: to read and to erase."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.errors import NotFound, RequestInvalid
from turnwire.server.callers import Callers
from turnwire.server.openapi import CALLER, OWNED, refuses
from turnwire.server.paging import PAGED, asked_limit
from turnwire.server.turns import Turns
from turnwire.storage.memories import Remembered
from turnwire.wires.base import iso


def router(callers: Callers, turns: Turns) -> APIRouter:
    """Return the routes of a user's own memory."""
    routes = APIRouter(prefix="/memory", tags=["memory"])

    @routes.get("", openapi_extra={"parameters": PAGED}, responses=refuses(*CALLER, RequestInvalid))
    async def memories(request: Request) -> Response:
        """What agents remember of the caller, newest first; `next` is there if there is more."""
        principal = await callers.require(request, "chat")
        limit, before = asked_limit(request), request.query_params.get("before")
        found = list(await turns.memories.of(principal.id))
        if before is not None:
            ids = [each.memory_id for each in found]
            if before not in ids:
                raise RequestInvalid(("before", "has to be the `next` of the page before"))
            found = found[ids.index(before) + 1 :]
        following = {"next": found[limit - 1].memory_id} if len(found) > limit else {}
        return JSONResponse({"memories": list(map(_shown, found[:limit])), **following})

    @routes.delete("", responses=refuses(*CALLER))
    async def erase_all(request: Request) -> Response:
        """Erase all that agents remember of the caller; conversations stay."""
        principal = await callers.require(request, "chat")
        return JSONResponse({"erased": await turns.memories.forget(principal.id)})

    @routes.delete("/{memory_id}", status_code=204, responses=refuses(*OWNED))
    async def erase(request: Request, memory_id: str) -> Response:
        """Erase one thing that an agent remembers of the caller."""
        principal = await callers.require(request, "chat")
        if not await turns.memories.forget(principal.id, memory_id):
            raise NotFound("There is no such memory.")
        return Response(status_code=204)

    return routes


def _shown(memory: Remembered) -> dict[str, Any]:
    return {
        "memory_id": memory.memory_id,
        "kind": memory.kind,
        "agent": memory.agent,
        "conversation_id": memory.conversation_id,
        "content": dict(memory.content),
        "created_at": iso(memory.at_ms),
    }
