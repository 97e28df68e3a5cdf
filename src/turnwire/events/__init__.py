"""What a turn says: the only output of the engine and the only input of the wires.

One closed union of frozen facts. An envelope gives an event its place: which turn and run it
belongs to, its number in the turn (1, 2, 3 … without gaps, across its runs) and the time.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple, TypeAlias, get_args

from pydantic import Field, TypeAdapter

from turnwire.events.base import BaseEvent, Fact
from turnwire.events.evidence import (
    Citation,
    CitationAdded,
    Funnel,
    Passage,
    RetrievalCompleted,
    Search,
)
from turnwire.events.guardrail import GuardrailDecided, GuardrailDecision
from turnwire.events.node import (
    NodeCompleted,
    NodeStarted,
    Topology,
    TopologyEdge,
    TopologyFlags,
    TopologyNode,
)
from turnwire.events.text import ReasoningDelta, TextDelta, TextReplaced
from turnwire.events.tool import ActionCompleted, ToolCompleted, ToolStarted
from turnwire.events.turn import (
    Cost,
    Pause,
    PauseKind,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
    Usage,
)
from turnwire.ids import RunId, Seq, TurnId

Event: TypeAlias = (
    TurnStarted
    | NodeStarted
    | NodeCompleted
    | GuardrailDecided
    | ReasoningDelta
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
EVENT_TYPES: Final[tuple[type[BaseEvent], ...]] = get_args(Event)


class Envelope(NamedTuple):
    """An event with its place in the turn."""

    seq: Seq
    turn_id: TurnId
    run_id: RunId
    ts_ms: int
    """Milliseconds since 1970 in UTC."""
    event: Event


def pack(envelopes: Sequence[Envelope]) -> str:
    """Return JSON that :func:`unpack` reads back; all envelopes belong to one turn."""
    rows = [
        [each.seq, each.run_id, each.ts_ms, each.event.model_dump(mode="json")]
        for each in envelopes
    ]
    packed = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    try:
        packed.encode()
    except UnicodeEncodeError:  # half a character, which no database takes but as an escape
        return json.dumps(rows, separators=(",", ":"))
    return packed


def unpack(turn_id: TurnId, packed: str) -> Iterable[Envelope]:
    """Yield the envelopes of one turn that were packed together."""
    for seq, run_id, ts_ms, event in json.loads(packed):
        yield Envelope(Seq(seq), turn_id, RunId(run_id), ts_ms, EVENT.validate_python(event))


__all__ = [
    "EVENT",
    "EVENT_TYPES",
    "ActionCompleted",
    "BaseEvent",
    "Citation",
    "CitationAdded",
    "Cost",
    "Envelope",
    "Event",
    "Fact",
    "Funnel",
    "GuardrailDecided",
    "GuardrailDecision",
    "NodeCompleted",
    "NodeStarted",
    "Passage",
    "Pause",
    "PauseKind",
    "ReasoningDelta",
    "RetrievalCompleted",
    "Search",
    "TextDelta",
    "TextReplaced",
    "ToolCompleted",
    "ToolStarted",
    "Topology",
    "TopologyEdge",
    "TopologyFlags",
    "TopologyNode",
    "TurnCompleted",
    "TurnFailed",
    "TurnPaused",
    "TurnStarted",
    "Usage",
    "pack",
    "unpack",
]
