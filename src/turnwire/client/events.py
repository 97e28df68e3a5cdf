"""What a turn says to a client: the answer wire's frames, and two events of the client's own.

``docs/reference/wires.md`` describes the frames. The set is open: clients pass over what they do
not know.
"""

from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from turnwire.wires.answer_frames import (
    FRAMES,
    ActionCompletedFrame,
    AuthRequired,
    CitationFrame,
    ConfirmationRequired,
    ErrorFrame,
    MessageCompleted,
    MessageStarted,
    RetrievalCompletedFrame,
    TokenDelta,
    ToolCompletedFrame,
    ToolStartedFrame,
)


class Unknown(BaseModel):
    """A frame of a newer server: a name that this client does not know, or another shape."""

    model_config = ConfigDict(frozen=True)

    name: str
    data: JsonValue = None
    """What it carries; nothing where that is not JSON."""


class AnswerReplaced(BaseModel):
    """What was told so far does not stand: forget it, words and all; the turn is told anew."""

    model_config = ConfigDict(frozen=True)


Event: TypeAlias = (
    MessageStarted
    | RetrievalCompletedFrame
    | ToolStartedFrame
    | ToolCompletedFrame
    | ConfirmationRequired
    | ActionCompletedFrame
    | AuthRequired
    | TokenDelta
    | CitationFrame
    | MessageCompleted
    | ErrorFrame
    | AnswerReplaced
    | Unknown
)

_JSON: Final[TypeAdapter[JsonValue]] = TypeAdapter(JsonValue)


def parse(name: str, data: str) -> Event:
    """Return a frame as an event, whatever it is; fields that are not known are left out."""
    kind: Any = FRAMES.get(name)
    try:
        if kind is not None:
            return cast("Event", kind.model_validate_json(data, extra="ignore"))
    except ValidationError:
        pass
    try:
        return Unknown(name=name, data=_JSON.validate_json(data))
    except ValidationError:
        return Unknown(name=name)
