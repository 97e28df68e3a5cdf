"""Let a node ask a person, and wait for the answer across deploys."""

from collections.abc import Mapping
from typing import Any, Final, cast

from langgraph.types import interrupt
from pydantic import JsonValue

from turnwire.events import PauseKind

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
    """
    question = {MARK: kind, "payload": dict(payload), "expires_in": expires_in}
    return cast("Any", interrupt(question, response_schema=response_schema))
