"""For operators: is the process alive, and can it take a turn?"""

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import JSONResponse, Response

from turnwire.engine.supervisor import Supervisor
from turnwire.errors import StorageUnavailable
from turnwire.server.access import Access
from turnwire.server.openapi import refuses
from turnwire.storage.base import Store


def router(store: Store, supervisor: Supervisor) -> APIRouter:
    """Return the routes of health; they are open to everybody and tell nothing else."""
    routes = APIRouter(tags=["operations"])

    @routes.get("/healthz", responses=refuses())
    async def healthz() -> Response:
        """Alive."""
        return JSONResponse({"status": "ok"})

    @routes.get("/readyz", responses={**refuses(), 503: {"description": "Not ready."}})
    async def readyz() -> Response:
        """Ready for turns; 503 while draining or without a store."""
        if supervisor.draining.is_set():
            return JSONResponse({"status": "draining"}, status_code=503)
        try:
            await store.check()
        except StorageUnavailable:
            return JSONResponse({"status": "storage_unavailable"}, status_code=503)
        return JSONResponse({"status": "ready"})

    return routes


def described(app: FastAPI, *, access: Access | None) -> APIRouter:
    """Return the route of the OpenAPI document; with ``access``, it needs a key."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/openapi.json")
    async def openapi(request: Request) -> Response:
        if access is not None:
            await access.require(request, "chat")
        return JSONResponse(app.openapi())

    return routes
