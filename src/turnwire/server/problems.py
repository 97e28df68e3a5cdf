"""The one place that speaks HTTP about errors."""

import logging
import math
from collections.abc import Mapping
from typing import Final, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwire.errors import AdmissionRefused, RequestInvalid, TurnBroken, TurnwireError
from turnwire.events import TurnFailed
from turnwire.ids import new_id

_LOG = logging.getLogger("turnwire.server")

CLIENT_HAS_LEFT: Final = 499
"""The status of an answer that nobody reads (nginx's number, in no standard)."""

_CODES: Final[Mapping[int, str]] = {404: "not_found", 405: "method_not_allowed"}


class RequestIds:
    """Gives each request an id, which its answer and its log lines carry."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_id("req")
        scope.setdefault("state", {})["request_id"] = request_id
        header = (b"x-request-id", request_id.encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], header]
            await send(message)

        await self._app(scope, receive, send_with_id)


def install(app: FastAPI) -> None:
    """Make every error of ``app`` leave in the envelope of the contract."""
    app.add_exception_handler(TurnwireError, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(RequestIds)


def failure(event: TurnFailed, status: int, request_id: str) -> Response:
    """Return a failed turn as the answer to a JSON request."""
    error = {"code": event.code, "message": event.message, "retryable": event.retryable}
    about = {"request_id": request_id, "error_id": event.error_id}
    return JSONResponse({"error": {**error, **about}}, status_code=status)


def invalid(error: ValidationError) -> RequestInvalid:
    """Return pydantic's findings as a refusal that lists path and reason, never the value."""
    return RequestInvalid(
        *((".".join(map(str, each["loc"])) or "body", each["msg"]) for each in error.errors())
    )


def request_id(request: Request) -> str:
    """Return the id that :class:`RequestIds` gave the request."""
    return getattr(request.state, "request_id", "")


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, TurnwireError):
        return await _unexpected(request, error)
    body: dict[str, object] = {
        "code": error.code,
        "message": error.public if isinstance(error, TurnBroken) else str(error),
        "retryable": error.retryable,
        "request_id": request_id(request),
    }
    headers: dict[str, str] = {}
    if isinstance(error, AdmissionRefused):
        if error.details:
            body["details"] = error.details
        if error.retry_after is not None:
            headers["Retry-After"] = str(math.ceil(error.retry_after))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.status >= 500:
        _LOG.warning("refused: %s", error.code, extra={"request_id": body["request_id"]})
    return JSONResponse({"error": body}, status_code=error.status, headers=headers)


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    body = {
        "code": _CODES.get(status, "invalid_request"),
        "message": "There is nothing here by that method and path.",
        "retryable": False,
        "request_id": request_id(request),
    }
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return JSONResponse({"error": body}, status_code=status, headers=headers)


async def _invalid(request: Request, error: Exception) -> Response:
    found = cast("RequestValidationError", error).errors()
    pairs = [(".".join(map(str, each["loc"])), str(each["msg"])) for each in found]
    return await _refused(request, RequestInvalid(*pairs))


async def _left(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_HAS_LEFT)


async def _unexpected(request: Request, error: Exception) -> Response:
    error_id = new_id("err")
    _LOG.error("unexpected error %s", error_id, exc_info=error)
    body = {
        "code": "internal_error",
        "message": "Something went wrong here; the operators find it under the error id.",
        "retryable": False,
        "request_id": request_id(request),
        "error_id": error_id,
    }
    return JSONResponse({"error": body}, status_code=500)
