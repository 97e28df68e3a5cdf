"""Say in OpenAPI what routes take and give that read their requests themselves."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel
from starlette.responses import Response

from turnwire.errors import (
    TURN_FAILURES,
    AgentError,
    AlreadyDecided,
    ConfirmationUnavailable,
    Draining,
    Forbidden,
    InvalidApiKey,
    InvalidRequest,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    RequestInvalid,
    RequestTimeout,
    RequestTooLarge,
    ResumeUnavailable,
    SessionRequired,
    StorageUnavailable,
    TurnInProgress,
    TurnwireError,
)

Errors = Sequence[type[TurnwireError]]

KEY: Final[Errors] = (InvalidApiKey, Forbidden, RateLimited, StorageUnavailable)
"""What a route answers that needs an API key."""
CALLER: Final[Errors] = (*KEY, SessionRequired)
"""What a route answers that a member's session may be sent to."""
OWNED: Final[Errors] = (*CALLER, NotFound)
"""What a route answers that is about a conversation."""
BODY: Final[Errors] = (InvalidRequest, RequestTimeout, RequestTooLarge, RequestInvalid)
"""What a route answers that takes a body."""
TURN: Final[Errors] = (*OWNED, *BODY, TurnInProgress, QuotaExceeded, Overloaded, Draining)
"""What a route answers that begins a turn."""
GOES_ON: Final[Errors] = (
    *(*CALLER, *BODY, ConfirmationUnavailable, ResumeUnavailable, AlreadyDecided),
    *(TurnInProgress, QuotaExceeded, Overloaded, Draining),
)
"""What a route answers that goes on with a paused turn: what is not there is 403, never 404."""
FAILED: Final[Errors] = tuple(TURN_FAILURES.values())
"""What a route answers that waits for a turn's end."""


class Problem(BaseModel):
    """What went wrong."""

    code: str
    message: str
    retryable: bool
    request_id: str
    error_id: str | None = None
    """Under which operators find an error of ours in the log."""
    details: list[dict[str, str]] | None = None
    """Of `validation_error`: `path` and `reason` of each finding."""
    thread_id: str | None = None
    turn_id: str | None = None
    """Which turn failed, where it was waited for."""


class ErrorEnvelope(BaseModel):
    """The body of every refusal and failure."""

    error: Problem


def refuses(*errors: type[TurnwireError]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route that may refuse so, by status.

    A bug of ours is 500 on every route, whether it also waits for an agent or not.
    """
    codes: defaultdict[int, set[str]] = defaultdict(set, {AgentError.status: {"internal_error"}})
    for each in errors:
        codes[each.status].add(each.code)
    told: dict[int | str, dict[str, Any]] = {
        status: {
            "model": ErrorEnvelope,
            "description": ", ".join(f"`{each}`" for each in sorted(codes[status])),
        }
        for status in sorted(codes)
    }
    # Without it FastAPI adds its own form of 422, which no route of ours answers with.
    return {**told, "default": {"model": ErrorEnvelope, "description": "Any other error."}}


def parameter(
    name: str, where: Literal["header", "query"], about: str, *, is_a: str = "string"
) -> dict[str, Any]:
    """Return the description of a parameter that nobody has to send."""
    return {"name": name, "in": where, "description": about, "schema": {"type": is_a}}


TOKENS: Final = parameter("tokens", "query", "Stream token by token.", is_a="boolean")
REPEATABLE: Final = parameter(
    "Idempotency-Key", "header", "The same request sent again joins the turn that it began."
)


def takes(*models: type[BaseModel], parameters: Sequence[Any] = ()) -> dict[str, Any]:
    """Return the route options that describe a JSON body of one of ``models``."""
    schemas = [
        each.model_json_schema(ref_template="#/components/schemas/{model}") for each in models
    ]
    for each in schemas:
        _inline(each)
    schema = schemas[0] if len(schemas) == 1 else {"oneOf": schemas}
    return {
        "openapi_extra": {
            "parameters": list(parameters),
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        }
    }


def answers_with(model: type[BaseModel], errors: Errors) -> dict[str, Any]:
    """Return the route options that describe an answer as JSON or as a stream."""
    return {
        "response_model": None,
        "responses": {
            200: {
                "model": model,
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
                "description": "The turn.",
            },
            **refuses(*errors),
        },
    }


def streams_only(errors: Errors) -> dict[str, Any]:
    """Return the route options that describe an answer that is always a stream."""
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "response_model": None,
        "response_class": Response,  # nothing but a stream, so not JSON either
        "responses": {200: {"content": content, "description": "The turn."}, **refuses(*errors)},
    }


def _inline(schema: dict[str, Any]) -> None:
    """Put local definitions where they are used: a body's schema stands alone."""
    definitions: dict[str, Any] = schema.pop("$defs", {})

    def walk(node: Any) -> Any:  # noqa: ANN401 - a JSON Schema is any JSON
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).rpartition("/")[2]  # pyright: ignore[reportUnknownArgumentType]
            if name in definitions:
                return walk(definitions[name])
            return {key: walk(value) for key, value in node.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(node, list):
            return [walk(each) for each in node]  # pyright: ignore[reportUnknownVariableType]
        return node

    schema.update(walk(schema))
