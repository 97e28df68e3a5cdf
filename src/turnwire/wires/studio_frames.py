"""What the studio wire says: one type a frame, and what they are made of.

``docs/reference/wires.md`` and ``/schemas/studio.json`` are generated from these types.
"""

from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from turnwire.events import (
    Citation,
    Cost,
    Passage,
    Pause,
    PauseKind,
    Search,
    TopologyEdge,
    TopologyNode,
    Usage,
)
from turnwire.wires.base import iso, shown_payload

_CUT: Final[dict[str, JsonValue]] = {"truncated": True}
_FEW: Final = 40
_SHORT: Final = 120


class StudioFrame(BaseModel):
    """The base of what a frame carries beside its ``type``, ``turn_id`` and ``seq``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def shorter(self) -> Self:
        """Return the same with less in it, for a frame that outgrows a client's buffer."""
        return self


class Connected(StudioFrame):
    """``connected``: first of all; the socket is open."""

    session_id: str
    """As the client named it."""
    conversation_id: str
    """The conversation that the session's messages belong to."""
    user: str


class Pong(StudioFrame):
    """``pong``: the answer to ``ping``."""


class TurnStartedFrame(StudioFrame):
    """``turn_started``: first of each run of a turn, with the graph as it may be drawn."""

    conversation_id: str
    agent: str
    model: str
    locale: str
    resumed: bool
    """Whether this run goes on after people were asked."""
    nodes: tuple[TopologyNode, ...]
    edges: tuple[TopologyEdge, ...]
    client_message_id: str | None = None
    """Of the message that this socket sent and that began the turn."""

    def shorter(self) -> Self:
        """See :meth:`StudioFrame.shorter`."""
        return self.model_copy(update={"nodes": (), "edges": ()})


class NodeStart(StudioFrame):
    """``node_start``: a node began to work."""

    node_id: str
    kind: str
    """What the node is for, as the topology says."""
    ts_ms: int


class FailedCall(StudioFrame):
    """A call of a model that failed, so that another one was asked."""

    model: str
    outcome: str


class NodeComplete(StudioFrame):
    """``node_complete``: a node ended, failed, or was really bypassed."""

    node_id: str
    status: Literal["executed", "skipped", "failed"]
    duration_ms: int
    route: str | None = None
    model: str | None = None
    """The model that answered it last, where it asked one."""
    failed: tuple[FailedCall, ...] | None = None
    """The calls that failed meanwhile."""


class TokenFrame(StudioFrame):
    """``token``: the next words of the answer."""

    content: str
    node_id: str


class TextReplacedFrame(StudioFrame):
    """``text_replaced``: forget the words so far, show these.

    A long text goes on in ``token`` frames.
    """

    content: str
    reason: str


class Reasoning(StudioFrame):
    """``reasoning``: what a node thinks."""

    node_id: str
    text: str


class ToolStart(StudioFrame):
    """``tool_start``: a tool was called; the arguments are a redacted preview."""

    tool_call_id: str
    name: str
    arguments: dict[str, JsonValue]

    def shorter(self) -> Self:
        """See :meth:`StudioFrame.shorter`."""
        return self.model_copy(update={"arguments": _CUT})


class ToolResult(StudioFrame):
    """``tool_result``: the call ended; a failure has an ``error``."""

    tool_call_id: str
    name: str
    status: Literal["ok", "error"]
    duration_ms: int
    result: JsonValue = None
    error: str | None = None
    code: str | None = None

    def shorter(self) -> Self:
        """See :meth:`StudioFrame.shorter`."""
        error = self.error and self.error[: _FEW * _SHORT]
        return self.model_copy(update={"result": self.result and _CUT, "error": error})


class Retrieval(StudioFrame):
    """``retrieval``: the evidence of this answer."""

    query: str
    duration_ms: int
    documents: tuple[Passage, ...]
    searches: tuple[Search, ...]

    def shorter(self) -> Self:
        """See :meth:`StudioFrame.shorter`."""
        brief = tuple(
            each.model_copy(update={"snippet": each.snippet[:_SHORT], "title": each.title[:_SHORT]})
            for each in self.documents[:_FEW]
        )
        update = {
            "query": self.query[: _FEW * _SHORT],
            "documents": brief,
            "searches": self.searches[:_FEW],
        }
        return self.model_copy(update=update)


class CitationFrame(StudioFrame, Citation):
    """``citation``: a passage that the answer rests on."""

    def shorter(self) -> Self:
        """See :meth:`StudioFrame.shorter`."""
        return self.model_copy(update={"snippet": self.snippet[:_SHORT], "spans": ()})


class ActionCompletedFrame(StudioFrame):
    """``action_completed``: how an action ended that somebody was asked about."""

    approval_id: str
    approved: bool
    status: Literal["ok", "rejected", "error"]
    error: str | None = None


class ApprovalRequest(StudioFrame):
    """``approval_request``: the turn waits for a person; one frame a question, and no ``done``.

    ``approval_response`` answers it by its ``approval_id``.
    """

    approval_id: str
    kind: PauseKind
    """``sign_in`` can't be answered here, and ``review`` only with the scope for it."""
    action: str
    params: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    expires_at: str | None = None
    summary: str | None = None
    """The action in words, where the agent has some."""
    response_schema: dict[str, JsonValue] | None = None
    """What an answer to a graph's own question has to pass; ``edited_params`` is the answer."""
    draft: str | None = None
    """The answer as it stands, where a person is asked about it."""

    def shorter(self) -> Self:
        """See :meth:`StudioFrame.shorter`."""
        cut = {
            "params": _CUT,
            "response_schema": None,
            "summary": self.summary and self.summary[: _FEW * _SHORT],
            "draft": self.draft and self.draft[: _FEW * _SHORT],
        }
        return self.model_copy(update=cut)


class Done(StudioFrame):
    """``done``: the turn reached its end; nothing of it follows."""

    finish_reason: str
    """An open set; the execution wire's."""
    usage: Usage
    cost: Cost
    human_wait_ms: int | None = None


class ErrorBody(StudioFrame):
    """``error``: with a ``turn_id`` and a ``seq``, the turn failed and nothing of it follows.

    Without a ``seq`` a message was refused: nothing has happened, and the socket stays open.
    """

    code: str
    message: str
    retryable: bool
    error_id: str | None = None
    """By which the operators find the cause."""
    request: str | None = None
    """The ``type`` of the message that was refused."""
    ref: str | None = None
    """Its ``client_message_id``, ``approval_id`` or ``turn_id``."""
    retry_after: float | None = None
    """Seconds after which the same message may pass."""
    details: tuple[dict[str, str], ...] | None = None
    """What is wrong with each part of the message: ``path`` and ``reason``."""


FRAMES: Final[Mapping[str, type[StudioFrame]]] = {
    "connected": Connected,
    "turn_started": TurnStartedFrame,
    "node_start": NodeStart,
    "node_complete": NodeComplete,
    "token": TokenFrame,
    "text_replaced": TextReplacedFrame,
    "reasoning": Reasoning,
    "tool_start": ToolStart,
    "tool_result": ToolResult,
    "retrieval": Retrieval,
    "citation": CitationFrame,
    "action_completed": ActionCompletedFrame,
    "approval_request": ApprovalRequest,
    "done": Done,
    "error": ErrorBody,
    "pong": Pong,
}


def approval(pause: Pause, *, draft: str) -> ApprovalRequest:
    """Return the request that puts a pause to its user, whatever its kind."""
    asked = shown_payload(pause)
    payload: dict[str, JsonValue] = asked if isinstance(asked, dict) else {"question": asked}
    action, params, summary = _action(pause.kind, payload)
    return ApprovalRequest(
        approval_id=pause.pause_id,
        kind=pause.kind,
        action=action,
        params=params,
        expires_at=None if pause.expires_ms is None else iso(pause.expires_ms),
        summary=summary,
        response_schema=pause.response_schema,
        draft=draft or None,
    )


def _action(
    kind: PauseKind, payload: dict[str, JsonValue]
) -> tuple[str, dict[str, JsonValue], str | None]:
    match kind:
        case "approval":
            named, given = payload.get("action"), payload.get("params")
        case "confirmation":
            named, given = payload.get("name"), payload.get("arguments_preview")
        case "review" | "input" | "sign_in":
            named, given = kind, payload
    summary = payload.get("summary")
    return (
        named if isinstance(named, str) else kind,
        given if isinstance(given, dict) else payload,
        summary if isinstance(summary, str) else None,
    )
