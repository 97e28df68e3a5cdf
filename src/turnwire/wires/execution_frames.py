"""What the execution wire says: one type a frame, and what they are made of.

``docs/reference/wires.md`` is generated from these types.
"""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from turnwire.events import (
    Citation,
    Cost,
    Failover,
    GuardrailDecision,
    Pause,
    TopologyEdge,
    TopologyFlags,
    TopologyNode,
)
from turnwire.wires.base import iso, shown_payload

Status = Literal[
    "complete",
    "paused_for_review",
    "paused_for_confirmation",
    "paused_for_sign_in",
    "paused_for_approval",
    "paused_for_input",
]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GraphTopology(_Body):
    """``graph_topology``: first frame of each run, so that the graph can be drawn at once."""

    thread_id: str
    turn_id: str
    run_id: str
    agent: str
    model: str
    locale: str
    resumed: bool
    nodes: tuple[TopologyNode, ...]
    edges: tuple[TopologyEdge, ...]
    flags: TopologyFlags


class NodeStartedBody(_Body):
    """``node_started``: a node began to work."""

    node: str
    run_id: str
    ts_ms: int


class NodeCompletedBody(_Body):
    """``node_completed``: a node ended, failed, or was really bypassed."""

    node: str
    status: Literal["executed", "skipped", "failed"]
    duration_ms: int
    route: str | None = None
    failover: Failover | None = None
    """Set where one of the node's models failed: who did, and who answered instead."""


class Token(_Body):
    """``token`` (with ``?tokens=true``): the next words of the answer."""

    text: str


class TextReplacedBody(_Body):
    """``text_replaced`` (with ``?tokens=true``): forget the words so far, show these.

    A long text goes on in ``token`` frames.
    """

    text: str
    reason: str


class ReviewInterruptPayload(_Body):
    """What a reviewer needs in order to decide."""

    review_id: str
    thread_id: str
    turn_id: str
    reasons: tuple[str, ...]
    question: str
    draft: str
    citations: tuple[Citation, ...]
    requested_at: str
    expires_at: str | None = None


class PauseBody(_Body):
    """One open question; an answer names its ``pause_id``."""

    pause_id: str
    kind: str
    payload: JsonValue
    response_schema: dict[str, JsonValue] | None = None
    requested_at: str
    expires_at: str | None = None


class ChatResponse(_Body):
    """The whole answer: the body of a JSON request and of ``turn_completed``."""

    thread_id: str
    turn_id: str
    trace_id: str
    agent: str
    status: Status
    content: str
    citations: tuple[Citation, ...] = ()
    guardrail_decisions: tuple[GuardrailDecision, ...] = ()
    cost: Cost
    finish_reason: str
    locale: str
    review: ReviewInterruptPayload | None = None
    pauses: tuple[PauseBody, ...] = ()
    human_wait_ms: int | None = None
    content_url: str | None = None
    """Set where ``content`` was too long for a frame and was cut: the whole is there."""


class PausedBody(_Body):
    """``paused``: the turn waits for people; it ends the stream, not the turn."""

    thread_id: str
    turn_id: str
    status: Status
    review: ReviewInterruptPayload | None = None
    pauses: tuple[PauseBody, ...]
    draft: str
    content_url: str | None = None
    """Set where the pause was too long for a frame and was cut: the whole draft is there."""


class ErrorBody(_Body):
    """``error``: the turn failed after its first byte."""

    code: str
    message: str
    retryable: bool
    error_id: str


FRAMES: Final[Mapping[str, type[BaseModel]]] = {
    "graph_topology": GraphTopology,
    "node_started": NodeStartedBody,
    "node_completed": NodeCompletedBody,
    "token": Token,
    "text_replaced": TextReplacedBody,
    "turn_completed": ChatResponse,
    "paused": PausedBody,
    "error": ErrorBody,
}


def review(pause: Pause, *, thread_id: str, turn_id: str, draft: str) -> ReviewInterruptPayload:
    """Return what a reviewer is shown of a pause of kind ``review``."""
    asked = pause.payload if isinstance(pause.payload, dict) else {}
    return ReviewInterruptPayload.model_validate(
        {
            "review_id": pause.pause_id,
            "thread_id": thread_id,
            "turn_id": turn_id,
            "reasons": asked.get("reasons") or (),
            "question": asked.get("question") or "",
            "draft": asked.get("draft") or draft,
            "citations": asked.get("citations") or (),
            "requested_at": iso(pause.requested_ms),
            "expires_at": None if pause.expires_ms is None else iso(pause.expires_ms),
        }
    )


def pause_body(pause: Pause) -> PauseBody:
    """Return a pause as clients see it."""
    return PauseBody(
        pause_id=pause.pause_id,
        kind=pause.kind,
        payload=shown_payload(pause),
        response_schema=pause.response_schema,
        requested_at=iso(pause.requested_ms),
        expires_at=None if pause.expires_ms is None else iso(pause.expires_ms),
    )
