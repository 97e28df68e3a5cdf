"""For Prometheus: what the server counts."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from turnwire.clock import Now
from turnwire.errors import StorageUnavailable
from turnwire.server.access import Access
from turnwire.server.openapi import KEY, refuses
from turnwire.storage.base import TurnStore


class Counted(Protocol):
    """What the server counts."""

    def pauses_open(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Set how many questions wait, by agent and kind."""
        ...

    def unstored(self) -> None:
        """Note that the store failed."""
        ...

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return everything, and its content type."""
        ...


def router(counted: Counted, store: TurnStore, *, access: Access | None, now: Now) -> APIRouter:
    """Return the route of the metrics; with ``access``, it needs a key of the scope ``admin``."""
    routes = APIRouter(tags=["operations"])

    @routes.get("/metrics", response_class=PlainTextResponse, responses=refuses(*KEY))
    async def metrics(request: Request) -> Response:
        """Metrics for Prometheus; needs the scope `admin` where others can reach the server."""
        if access is not None:
            await access.require(request, "admin")
        try:
            counted.pauses_open(await _waiting(store, now()))
        except StorageUnavailable:  # the rest is worth knowing all the more
            counted.unstored()
            counted.pauses_open({})
        body, content_type = counted.text(request.headers.get("accept", ""))
        return Response(body, media_type=content_type)

    return routes


async def _waiting(store: TurnStore, now: int) -> Mapping[tuple[str, str], int]:
    """Count the open questions by agent and kind; an expired one waits for nobody."""
    return Counter(
        (each.agent, each.pause.kind)
        for each in await store.pauses()
        if each.pause.expires_ms is None or each.pause.expires_ms > now
    )
