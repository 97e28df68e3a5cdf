"""OpenTelemetry spans of a turn: its run, its nodes and tools from the events, its model calls.

Names and attributes follow OpenTelemetry's semantic conventions for generative AI, v0.1.0 of their
own repository (open-telemetry/semantic-conventions-genai).
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags, Tracer
from opentelemetry.util.types import AttributeValue

from turnwire.engine.observer import Earlier
from turnwire.events import (
    Envelope,
    Event,
    GuardrailDecided,
    NodeCompleted,
    NodeStarted,
    RetrievalCompleted,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import RunId, TurnId
from turnwire.probe import CALLER, CALLS
from turnwire.telemetry.call_span import Redact
from turnwire.telemetry.run_span import RunSpan, closing, opening
from turnwire.telemetry.span_ids import own_ids, span_id_of, trace_id_of
from turnwire.work import Work

SCOPE: Final = "turnwire"
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class Tracing:
    """Hears what happens to turns and makes spans of it.

    All runs of a turn are in the turn's trace. A run that goes on after a pause, in this process
    or another, is linked to the run before: its parent would have ended long ago.
    """

    def __init__(self, tracer: Tracer, *, content: Redact | None = None) -> None:
        """Take a tracer; with ``content``, spans have what that leaves of people's words."""
        self._tracer = tracer
        self._content = content
        self._runs: dict[TurnId, RunSpan] = {}

    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        for envelope in envelopes:
            event = envelope.event
            if isinstance(event, TurnStarted):
                self._runs[envelope.turn_id] = self._begun(envelope, event, earlier)
                continue
            run = self._runs.get(envelope.turn_id)
            if run is None:
                continue
            _tell(run, event, envelope.ts_ms)
            if isinstance(event, TurnPaused | TurnCompleted | TurnFailed):
                del self._runs[envelope.turn_id]

    @contextmanager
    def running(self, work: Work, /) -> Generator[None]:
        """See :class:`turnwire.engine.observer.Observer`."""
        run = self._runs.get(work.turn_id)
        if run is None:
            yield
            return
        calls = CALLS.set(run)
        token = otel_context.attach(run.context)
        try:
            yield
        finally:
            otel_context.detach(token)
            CALLS.reset(calls)
            if self._runs.get(work.turn_id) is run:  # its ending was never told
                del self._runs[work.turn_id]
                run.lost()

    def unstored(self) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""

    def _begun(self, envelope: Envelope, event: TurnStarted, earlier: Earlier | None) -> RunSpan:
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": event.agent,
            "gen_ai.conversation.id": event.conversation_id,
            "gen_ai.request.model": event.model,
            "turnwire.turn.id": envelope.turn_id,
            "turnwire.run.id": envelope.run_id,
            "turnwire.turn.resumed": event.resumed,
        }
        with own_ids(event.trace_id, envelope.run_id):
            span = self._tracer.start_span(
                f"invoke_agent {event.agent}",
                context=_parent(event),
                kind=SpanKind.INTERNAL,
                attributes=attributes,
                links=_links(event, earlier),
                start_time=opening(envelope.ts_ms),
            )
        return RunSpan(self._tracer, span, self._content)


def _tell(run: RunSpan, event: Event, at: int) -> None:
    match event:
        case TextDelta() | TextReplaced():
            run.spoke(at)
        case NodeStarted():
            run.node_started(event.node, at)
        case NodeCompleted():
            run.node_completed(event, at)
        case ToolStarted():
            run.tool_started(event, at)
        case ToolCompleted():
            run.tool_completed(event, at)
        case GuardrailDecided() | RetrievalCompleted():
            name, facts = _noted(event)
            run.span.add_event(name, facts, timestamp=closing(at))
        case TurnPaused() | TurnCompleted() | TurnFailed():
            run.ended(event, at)
        case _:
            pass


def _noted(event: GuardrailDecided | RetrievalCompleted) -> tuple[str, dict[str, AttributeValue]]:
    if isinstance(event, RetrievalCompleted):
        found: dict[str, AttributeValue] = {
            "turnwire.retrieval.documents": len(event.documents),
            "turnwire.retrieval.duration_ms": event.duration_ms,
        }
        return event.type, found
    decision = event.decision
    verdict: dict[str, AttributeValue] = {
        "turnwire.guardrail.stage": decision.stage,
        "turnwire.guardrail.check": decision.check,
        "turnwire.guardrail.outcome": decision.outcome,
    }
    return event.type, verdict


def _parent(event: TurnStarted) -> Context:
    """Return the context of who began the turn, as far as it is in the turn's trace."""
    trace_id = trace_id_of(event.trace_id)
    around = trace.get_current_span()
    if around.get_span_context().trace_id == trace_id:
        return trace.set_span_in_context(around, Context())
    caller = _caller()
    if caller is not None and caller.trace_id == trace_id:
        return _around(caller)
    return Context()


def _caller() -> SpanContext | None:
    caller = CALLER.get()
    if caller is None:
        return None
    return SpanContext(
        trace_id=int(caller.trace_id, 16),
        span_id=int(caller.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if caller.sampled else TraceFlags.DEFAULT),
    )


def _around(span_context: SpanContext) -> Context:
    return trace.set_span_in_context(trace.NonRecordingSpan(span_context), Context())


def _links(event: TurnStarted, earlier: Earlier | None) -> Sequence[Link]:
    """Return links to the run before, and to who asked for the run from another trace."""
    links: list[Link] = []
    if earlier is not None:
        links.append(Link(_run(event.trace_id, earlier.run_id)))
    caller = _caller()
    if caller is not None and caller.trace_id != trace_id_of(event.trace_id):
        links.append(Link(caller))
    return links


def _run(trace_id: str, run_id: RunId) -> SpanContext:
    return SpanContext(
        trace_id=trace_id_of(trace_id),
        span_id=span_id_of(run_id),
        is_remote=False,
        trace_flags=_SAMPLED,
    )
