"""``GET /conversations/{id}/pauses``: what a conversation waits for."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.ids import ConversationId, is_identifier
from turnwire.server.callers import Callers
from turnwire.server.openapi import OWNED, refuses
from turnwire.server.ownership import owned
from turnwire.server.turns import Turns
from turnwire.wires.answer_pauses import OpenPauses, waiting


def router(callers: Callers, turns: Turns) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["conversations"])

    @routes.get(
        "/conversations/{conversation_id}/pauses",
        response_model=OpenPauses,
        responses=refuses(*OWNED),
    )
    async def pauses(request: Request, conversation_id: str) -> Response:
        """What the conversation waits for now: confirmations, a sign-in, questions, a review."""
        principal = await callers.require(request, "chat")
        named = ConversationId(conversation_id if is_identifier(conversation_id) else "")
        record = await owned(turns.store, principal, named)
        found = reversed(await turns.waiting(record.conversation_id))
        told = OpenPauses(pauses=tuple(waiting(each.pause, turn_id=each.turn_id) for each in found))
        return JSONResponse(told.model_dump(mode="json", exclude_none=True))

    return routes
