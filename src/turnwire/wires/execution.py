"""The execution wire: what each node did, and the whole answer at the end.

For the demo page and for operators; ``docs/reference/wires.md`` is generated from these types.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from turnwire.events import (
    Citation,
    CitationAdded,
    Cost,
    Envelope,
    GuardrailDecided,
    GuardrailDecision,
    NodeCompleted,
    NodeStarted,
    Pause,
    TextDelta,
    TextReplaced,
    TopologyEdge,
    TopologyFlags,
    TopologyNode,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import Seq
from turnwire.wires.base import WireMessage, to_json

Status = Literal[
    "complete",
    "paused_for_review",
    "paused_for_confirmation",
    "paused_for_sign_in",
    "paused_for_approval",
    "paused_for_input",
]

FRAME_BYTES: Final = 60_000
"""A frame's data at most: many clients read lines of up to 64 KiB."""

_PIECE: Final = 8192
"""Characters of text in one frame at most; an escaped character takes six bytes."""


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


class Execution:
    """Says a turn on the execution wire."""

    def __init__(self, *, tokens: bool = False) -> None:
        self._tokens = tokens
        self._started: TurnStarted | None = None
        self._citations: list[Citation] = []
        self._decisions: list[GuardrailDecision] = []

    def say(self, envelope: Envelope, /) -> Iterable[WireMessage]:
        """Return the frame that says this event, or nothing."""
        event = envelope.event
        if type(event) is TextDelta:  # nine of ten events
            if not self._tokens:
                return ()
            data = '{"text":' + to_json(event.text) + "}"
            return (WireMessage(f"{envelope.turn_id}.{envelope.seq}", "token", data),)
        match event:
            case TurnStarted():
                self._started = event
                return (_message(envelope, "graph_topology", _topology(envelope, event)),)
            case NodeStarted() | NodeCompleted():
                return (_node(envelope, event),)
            case TextReplaced():
                return self._replaced(envelope, event)
            case CitationAdded() | GuardrailDecided():
                self._note(event)
                return ()
            case TurnPaused() | TurnCompleted() | TurnFailed():
                return (self._ending(envelope, event),)
            case _:
                return ()

    def response(self, envelope: Envelope, /) -> ChatResponse:
        """Return the answer of a run that ended by a pause or by completion."""
        started = self._started
        event = envelope.event
        if started is None or not isinstance(event, TurnPaused | TurnCompleted):
            raise ValueError("a response needs the run's start and its ending")
        about: dict[str, Any] = {
            "thread_id": started.conversation_id,
            "turn_id": envelope.turn_id,
            "trace_id": started.trace_id,
            "agent": started.agent,
            "locale": started.locale,
        }
        if isinstance(event, TurnCompleted):
            return ChatResponse(
                **about,
                status="complete",
                content=event.content,
                citations=event.citations,
                guardrail_decisions=event.guardrail_decisions,
                cost=event.cost,
                finish_reason=event.finish_reason,
                human_wait_ms=event.human_wait_ms,
            )
        paused = self._paused(envelope, event)
        return ChatResponse(
            **about,
            status=paused.status,
            content=event.draft,
            citations=tuple(self._citations),
            guardrail_decisions=tuple(self._decisions),
            cost=Cost(model=started.model),
            finish_reason=f"awaiting_{event.pauses[0].kind}",
            review=paused.review,
            pauses=paused.pauses,
        )

    def _note(self, event: CitationAdded | GuardrailDecided) -> None:
        if isinstance(event, CitationAdded):
            self._citations.append(event.citation)
        else:
            self._decisions.append(event.decision)

    def _replaced(self, envelope: Envelope, event: TextReplaced) -> Iterable[WireMessage]:
        self._citations.clear()
        if not self._tokens:
            return ()
        first, *rest = _pieces(event.text)
        bodies = [TextReplacedBody(text=first, reason=event.reason), *(Token(text=e) for e in rest)]
        # Who loses the connection within them hears them all again.
        unfinished = envelope._replace(seq=Seq(envelope.seq - 1))
        return [
            _message(
                envelope if n == len(bodies) else unfinished,
                "token" if n > 1 else "text_replaced",
                body,
            )
            for n, body in enumerate(bodies, start=1)
        ]

    def _ending(
        self, envelope: Envelope, event: TurnPaused | TurnCompleted | TurnFailed
    ) -> WireMessage:
        match event:
            case TurnCompleted():
                return _message(envelope, "turn_completed", _fitting(self.response(envelope)))
            case TurnPaused():
                return _message(envelope, "paused", self._paused(envelope, event))
            case TurnFailed():
                body = ErrorBody.model_validate(event.model_dump(exclude={"type"}))
                return _message(envelope, "error", body)

    def _paused(self, envelope: Envelope, event: TurnPaused) -> PausedBody:
        thread_id = self._started.conversation_id if self._started else ""
        reviews = [
            review(each, thread_id=thread_id, turn_id=envelope.turn_id, draft=event.draft)
            for each in event.pauses
            if each.kind == "review"
        ]
        return PausedBody.model_validate(
            {
                "thread_id": thread_id,
                "turn_id": envelope.turn_id,
                "status": f"paused_for_{event.pauses[0].kind}",
                "review": reviews[0] if reviews else None,
                "pauses": tuple(pause_body(each) for each in event.pauses),
                "draft": event.draft,
            }
        )


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
        payload=pause.payload,
        response_schema=pause.response_schema,
        requested_at=iso(pause.requested_ms),
        expires_at=None if pause.expires_ms is None else iso(pause.expires_ms),
    )


def iso(ms: int) -> str:
    """Return milliseconds since 1970 as an RFC 3339 time in UTC."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat(timespec="milliseconds")


def _topology(envelope: Envelope, event: TurnStarted) -> GraphTopology:
    return GraphTopology(
        thread_id=event.conversation_id,
        turn_id=envelope.turn_id,
        run_id=envelope.run_id,
        agent=event.agent,
        model=event.model,
        locale=event.locale,
        resumed=event.resumed,
        nodes=event.topology.nodes,
        edges=event.topology.edges,
        flags=event.topology.flags,
    )


def _node(envelope: Envelope, event: NodeStarted | NodeCompleted) -> WireMessage:
    if isinstance(event, NodeStarted):
        started = NodeStartedBody(node=event.node, run_id=envelope.run_id, ts_ms=envelope.ts_ms)
        return _message(envelope, "node_started", started)
    done = NodeCompletedBody(
        node=event.node, status=event.status, duration_ms=event.duration_ms, route=event.route
    )
    return _message(envelope, "node_completed", done)


def _fitting(response: ChatResponse) -> ChatResponse:
    """Return the response, its content cut where the frame would outgrow a client's buffer."""
    if len(response.content) < FRAME_BYTES // 12:
        return response
    spare = FRAME_BYTES - len(to_json(response.model_dump(mode="json", exclude={"content"})))
    if len(to_json(response.content)) <= spare:
        return response
    url = f"/conversations/{response.thread_id}/turns/{response.turn_id}"
    # An escaped character takes six bytes at the most.
    cut = response.content[: max(0, spare) // 6]
    return response.model_copy(update={"content": cut, "content_url": url})


def _pieces(text: str) -> list[str]:
    return [text[n : n + _PIECE] for n in range(0, len(text), _PIECE)] or [""]


def _message(envelope: Envelope, name: str, body: BaseModel) -> WireMessage:
    data = to_json(body.model_dump(mode="json", exclude_none=True))
    return WireMessage(f"{envelope.turn_id}.{envelope.seq}", name, data)
