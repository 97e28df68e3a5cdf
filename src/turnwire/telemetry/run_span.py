"""The span of one run with everything below it."""

import json
import time
from collections import Counter

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Tracer
from pydantic import JsonValue

from turnwire.events import (
    NodeCompleted,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
)
from turnwire.probe import Asked
from turnwire.telemetry.call_span import FAILED, CallSpan, Redact, messages
from turnwire.telemetry.measures import outcome_of


def opening(ms: int) -> int:
    """Return when something began, in nanoseconds: at the beginning of its millisecond."""
    return ms * 1_000_000


def closing(ms: int) -> int:
    """Return when something ended, in nanoseconds: not before what ended in its millisecond."""
    return min(ms * 1_000_000 + 999_999, max(time.time_ns(), ms * 1_000_000))


class RunSpan:
    """One run's span, and the open spans below it.

    Parallel copies of one node are told apart by their number only. A model call may be heard of
    before its node's start, which travels on the graph's stream: the node's span is then made
    ahead.
    """

    def __init__(self, tracer: Tracer, span: Span, content: Redact | None) -> None:
        self.span = span
        self.context: Context = trace.set_span_in_context(span, Context())
        self._tracer = tracer
        self._content = content
        self._nodes: dict[str, list[Span]] = {}
        self._ahead: Counter[str] = Counter()
        self._tools: dict[str, Span] = {}
        self._silent = True

    def spoke(self, at: int) -> None:
        """Note the run's first words."""
        if self._silent:
            self._silent = False
            self.span.add_event("first_token", timestamp=closing(at))

    def node_started(self, node: str, at: int) -> None:
        """Begin the node's span."""
        if self._ahead[node]:
            self._ahead[node] -= 1
        else:
            self._open(node, opening(at))

    def node_completed(self, event: NodeCompleted, at: int) -> None:
        """End the span of the node's oldest open copy; a node that was bypassed has none."""
        spans = self._nodes.get(event.node)
        if event.status == "skipped" or not spans:
            return
        span = spans.pop(0)
        span.set_attribute("turnwire.node.status", event.status)
        if event.failover is not None:
            span.set_attribute("turnwire.failover.failed", event.failover.failed)
            span.set_attribute("turnwire.failover.answered", event.failover.answered or "none")
        if event.status == "failed":
            span.set_status(FAILED)
        span.end(closing(at))

    def tool_started(self, event: ToolStarted, at: int) -> None:
        """Begin the tool call's span, under its node where only one is open."""
        span = self._tracer.start_span(
            f"execute_tool {event.name}",
            context=self._below_only_node(),
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": event.name,
                "gen_ai.tool.call.id": event.tool_call_id,
            },
            start_time=opening(at),
        )
        if self._content is not None:
            span.set_attribute("gen_ai.tool.call.arguments", self._json(event.arguments))
        self._tools[event.tool_call_id] = span

    def tool_completed(self, event: ToolCompleted, at: int) -> None:
        """End the tool call's span."""
        span = self._tools.pop(event.tool_call_id, None)
        if span is None:
            return
        if event.status == "error":
            span.set_attribute("error.type", "tool_error")
            span.set_status(FAILED)
        elif self._content is not None:
            span.set_attribute("gen_ai.tool.call.result", self._json(event.result))
        span.end(closing(at))

    def ended(self, event: TurnPaused | TurnCompleted | TurnFailed, at: int) -> None:
        """End the run's span, and before it whatever waits with the turn at a pause."""
        ends = closing(at)
        self._end_open("paused", ends)
        if isinstance(event, TurnPaused):
            self.span.set_attribute("turnwire.turn.outcome", "paused")
            kinds = tuple(each.kind for each in event.pauses)
            self.span.set_attribute("turnwire.turn.pauses", kinds)
        else:
            self.span.set_attribute("turnwire.turn.outcome", outcome_of(event))
        if isinstance(event, TurnFailed):
            self.span.set_attribute("error.type", event.code)
            self.span.set_attribute("turnwire.error.id", event.error_id)
            self.span.set_status(FAILED)
        if isinstance(event, TurnCompleted):
            self.span.set_attribute("gen_ai.usage.input_tokens", event.usage.prompt_tokens)
            self.span.set_attribute("gen_ai.usage.output_tokens", event.usage.completion_tokens)
            self.span.set_attribute("turnwire.cost.usd", event.cost.usd)
        self.span.end(ends)

    def lost(self) -> None:
        """End everything now, for nobody will tell how the run ended."""
        self._end_open("failed", None)
        self.span.set_status(FAILED)
        self.span.end()

    def begin(self, asked: Asked) -> CallSpan:
        """See :class:`turnwire.probe.Calls`."""
        span = self._tracer.start_span(
            f"chat {asked.model}",
            context=self._below(asked.node),
            kind=SpanKind.CLIENT,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": asked.provider,
                "gen_ai.request.model": asked.model,
            },
        )
        if asked.temperature is not None:
            span.set_attribute("gen_ai.request.temperature", asked.temperature)
        if asked.max_tokens is not None:
            span.set_attribute("gen_ai.request.max_tokens", asked.max_tokens)
        if self._content is not None and span.is_recording():
            prompt = messages(asked.prompt(), self._content)
            span.set_attribute("gen_ai.input.messages", prompt)
        return CallSpan(span, self._content)

    def _open(self, node: str, at: int | None) -> Span:
        span = self._tracer.start_span(
            f"node {node}",
            context=self.context,
            attributes={"turnwire.node.name": node},
            start_time=at,
        )
        self._nodes.setdefault(node, []).append(span)
        return span

    def _below(self, node: str) -> Context:
        if not node:
            return self.context
        spans = self._nodes.get(node)
        if not spans:
            self._ahead[node] += 1
        span = spans[-1] if spans else self._open(node, None)
        return trace.set_span_in_context(span, Context())

    def _end_open(self, status: str, at: int | None) -> None:
        for span in self._open_nodes():
            span.set_attribute("turnwire.node.status", status)
        for span in (*self._tools.values(), *self._open_nodes()):
            span.end(at)

    def _open_nodes(self) -> list[Span]:
        return [one for each in self._nodes.values() for one in each]

    def _below_only_node(self) -> Context:
        spans = self._open_nodes()
        return trace.set_span_in_context(spans[0], Context()) if len(spans) == 1 else self.context

    def _json(self, value: JsonValue) -> str:
        return "" if self._content is None else json.dumps(_redacted(value, self._content))


def _redacted(value: JsonValue, redact: Redact) -> JsonValue:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(each, redact) for each in value]
    if isinstance(value, dict):
        return {redact(name): _redacted(each, redact) for name, each in value.items()}
    return value
