"""The closed union of events, and the envelope that gives one its place."""

from typing import Annotated, Final, NamedTuple, TypeAlias, get_args

from pydantic import Field, TypeAdapter

from turnwire.events.base import BaseEvent
from turnwire.events.evidence import CitationAdded, RetrievalCompleted
from turnwire.events.guardrail import GuardrailDecided
from turnwire.events.model import ModelCalled
from turnwire.events.node import NodeCompleted, NodeStarted
from turnwire.events.text import ReasoningDelta, TextDelta, TextReplaced
from turnwire.events.tool import ActionCompleted, ToolCompleted, ToolStarted
from turnwire.events.turn import TurnCompleted, TurnFailed, TurnPaused, TurnStarted
from turnwire.ids import RunId, Seq, TurnId

Event: TypeAlias = (
    TurnStarted
    | NodeStarted
    | NodeCompleted
    | GuardrailDecided
    | ReasoningDelta
    | ModelCalled
    | RetrievalCompleted
    | ToolStarted
    | ToolCompleted
    | TextDelta
    | TextReplaced
    | CitationAdded
    | ActionCompleted
    | TurnPaused
    | TurnCompleted
    | TurnFailed
)

EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Annotated[Event, Field(discriminator="type")])
RUN_ENDINGS: Final = (TurnPaused, TurnCompleted, TurnFailed)
"""What ends a run: exactly one of these, and nothing of the run follows it."""
EVENT_TYPES: Final[tuple[type[BaseEvent], ...]] = get_args(Event)


class Envelope(NamedTuple):
    """An event with its place in the turn."""

    seq: Seq
    turn_id: TurnId
    run_id: RunId
    ts_ms: int
    """Milliseconds since 1970 in UTC."""
    event: Event
