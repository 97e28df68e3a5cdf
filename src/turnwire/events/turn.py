"""A run starts, and ends in exactly one of three ways; a turn is one run or several."""

from typing import Literal

from pydantic import Field, JsonValue

from turnwire.events.base import BaseEvent, Fact, is_none
from turnwire.events.evidence import Citation
from turnwire.events.guardrail import GuardrailDecision
from turnwire.events.node import Topology
from turnwire.ids import ConversationId, PauseId

PauseKind = Literal["review", "confirmation", "sign_in", "approval", "input"]


class Usage(Fact):
    """Tokens of all the turn's model calls, as the providers reported them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class Cost(Fact):
    """What the answer cost."""

    model: str
    """The model whose tokens the member read, or ``none`` where no model was called."""
    tokens_in: int = 0
    tokens_out: int = 0
    llm_latency_ms: int = 0
    usd: float = 0.0


class Pause(Fact):
    """One open question to a person; an answer names its id."""

    pause_id: PauseId
    kind: PauseKind
    payload: JsonValue
    """What the person is asked, and what they need to answer."""
    response_schema: dict[str, JsonValue] | None = None
    """The JSON Schema that an answer has to pass, or none where anything will do."""
    requested_ms: int
    """Milliseconds since 1970 in UTC."""
    expires_ms: int | None = None


class TurnStarted(BaseEvent):
    """A run of the turn began: its first, or one that goes on after a pause."""

    type: Literal["turn.started"] = "turn.started"
    conversation_id: ConversationId
    agent: str
    model: str
    """The answer model: the one whose tokens the member reads."""
    locale: str
    trace_id: str
    resumed: bool = False
    topology: Topology
    agent_version: str | None = Field(default=None, exclude_if=is_none)
    """Which version of an agent that is made from a spec; a paused turn goes on with its own."""


class TurnPaused(BaseEvent):
    """The run stopped to ask people; a later run of the same turn goes on."""

    type: Literal["turn.paused"] = "turn.paused"
    pauses: tuple[Pause, ...]
    draft: str = ""
    """The answer as it stands, where a person is asked about it."""


class TurnCompleted(BaseEvent):
    """The turn reached its end."""

    type: Literal["turn.completed"] = "turn.completed"
    finish_reason: str
    """One of the reasons of the contract; an open set."""
    content: str
    citations: tuple[Citation, ...] = ()
    guardrail_decisions: tuple[GuardrailDecision, ...] = ()
    usage: Usage = Usage()
    cost: Cost = Cost(model="none")
    human_wait_ms: int | None = None
    """How long people were waited for, in all; none where nobody was asked."""


class TurnFailed(BaseEvent):
    """The turn ended in an error that a client may show."""

    type: Literal["turn.failed"] = "turn.failed"
    code: str
    message: str
    retryable: bool
    error_id: str
