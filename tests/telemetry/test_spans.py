"""A turn as a trace."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions
from opentelemetry.trace import StatusCode

from tests.engine.stage import Batches, Script, staged
from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes
from tests.telemetry.exported import Spans, facts, span_id, trace_id
from turnwire.errors import StorageUnavailable, UpstreamTimeout
from turnwire.events import (
    Envelope,
    Event,
    ModelCalled,
    NodeCompleted,
    NodeStarted,
    Pause,
    TextDelta,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnPaused,
    TurnStarted,
    Usage,
)
from turnwire.ids import PauseId
from turnwire.probe import CALLER, CALLS, Answered, Asked, Caller, Words, model_call
from turnwire.storage.memory import MemoryStore
from turnwire.work import Work

CANARY = "CANARY-what-the-member-said"
ASKED = Asked(
    model="gpt",
    provider="openai",
    node="answer",
    temperature=0.5,
    max_tokens=9,
    prompt=lambda: [Words("user", f"{CANARY} me@example.org")],
)


def stop(*events: Event, usage: Usage | None = None) -> Sequence[Event]:
    ended = TurnCompleted(finish_reason="stop", content="", usage=usage or Usage())
    return (*events, ended)


def pause() -> TurnPaused:
    asked = Pause(pause_id=PauseId("rev_1"), kind="review", payload=CANARY, requested_ms=0)
    return TurnPaused(pauses=(asked,), draft=CANARY)


async def calls_a_model(_: Work) -> Batches:
    yield (NodeStarted(node="answer"),)
    with model_call(lambda: ASKED) as call:
        call.first_chunk()
        if call.keeps_words:
            call.said(f"{CANARY} call +34 612 345 678")
        usage = Usage(prompt_tokens=7, completion_tokens=3, total_tokens=10)
        call.ended(Answered(usage=usage, finish="stop", model="gpt-1"))
    yield (TextDelta(text=CANARY), NodeCompleted(node="answer"))
    yield stop(usage=usage)


async def asks(_: Work) -> AsyncGenerator[Sequence[Event], None]:
    yield (NodeStarted(node="answer"),)
    yield (pause(),)


def play(script: Script, spans: Spans, *, caller: Caller | None = None) -> None:
    async def begin() -> None:
        CALLER.set(caller)
        async with staged(observer=spans.tracing) as stage:
            await stage.hear(await stage.begin(script, trace_id="ab" * 16))

    asyncio.run(begin())


def test_a_model_call_is_below_its_node_and_the_node_below_the_run():
    spans = Spans()
    play(calls_a_model, spans)
    assert spans.tree() == {
        ("invoke_agent helper", None),
        ("node answer", "invoke_agent helper"),
        ("chat gpt", "node answer"),
    }
    assert {trace_id(each) for each in spans.all} == {"ab" * 16}
    assert {each.status.status_code for each in spans.all} == {StatusCode.UNSET}


def test_a_model_call_has_the_attributes_of_the_conventions():
    spans = Spans()
    play(calls_a_model, spans)
    call = facts(spans.one("chat gpt"))
    assert call.pop("gen_ai.response.time_to_first_chunk") is not None
    assert call == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.model": "gpt-1",
    }
    run = facts(spans.one("invoke_agent helper"))
    assert run["gen_ai.usage.input_tokens"] == 7
    assert run["turnwire.turn.outcome"] == "stop"


def test_every_name_of_the_conventions_is_one_that_they_have():
    spans = Spans(content=str)
    play(calls_a_model, spans)
    play(uses_a_tool, spans)
    known = {each for each in vars(conventions).values() if isinstance(each, str)}
    used = {name for each in spans.all for name in facts(each) if name.startswith("gen_ai.")}
    assert len(used) > 10
    assert used <= known


def test_a_child_never_ends_after_its_parent():
    spans = Spans()
    play(calls_a_model, spans)
    by_id = {span_id(each): each for each in spans.all}
    for each in spans.all:
        if each.parent is not None:
            parent = by_id[each.parent.span_id]
            assert (each.end_time or 0) <= (parent.end_time or 0)
            assert (each.start_time or 0) >= (parent.start_time or 0)


def test_a_model_call_that_comes_before_its_nodes_start_makes_the_node_ahead():
    async def ahead(_: Work) -> Batches:
        with model_call(lambda: ASKED) as call:
            call.ended(Answered())
        yield (NodeStarted(node="answer"), NodeCompleted(node="answer"))
        yield stop()

    spans = Spans()
    play(ahead, spans)
    assert span_id(spans.one("node answer")) == spans.one("chat gpt").parent.span_id  # pyright: ignore[reportOptionalMemberAccess]


def test_a_call_that_fails_tells_the_kind_of_error_only():
    async def fails(_: Work) -> Batches:
        yield (NodeStarted(node="answer"),)
        with model_call(lambda: ASKED):
            raise ConnectionError(CANARY)

    spans = Spans()
    play(fails, spans)
    call = spans.one("chat gpt")
    assert facts(call)["error.type"] == "ConnectionError"
    assert {each.status.status_code for each in spans.all} == {StatusCode.ERROR}
    assert facts(spans.one("invoke_agent helper"))["error.type"] == "agent_error"
    assert facts(spans.one("node answer"))["turnwire.node.status"] == "failed"
    assert CANARY not in spans.dump()


async def fails_over(_: Work) -> AsyncGenerator[Sequence[Event], None]:
    yield (NodeStarted(node="answer"),)
    asked: dict[str, Any] = {"duration_ms": 5, "node": "answer"}
    yield (ModelCalled(provider="nim:llama", outcome="unavailable", **asked),)
    yield (ModelCalled(provider="anthropic:claude", outcome="ok", **asked),)
    yield (NodeCompleted(node="answer"), *stop())


def test_a_nodes_span_tells_what_failed_and_what_answered():
    spans = Spans()
    play(fails_over, spans)
    told = facts(spans.one("node answer"))
    assert told["turnwire.failover.failed"] == ("nim:llama (unavailable)",)
    assert told["turnwire.failover.answered"] == "anthropic:claude"


async def uses_a_tool(_: Work) -> AsyncGenerator[Sequence[Event], None]:
    yield (NodeStarted(node="act"),)
    yield (ToolStarted(tool_call_id="c1", name="look", arguments={"q": [CANARY, 1]}),)
    yield (ToolCompleted(tool_call_id="c1", name="look", status="ok", result=CANARY),)
    yield (ToolStarted(tool_call_id="c2", name="look"),)
    yield (ToolCompleted(tool_call_id="c2", name="look", status="error", error=CANARY),)
    yield (NodeCompleted(node="act"), *stop())


def test_a_tool_call_is_below_its_node():
    spans = Spans()
    play(uses_a_tool, spans)
    assert ("execute_tool look", "node act") in spans.tree()
    good, bad = spans.named("execute_tool look")
    assert facts(good)["gen_ai.tool.call.id"] == "c1"
    assert good.status.status_code is StatusCode.UNSET
    assert bad.status.status_code is StatusCode.ERROR


def test_nobodys_words_are_in_a_span_unless_that_is_switched_on():
    spans = Spans()
    play(calls_a_model, spans)
    play(uses_a_tool, spans)
    play(asks, spans)
    assert CANARY not in spans.dump()


def test_words_that_are_switched_on_are_redacted_still():
    spans = Spans(content=lambda text: text.replace(CANARY, "[REDACTED]"))
    play(calls_a_model, spans)
    play(uses_a_tool, spans)
    call, tool = facts(spans.one("chat gpt")), facts(spans.named("execute_tool look")[0])
    assert call["gen_ai.input.messages"] == (
        '[{"role": "user", "parts": [{"type": "text", "content": "[REDACTED] me@example.org"}]}]'
    )
    assert "[REDACTED] call" in str(call["gen_ai.output.messages"])
    assert tool["gen_ai.tool.call.arguments"] == '{"q": ["[REDACTED]", 1]}'
    assert tool["gen_ai.tool.call.result"] == '"[REDACTED]"'
    assert CANARY not in spans.dump()


def test_a_run_after_a_pause_is_in_the_same_trace_and_linked_to_the_run_before():
    before, after = Spans(), Spans()

    async def both() -> None:
        async with staged(observer=before.tracing) as one:
            turn_id = await one.begin(asks, trace_id="ab" * 16)
            await one.hear(turn_id)
        # Another process: nothing is known of the first one but the store.
        async with staged(observer=after.tracing, store=one.store) as other:
            await other.resume(turn_id, "rev_1", calls_a_model)
            await other.hear(turn_id)

    asyncio.run(both())
    first, second = before.one("invoke_agent helper"), after.one("invoke_agent helper")
    assert second.parent is None
    assert trace_id(second) == trace_id(first) == "ab" * 16
    assert [each.context.span_id for each in second.links] == [span_id(first)]
    assert [each.context.trace_id for each in second.links] == [int("ab" * 16, 16)]
    assert span_id(second) != span_id(first)
    assert facts(first)["turnwire.turn.outcome"] == "paused"
    assert facts(first)["turnwire.turn.pauses"] == ("review",)
    assert facts(before.one("node answer"))["turnwire.node.status"] == "paused"
    assert facts(second)["turnwire.turn.resumed"] is True


def test_who_makes_a_turn_go_on_from_another_trace_is_linked():
    spans, reviewer = Spans(), Caller("ef" * 16, "12" * 8, sampled=True)

    async def both() -> None:
        async with staged(observer=spans.tracing) as stage:
            turn_id = await stage.begin(asks, trace_id="ab" * 16)
            await stage.hear(turn_id)
            CALLER.set(reviewer)
            await stage.resume(turn_id, "rev_1", calls_a_model)
            await stage.hear(turn_id)

    asyncio.run(both())
    _, second = spans.named("invoke_agent helper")
    assert [f"{each.context.trace_id:032x}" for each in second.links] == ["ab" * 16, "ef" * 16]


def test_a_caller_in_the_turns_trace_is_the_runs_parent():
    spans = Spans()
    play(calls_a_model, spans, caller=Caller("ab" * 16, "cd" * 8, sampled=True))
    assert ("invoke_agent helper", "cd" * 8) in spans.tree()


def test_a_caller_who_does_not_sample_is_followed_in_that():
    spans = Spans()
    play(calls_a_model, spans, caller=Caller("ab" * 16, "cd" * 8, sampled=False))
    assert spans.all == []


def test_a_nodes_own_spans_are_below_its_run():
    spans = Spans()

    async def traced(_: Work) -> AsyncGenerator[Sequence[Event], None]:
        with spans.tracer.start_as_current_span("a graph's own"):
            yield (NodeStarted(node="answer"), NodeCompleted(node="answer"))
        with model_call(lambda: ASKED) as call:
            with spans.tracer.start_as_current_span("the provider's request"):
                pass
            call.ended(Answered())
        yield stop()

    play(traced, spans)
    assert ("a graph's own", "invoke_agent helper") in spans.tree()
    assert ("the provider's request", "chat gpt") in spans.tree()
    assert not trace.get_current_span().get_span_context().is_valid


def test_outside_a_run_nobody_measures_a_call():
    with model_call(lambda: pytest.fail("asked for nobody")) as call:
        call.first_chunk()
        call.ended(Answered())
    assert CALLS.get() is None
    assert not call.keeps_words


def test_a_turn_that_takes_too_long_ends_its_spans():
    async def late(_: Work) -> AsyncGenerator[Sequence[Event], None]:
        yield (NodeStarted(node="answer"), TextDelta(text=CANARY))
        raise UpstreamTimeout(CANARY)

    spans = Spans()
    play(late, spans)
    assert facts(spans.one("invoke_agent helper"))["error.type"] == "upstream_timeout"
    assert [each.name for each in spans.one("invoke_agent helper").events] == ["first_token"]
    assert CANARY not in spans.dump()


class _Full(MemoryStore):
    """Takes beginnings only, and can't even show an ending."""

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        raise StorageUnavailable("full")


def test_a_run_whose_ending_nobody_could_tell_ends_its_spans_all_the_same():
    spans = Spans()

    async def full() -> None:
        async with staged(observer=spans.tracing, store=_Full()) as stage:
            turn_id = await stage.begin(calls_a_model, trace_id="ab" * 16)
            await stage.supervisor.ended(turn_id)

    asyncio.run(full())
    assert spans.one("invoke_agent helper").status.status_code is StatusCode.ERROR


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_each_scenario_ends_every_span_that_it_began(scenario: Scenario):
    spans = Spans()
    log = envelopes(scenario)
    own = [each._replace(event=_traced(each.event)) for each in log]
    spans.tracing.heard(own)
    begun = [each for each in log if isinstance(each.event, TurnStarted)]
    assert len(spans.named("invoke_agent helper")) == len(begun)
    ids = {span_id(each) for each in spans.all}
    assert {each.parent.span_id for each in spans.all if each.parent} <= ids
    nodes = [each for each in log if isinstance(each.event, NodeStarted)]
    assert sum(each.name.startswith("node ") for each in spans.all) == len(nodes)


def _traced(event: Event) -> Event:
    if isinstance(event, TurnStarted):
        return event.model_copy(update={"trace_id": "ab" * 16})
    return event
