"""The review queue."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.server.access import Access
from turnwire.server.openapi import KEY, refuses
from turnwire.server.turns import Turns
from turnwire.wires.execution_frames import pause_body, review


def router(access: Access, turns: Turns) -> APIRouter:
    """Return the routes of the review queue."""
    routes = APIRouter(prefix="/reviews", tags=["reviews"])

    @routes.get("", responses=refuses(*KEY))
    async def reviews(request: Request) -> Response:
        """Drafts and approvals that wait, newest first; decide with `POST /chat/resume`."""
        await access.require(request, "review")
        waiting = await turns.waiting(kind="review")
        shown = [
            review(
                each.pause,
                thread_id=each.conversation_id,
                turn_id=each.turn_id,
                draft=each.draft,
            )
            for each in waiting
        ]
        approvals = [
            {
                **pause_body(each.pause).model_dump(mode="json"),
                "thread_id": each.conversation_id,
                "turn_id": each.turn_id,
                "agent": each.agent,
            }
            for each in await turns.waiting(kind="approval")
        ]
        reviews = [each.model_dump(mode="json") for each in shown]
        return JSONResponse({"reviews": reviews, "approvals": approvals})

    return routes
