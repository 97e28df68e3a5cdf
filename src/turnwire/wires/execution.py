"""The execution wire: what each node did, and the whole answer at the end.

For the demo page and for operators; ``docs/reference/wires.md`` is generated from these types.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from turnwire.errors import StreamInterrupted
from turnwire.events import (
    RUN_ENDINGS,
    Citation,
    CitationAdded,
    Cost,
    Envelope,
    GuardrailDecided,
    GuardrailDecision,
    NodeCompleted,
    NodeStarted,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.wires.base import FRAME_BYTES, WireMessage, to_json
from turnwire.wires.execution_frames import (
    ChatResponse,
    ErrorBody,
    GraphTopology,
    NodeCompletedBody,
    NodeStartedBody,
    PausedBody,
    TextReplacedBody,
    pause_body,
    review,
)


class Execution:
    """Says a turn on the execution wire."""

    def __init__(self, *, tokens: bool = False) -> None:
        self._tokens = tokens
        self._started: TurnStarted | None = None
        self._latest: Envelope | None = None
        self._has_said = False
        self._citations: list[Citation] = []
        self._decisions: list[GuardrailDecision] = []

    def say(self, envelope: Envelope, /) -> Iterable[WireMessage]:
        """Return the frame that says this event, or nothing."""
        event = envelope.event
        self._has_said = True
        if type(event) is TextDelta:  # nine of ten events
            self._latest = envelope
            if not self._tokens:
                return ()
            data = '{"text":' + to_json(event.text) + "}"
            return (WireMessage(f"{envelope.turn_id}.{envelope.seq}", "token", data),)
        self.hear(envelope)
        match event:
            case TurnStarted():
                return (_message(envelope, "graph_topology", _topology(envelope, event)),)
            case NodeStarted() | NodeCompleted():
                return (_node(envelope, event),)
            case TextReplaced() if self._tokens:
                body = TextReplacedBody(text=event.text, reason=event.reason)
                return (_message(envelope, "text_replaced", body),)
            case TurnPaused() | TurnCompleted() | TurnFailed():
                return (self._ending(envelope, event),)
            case _:
                return ()

    @property
    def thread_id(self) -> str:
        """The conversation of the turn, once its start was heard."""
        return self._started.conversation_id if self._started else ""

    def hear(self, envelope: Envelope, /) -> None:
        """Take note of an event that the client knows already, and say nothing."""
        self._latest = envelope
        match envelope.event:
            case TurnStarted() as started:
                self._started = started
            case TextReplaced():
                self._citations.clear()
            case CitationAdded(citation=citation):
                self._citations.append(citation)
            case GuardrailDecided(decision=decision):
                self._decisions.append(decision)
            case _:
                pass

    def end(self, *, error_id: str) -> Iterable[WireMessage]:
        """See :class:`turnwire.wires.base.Wire`.

        A client that has heard it all is told the ending again: an empty stream would bring it
        back for ever.
        """
        latest, cut = self._latest, StreamInterrupted
        if latest is not None and isinstance(latest.event, RUN_ENDINGS):
            return () if self._has_said else (self._ending(latest, latest.event),)
        body = ErrorBody(
            code=cut.code, message=cut.public, retryable=cut.retryable, error_id=error_id
        )
        data = to_json(body.model_dump(mode="json"))
        return (WireMessage(f"{latest.turn_id}.{latest.seq}" if latest else "", "error", data),)

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

    def _ending(
        self, envelope: Envelope, event: TurnPaused | TurnCompleted | TurnFailed
    ) -> WireMessage:
        match event:
            case TurnCompleted():
                return _message(envelope, "turn_completed", _fitting(self.response(envelope)))
            case TurnPaused():
                return _message(envelope, "paused", _shorter(self._paused(envelope, event)))
            case TurnFailed():
                body = ErrorBody.model_validate(event.model_dump(exclude={"type"}))
                return _message(envelope, "error", body)

    def _paused(self, envelope: Envelope, event: TurnPaused) -> PausedBody:
        reviews = [
            review(each, thread_id=self.thread_id, turn_id=envelope.turn_id, draft=event.draft)
            for each in event.pauses
            if each.kind == "review"
        ]
        return PausedBody.model_validate(
            {
                "thread_id": self.thread_id,
                "turn_id": envelope.turn_id,
                "status": f"paused_for_{event.pauses[0].kind}",
                "review": reviews[0] if reviews else None,
                "pauses": tuple(pause_body(each) for each in event.pauses),
                "draft": event.draft,
            }
        )


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
        node=event.node,
        status=event.status,
        duration_ms=event.duration_ms,
        route=event.route,
        failover=event.failover,
    )
    return _message(envelope, "node_completed", done)


def _shorter(paused: PausedBody) -> PausedBody:
    """Return the pause, cut where the frame would outgrow a client's buffer."""
    if len(to_json(paused.model_dump(mode="json"))) <= FRAME_BYTES:
        return paused
    # The draft is in it up to three times, and an escaped character takes six bytes at the most.
    cut = FRAME_BYTES // 6 // 5
    review = paused.review and paused.review.model_copy(
        update={
            "draft": paused.review.draft[:cut],
            "question": paused.review.question[:cut],
            "citations": (),
        }
    )
    asked = (each.model_copy(update={"payload": {"truncated": True}}) for each in paused.pauses)
    url = f"/conversations/{paused.thread_id}/turns/{paused.turn_id}"
    return paused.model_copy(
        update={
            "draft": paused.draft[:cut],
            "review": review,
            "pauses": tuple(asked),
            "content_url": url,
        }
    )


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


def _message(envelope: Envelope, name: str, body: BaseModel) -> WireMessage:
    data = to_json(body.model_dump(mode="json", exclude_none=True))
    return WireMessage(f"{envelope.turn_id}.{envelope.seq}", name, data)
