"""The frames of each wire as JSON Schemas, for clients that check or generate."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.errors import NotFound
from turnwire.server.access import Access
from turnwire.server.openapi import KEY, refuses
from turnwire.wires import answer_frames, execution_frames, studio_frames
from turnwire.wires.schema import message_schema, schema


def router(*, access: Access | None) -> APIRouter:
    """Return the route of the schemas; with ``access``, it needs a key."""
    routes = APIRouter(tags=["operations"])
    known = {
        "answer": schema("answer", answer_frames.FRAMES),
        "execution": schema("execution", execution_frames.FRAMES),
        "studio": message_schema("studio", studio_frames.FRAMES),
    }

    @routes.get("/schemas/{wire}.json", responses=refuses(*KEY, NotFound))
    async def schemas(request: Request, wire: str) -> Response:
        """The JSON Schema of a wire's frames: `answer`, `execution` or `studio`."""
        if access is not None:
            await access.require(request, "chat")
        if wire not in known:
            raise NotFound(f"There is no such wire; there are: {', '.join(known)}.")
        return JSONResponse(known[wire], media_type="application/schema+json")

    return routes
