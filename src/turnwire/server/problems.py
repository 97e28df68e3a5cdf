"""The one place that speaks HTTP about errors."""

import logging
import math
import traceback
from collections.abc import Callable, Mapping
from typing import Final, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwire.errors import AdmissionRefused, RequestInvalid, TurnBroken, TurnwireError, where
from turnwire.events import TurnFailed
from turnwire.ids import new_id
from turnwire.probe import CALLER, read_traceparent
from turnwire.telemetry.logs import about

_LOG = logging.getLogger("turnwire.server")

CLIENT_HAS_LEFT: Final = 499
"""The status of an answer that nobody reads (nginx's number, in no standard)."""

_WORTH_A_LINE: Final = (401, 403, 404, 429)
"""Refusals that may be somebody trying doors; the line says where they came from."""

_CODES: Final[Mapping[int, str]] = {404: "not_found", 405: "method_not_allowed"}


class LastResort:
    """Is the last to hear of an error, and tells its id, which the answer carries.

    Whatever was not meant to be raised ends here, for the server would write it to its own log
    with every word of it; ``messages`` says whether ours may have them.
    """

    def __init__(self, app: ASGIApp, *, messages: bool, erred: Callable[[str], None]) -> None:
        self._app = app
        self._messages = messages
        self._erred = erred

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id: str = scope["state"]["request_id"]
        CALLER.set(read_traceparent(_header(scope, b"traceparent")))
        begun = False

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        with about(request_id=request_id):
            try:
                await self._app(scope, receive, send_noting)
            except Exception as error:  # a bug of ours, whatever it is
                answer = self._unexpected(error, request_id)
                if not begun:
                    await answer(scope, receive, send)

    def _unexpected(self, error: Exception, request_id: str) -> Response:
        self._erred("internal_error")
        error_id = new_id("err")
        ids = {"request_id": request_id, "error_id": error_id}
        told = "".join(traceback.format_exception(error)) if self._messages else ""
        extra = {**ids, "where": where(error)}
        _LOG.error("unexpected error: %s %s", type(error).__name__, told, extra=extra)
        body = {
            "code": "internal_error",
            "message": "Something went wrong here; the operators find it under the error id.",
            "retryable": False,
            **ids,
        }
        return JSONResponse({"error": body}, status_code=500)


def _header(scope: Scope, name: bytes) -> str | None:
    """Return the header, or none where it is missing or there are several."""
    found = [value for each, value in scope["headers"] if each == name]
    return found[0].decode("latin-1") if len(found) == 1 else None


def install(app: FastAPI, *, messages: bool, erred: Callable[[str], None]) -> None:
    """Make every error of ``app`` leave in the envelope of the contract.

    With ``messages`` the log has what an unexpected error says, which may be anybody's words.
    ``erred`` is told the code of each error that is answered with.
    """

    async def refused(request: Request, error: Exception) -> Response:
        erred(cast("TurnwireError", error).code)
        return refusal(request, cast("TurnwireError", error))

    async def http(request: Request, error: Exception) -> Response:
        erred(_code(error))
        return await _http(request, error)

    async def invalid(request: Request, error: Exception) -> Response:
        erred(RequestInvalid.code)
        return await _invalid(request, error)

    app.add_exception_handler(TurnwireError, refused)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_middleware(LastResort, messages=messages, erred=erred)


def failure(
    event: TurnFailed, status: int, *, request_id: str, thread_id: str, turn_id: str
) -> Response:
    """Return a failed turn as the answer to a JSON request; it says where the turn is found."""
    error = {"code": event.code, "message": event.message, "retryable": event.retryable}
    ids = {
        "request_id": request_id,
        "error_id": event.error_id,
        "thread_id": thread_id,
        "turn_id": turn_id,
    }
    return JSONResponse({"error": {**error, **ids}}, status_code=status)


def invalid(error: ValidationError) -> RequestInvalid:
    """Return pydantic's findings as a refusal that lists path and reason, never the value."""
    return RequestInvalid(
        *((".".join(map(str, each["loc"])) or "body", _said(each)) for each in error.errors())
    )


def _said(finding: ErrorDetails) -> str:
    """Return a finding of pydantic's without pydantic's own vocabulary."""
    if finding["type"] == "model_type":
        return "has to be an object"
    return finding["msg"].removeprefix("Value error, ")


def request_id(request: HTTPConnection) -> str:
    """Return the id that the request was given by :class:`turnwire.server.headers.Heads`."""
    return getattr(request.state, "request_id", "")


def refusal(request: HTTPConnection, error: TurnwireError) -> Response:
    """Return an error in the envelope of the contract."""
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
    if error.status == 408:  # the rest of the body is not waited for
        headers["Connection"] = "close"
    _note(request, error)
    return JSONResponse({"error": body}, status_code=error.status, headers=headers)


def _note(request: HTTPConnection, error: TurnwireError) -> None:
    client = request.client.host if request.client else ""
    extra = {"code": error.code, "client": client}
    if error.status >= 500:
        _LOG.warning("refused: %s", error.code, extra=extra)
    elif error.status in _WORTH_A_LINE:
        _LOG.info("refused: %s", error.code, extra=extra)


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    body = {
        "code": _code(error),
        "message": "There is nothing here by that method and path.",
        "retryable": False,
        "request_id": request_id(request),
    }
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return JSONResponse({"error": body}, status_code=status, headers=headers)


def _code(error: Exception) -> str:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _CODES.get(status, "invalid_request")


async def _invalid(request: Request, error: Exception) -> Response:
    found = cast("RequestValidationError", error).errors()
    pairs = [(".".join(map(str, each["loc"])), str(each["msg"])) for each in found]
    return refusal(request, RequestInvalid(*pairs))


async def _left(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_HAS_LEFT)
