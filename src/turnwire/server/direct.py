"""Routes that FastAPI describes and Starlette serves.

FastAPI's way to an endpoint (included routers, dependencies, exit stacks) takes a tenth of the time
to a turn's first token. A route that reads its own body has no use for it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import request_response

Endpoint = Callable[[Request], Awaitable[Response]]


class _Direct(APIRoute):
    def __init__(self, path: str, endpoint: Endpoint, **about: Any) -> None:  # noqa: ANN401 - FastAPI's signature
        super().__init__(path, endpoint, **about)
        self.app = request_response(endpoint)


def add_direct(app: FastAPI, path: str, endpoint: Endpoint, about: Mapping[str, Any]) -> None:
    """Serve ``endpoint``, which takes the request and reads it, at ``path``."""
    app.router.add_api_route(path, endpoint, route_class_override=_Direct, **about)
