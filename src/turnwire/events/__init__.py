"""What a turn says: the only output of the engine and the only input of the wires.

One closed union of frozen facts. An envelope gives an event its place: which turn and run it
belongs to, its number in the turn (1, 2, 3 … without gaps, across its runs) and the time.
"""

from turnwire.events.base import BaseEvent, Fact
from turnwire.events.evidence import (
    AnswerSpan,
    Citation,
    CitationAdded,
    Funnel,
    Passage,
    RetrievalCompleted,
    Search,
)
from turnwire.events.guardrail import GuardrailDecided, GuardrailDecision
from turnwire.events.model import CallOutcome, ModelCalled, usage_of
from turnwire.events.node import (
    Failover,
    NodeCompleted,
    NodeStarted,
    Topology,
    TopologyEdge,
    TopologyFlags,
    TopologyNode,
)
from turnwire.events.packing import pack, unpack
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
from turnwire.events.union import EVENT, EVENT_TYPES, RUN_ENDINGS, Envelope, Event

__all__ = [
    "EVENT",
    "EVENT_TYPES",
    "RUN_ENDINGS",
    "ActionCompleted",
    "AnswerSpan",
    "BaseEvent",
    "CallOutcome",
    "Citation",
    "CitationAdded",
    "Cost",
    "Envelope",
    "Event",
    "Fact",
    "Failover",
    "Funnel",
    "GuardrailDecided",
    "GuardrailDecision",
    "ModelCalled",
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
    "usage_of",
]
