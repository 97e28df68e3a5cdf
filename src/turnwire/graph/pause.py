"""Let a node ask a person, and wait for the answer across deploys."""

from collections.abc import Mapping
from typing import Any, Final, cast

from langgraph.types import interrupt
from pydantic import JsonValue, TypeAdapter

from turnwire.events import PauseKind
from turnwire.work import EXPIRED

MARK: Final = "turnwire_pause"


def ask(
    kind: PauseKind,
    payload: Mapping[str, JsonValue],
    *,
    response_schema: type | dict[str, Any] | None = None,
    expires_in: float | None = None,
) -> Any:  # noqa: ANN401 - a person's answer has the shape that the schema gives
    """Pause the turn and return the person's answer when a later run goes on.

    LangGraph runs the node again from its start after the answer, so whatever stands before
    this call happens twice: ask first, act afterwards. ``expires_in`` is in seconds.

    A question that has expired when another one of the turn is answered does not wait any more:
    what is returned then is ``{"decision": "expired"}``, which :func:`is_expired` tells, whatever
    the schema.
    """
    question = {MARK: kind, "payload": dict(payload), "expires_in": expires_in}
    if expires_in is None or response_schema is None or isinstance(response_schema, dict):
        return cast("Any", interrupt(question, response_schema=response_schema))
    # LangGraph itself would refuse what the server says of a question that has expired.
    adapter = TypeAdapter(cast("Any", response_schema))
    answer = interrupt(question, response_schema=adapter.json_schema())
    return answer if is_expired(answer) else adapter.validate_python(answer)


def is_expired(answer: object) -> bool:
    """Whether nobody answered in time, and this stands in place of an answer."""
    return isinstance(answer, Mapping) and (
        cast("Mapping[str, object]", answer).get("decision") == EXPIRED
    )
