"""What a graph's models and nodes say, as events."""

import asyncio
import operator
import time
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import AnyMessage, add_messages
from langgraph.runtime import Runtime
from langgraph.types import CachePolicy, Send
from pydantic import BaseModel

from tests.graph.models import Chunked, Whole
from tests.graph.stage import Host, exhaust, line, one_node
from turnwire.errors import UpstreamUnavailable
from turnwire.events import (
    NodeCompleted,
    NodeStarted,
    ReasoningDelta,
    TextDelta,
    TextReplaced,
    ToolStarted,
    TurnFailed,
)
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import emit, speaker
from turnwire.graph.manifest import Manifest

pytestmark = pytest.mark.anyio


class Speaking(MessagesState):
    spare: Annotated[list[str], operator.add]


def same_key(*state: object) -> str:
    return "same"


async def test_the_models_words_are_said_as_they_come():
    played = await Host(one_node(Chunked(calls=[["Rest ", "", "well."]]))).play()

    assert played.deltas == ["Rest ", "well."]
    assert played.ending.content == "Rest well."
    assert played.completed == [("answer", "executed")]


async def test_parallel_nodes_each_start_and_end():
    async def work(state: Speaking) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return {"spare": ["x"]}

    graph: StateGraph[Any] = StateGraph(Speaking)
    for name in ("left", "right"):
        graph.add_node(name, work)
        graph.add_edge(START, name)
        graph.add_edge(name, END)

    played = await Host(graph).play()

    assert sorted(played.started) == ["left", "right"]
    assert sorted(played.completed) == [("left", "executed"), ("right", "executed")]


async def test_copies_that_were_sent_each_start_and_end():
    async def copy(state: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"spare": [state["n"]]}

    def fan(state: Speaking) -> list[Send]:
        return [Send("copy", {"n": str(n)}) for n in range(4)]

    graph: StateGraph[Any] = StateGraph(Speaking)
    graph.add_node("copy", copy)
    graph.add_conditional_edges(START, fan, ["copy"])

    played = await Host(graph).play()

    assert played.started == ["copy"] * 4
    assert played.completed == [("copy", "executed")] * 4


async def test_a_subgraph_is_one_node_and_its_model_is_heard():
    inner = one_node(Chunked(calls=[["Rest ", "well."]])).compile()
    played = await Host(line(outer=inner)).play()

    assert played.started == ["outer"]
    assert played.deltas == ["Rest ", "well."]
    assert played.completed == [("outer", "executed")]


async def test_a_cached_node_ends_though_it_did_not_run():
    calls: list[int] = []

    async def slow(state: Speaking) -> dict[str, Any]:
        calls.append(1)
        return {"spare": ["x"]}

    graph: StateGraph[Any] = StateGraph(Speaking)
    graph.add_node("slow", slow, cache_policy=CachePolicy(key_func=same_key))
    graph.add_edge(START, "slow")
    host = Host(graph.compile(cache=InMemoryCache()))
    await host.play()

    played = await host.play()

    assert calls == [1]
    assert played.started == ["slow"]
    assert played.completed == [("slow", "executed")]


async def test_a_node_that_fails_cancels_its_sibling_and_both_are_closed():
    cancelled: list[str] = []

    async def sibling(state: Speaking) -> dict[str, Any]:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append("sibling")
            raise
        return {}

    async def failing(state: Speaking) -> dict[str, Any]:
        await asyncio.sleep(0.01)
        raise RuntimeError("no")

    graph: StateGraph[Any] = StateGraph(Speaking)
    for name, node in (("sibling", sibling), ("failing", failing)):
        graph.add_node(name, node)
        graph.add_edge(START, name)
    host = Host(graph)
    played = host.begin()

    with pytest.raises(RuntimeError):
        await host.run(played)
    said = played.turn.fail(UpstreamUnavailable(), error_id="err_1", at=host.now())
    events = [*played.events, *(each.event for each in said)]

    assert cancelled == ["sibling"]
    ends = {each.node: each.status for each in events if isinstance(each, NodeCompleted)}
    assert ends == {"sibling": "failed", "failing": "failed"}
    assert isinstance(events[-1], TurnFailed)


async def test_a_providers_failure_is_told_as_such():
    class APIConnectionError(ConnectionError): ...

    host = Host(one_node(Chunked(calls=[["Rest ", APIConnectionError("sk-secret")]])))

    with pytest.raises(UpstreamUnavailable):
        await exhaust(host.agent.work(host.begin().work))


async def test_a_call_tagged_nostream_is_not_heard_live_or_in_the_answer():
    guard = Chunked(calls=[["CANARY"]])

    async def judge(state: MessagesState) -> dict[str, Any]:
        said = await guard.ainvoke(state["messages"], {"tags": ["nostream"]})
        return {"messages": [said]}

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {}

    played = await Host(line(judge=judge, answer=answer)).play()

    assert "CANARY" not in str(played.events)
    assert played.ending.content == ""


async def test_only_the_answer_nodes_model_is_heard():
    manifest = Manifest(slug="graph", title="Graph", answer_node="answer")
    planner, writer = Chunked(calls=[["CANARY plan"]]), Chunked(calls=[["Rest."]])

    async def plan(state: Speaking) -> dict[str, Any]:
        said = await planner.ainvoke(state["messages"])
        return {"spare": [str(said.text)]}

    async def answer(state: Speaking) -> dict[str, Any]:
        return {"messages": [await writer.ainvoke(state["messages"])]}

    played = await Host(line(Speaking, plan=plan, answer=answer), manifest).play()

    assert "CANARY" not in str(played.events)
    assert played.text == "Rest."


async def test_a_node_that_rewrites_the_message_replaces_the_text():
    model = Chunked(calls=[["Call 4111 1111."]])

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def redact(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [AIMessage(content="Call [number].", id=last.id)]}

    played = await Host(line(answer=answer, redact=redact)).play()

    assert played.of(TextReplaced) == [TextReplaced(text="Call [number].", reason="final_message")]
    assert played.ending.content == "Call [number]."


async def test_a_message_that_a_node_made_itself_is_the_answer():
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(content="We are closed.")]}

    played = await Host(line(answer=answer)).play()

    assert played.text == played.ending.content == "We are closed."


async def test_a_model_that_does_not_stream_is_heard_at_the_end():
    played = await Host(one_node(Whole(text="Rest well."))).play()

    assert played.text == played.ending.content == "Rest well."


async def test_reasoning_is_told_apart_from_the_answer():
    thinking = AIMessageChunk(content="", additional_kwargs={"reasoning_content": "They ask. "})
    blocks = [{"type": "reasoning", "reasoning": "So I answer.", "index": 0}]
    played = await Host(one_node(Chunked(calls=[[thinking, blocks, "Rest."]]))).play()

    assert [each.text for each in played.of(ReasoningDelta)] == ["They ask. ", "So I answer."]
    assert played.text == played.ending.content == "Rest."


async def test_reasoning_that_is_cut_within_a_character_is_joined():
    halves = [
        AIMessageChunk(content="", additional_kwargs={"reasoning_content": each})
        for each in ("sun \ud83c", "\udf26 or rain", "\ud83c")
    ]
    played = await Host(one_node(Chunked(calls=[[*halves, "Rest."]]))).play()

    thought = "".join(each.text for each in played.of(ReasoningDelta))
    assert thought.startswith("sun 🌦 or rain")
    thought.encode()
    assert played.text == "Rest."


@pytest.mark.parametrize("chunk_id", [None, "msg_1"])
async def test_the_trailing_chunk_opens_no_second_message(chunk_id: str | None):
    model = Chunked(calls=[["Rest ", "well."]], chunk_id=chunk_id)

    played = await Host(one_node(model)).play()

    assert played.deltas == ["Rest ", "well."]
    assert not played.of(TextReplaced)
    assert played.ending.content == "Rest well."


async def test_a_character_that_is_cut_in_two_is_joined():
    text = "東京は雨 🌦️ naïve שלום ไทย 👩‍👩‍👧"
    units = text.encode("utf-16-le", "surrogatepass")
    pieces = [
        units[n : n + 2].decode("utf-16-le", "surrogatepass") for n in range(0, len(units), 2)
    ]
    played = await Host(one_node(Chunked(calls=[pieces]))).play()

    assert played.text == played.ending.content == text
    assert "\ufffd" not in "".join(played.deltas)


async def test_half_a_character_without_its_partner_is_one_replacement_mark():
    played = await Host(one_node(Chunked(calls=[["Rest \ud83c", " well", "\ud83c"]]))).play()

    assert played.text == played.ending.content == "Rest \ufffd well\ufffd"


async def test_line_separators_are_text_like_any_other():
    text = "alpha\u2028beta\u2029gamma\u0085delta\u000bepsilon\u001cend"
    played = await Host(one_node(Chunked(calls=[[text]]))).play()

    assert played.deltas == [text]
    assert played.ending.content == text


async def test_a_delta_of_300_kib_is_said_in_pieces():
    text = "word and wörd " * 22_000
    played = await Host(one_node(Chunked(calls=[[text]]))).play()

    assert max(map(len, played.deltas)) == 8192
    assert played.text == played.ending.content == text


async def test_what_a_node_says_itself_travels_in_order_with_the_nodes():
    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in ("Rest ", "", "well."):
            voice.say(each)
        emit(ToolStarted(tool_call_id="call_1", name="clock"))
        return {"messages": [AIMessage(content="Rest well.")]}

    manifest = Manifest(slug="graph", title="Graph", speaks=True)
    played = await Host(line(answer=answer), manifest).play()

    kinds = [type(each) for each in played.events[:4]]
    assert kinds == [NodeStarted, TextDelta, TextDelta, ToolStarted]
    assert played.text == "Rest well."


async def test_a_node_may_say_characters_cut_in_two():
    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in ("rain \ud83c", "\udf26", " and ", "\ud83c", "sun"):
            voice.say(each)
        return {"messages": [AIMessage(content="rain 🌦 and \ufffdsun")]}

    manifest = Manifest(slug="graph", title="Graph", speaks=True)
    played = await Host(line(answer=answer), manifest).play()

    assert "".join(played.deltas) == "rain 🌦 and \ufffdsun"
    assert not played.of(TextReplaced)


async def test_broken_characters_in_any_event_are_mended():
    async def answer(state: MessagesState) -> dict[str, Any]:
        emit(ToolStarted(tool_call_id="c", name="n", arguments={"q": "half \ud83c", "n": 1}))
        emit(TextReplaced(text="half \ud83c", reason="edited"))
        return {"messages": [AIMessage(content="half \ufffd")]}

    manifest = Manifest(slug="graph", title="Graph", speaks=True)
    played = await Host(line(answer=answer), manifest).play()

    assert played.of(ToolStarted)[0].arguments == {"q": "half \ufffd", "n": 1}
    assert played.text == "half \ufffd"


async def test_outside_a_run_nodes_stay_ordinary_functions():
    emit(TextDelta(text="unheard"))
    speaker().say("unheard")


async def test_a_graphs_own_custom_data_is_not_published():
    async def custom(state: MessagesState) -> dict[str, Any]:
        get_stream_writer()({"secret": "CANARY"})
        return {}

    played = await Host(line(custom=custom)).play()

    assert "CANARY" not in str(played.events)


class PydanticState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    finish_reason: str = ""


async def test_a_state_that_is_a_pydantic_model_ends_as_any_other():
    async def answer(state: PydanticState) -> dict[str, Any]:
        return {"messages": [AIMessage(content="We are closed.")], "finish_reason": "refused"}

    played = await Host(line(PydanticState, answer=answer)).play()

    assert played.ending.content == "We are closed."
    assert played.ending.finish_reason == "refused"


async def test_the_route_that_a_node_chose_is_told():
    class Routed(MessagesState):
        route: str

    async def guard(state: Routed) -> dict[str, Any]:
        return {"route": "ok"}

    played = await Host(line(Routed, guard=guard)).play()

    assert played.of(NodeCompleted)[0].route == "ok"


async def test_usage_is_summed_over_the_turns_own_calls():
    usage = AIMessageChunk(
        content="",
        usage_metadata={"input_tokens": 20, "output_tokens": 5, "total_tokens": 25},
        response_metadata={"finish_reason": "length", "model_name": "gpt-x"},
    )
    host = Host(one_node(Chunked(calls=[["Rest.", usage]])))
    await host.play()

    ending = (await host.play("Again")).ending

    assert ending.usage.total_tokens == 25
    assert ending.finish_reason == "length"
    assert (ending.cost.model, ending.cost.tokens_in) == ("gpt-x", 20)


async def test_the_turns_own_question_is_not_its_answer():
    async def silent(state: MessagesState) -> dict[str, Any]:
        return {}

    played = await Host(line(silent=silent)).play("My secret")

    assert played.ending.content == ""


async def test_closing_the_work_closes_the_models_stream_at_once():
    model = Chunked(calls=[["Rest ", ...]])
    host = Host(one_node(model))
    played = host.begin()
    began = time.monotonic()

    left = await host.until(played, TextDelta)

    assert time.monotonic() - began < 1
    assert (model.opened, model.closed) == (1, 1)
    assert left.content == "Rest "


async def test_fifty_users_at_once_keep_their_canaries_apart():
    class Echo(Chunked):
        def _script(self, messages: list[Any]) -> list[Any]:
            canary = str(messages[-1].text)
            return [0.001 * (len(canary) % 3), canary, " ", 0.001, canary]

    async def prepare(state: Speaking) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return {"spare": [str(state["messages"][-1].text)]}

    model = Echo()

    async def answer(state: Speaking) -> dict[str, Any]:
        assert state["spare"] == [str(state["messages"][-1].text)]
        return {"messages": [await model.ainvoke(state["messages"])]}

    host = Host(line(Speaking, prepare=prepare, answer=answer))
    canaries = [f"canary-{n}-{'x' * (n % 5)}!" for n in range(50)]

    turns = await asyncio.gather(
        *(host.play(each, conversation=f"conv_{n}") for n, each in enumerate(canaries))
    )

    for number, (canary, played) in enumerate(zip(canaries, turns, strict=True)):
        assert played.ending.content == f"{canary} {canary}"
        others = [each for each in canaries if each != canary]
        assert not any(each in str(played.events) for each in others)
        kept = [each.text for each in await host.messages(f"conv_{number}")]
        assert kept == [canary, f"{canary} {canary}"]


class ForeignContext(TypedDict):
    locale: str
    tenant: str


async def test_a_foreign_graph_gets_the_context_that_it_declares():
    seen: list[Any] = []

    async def answer(state: MessagesState, runtime: Runtime[ForeignContext]) -> dict[str, Any]:
        seen.append(runtime.context)
        return {"messages": [AIMessage(content="Ok.")]}

    graph: StateGraph[Any, Any] = StateGraph(MessagesState, context_schema=ForeignContext)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")

    await Host(graph).play()

    assert seen == [{"locale": "en"}]


async def test_secrets_reach_nodes_and_no_checkpoint():
    seen: list[str] = []

    async def answer(state: MessagesState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
        seen.append(runtime.context.secrets["token"])
        return {"messages": [AIMessage(content="Ok.")]}

    host = Host(line(answer=answer))

    played = await host.play(secrets={"token": "CANARY"})

    assert seen == ["CANARY"]
    assert "CANARY" not in host.stored()
    assert "CANARY" not in repr(played.work)
    assert "CANARY" not in str(played.events)


async def test_forgetting_a_conversation_leaves_nothing_of_it():
    host = Host(one_node(Chunked(calls=[["Rest."]])))
    await host.play("CANARY question")
    await host.play("Other", conversation="conv_2")
    await host.agent.forget(host.begin().work.conversation_id)

    assert "CANARY" not in host.stored()
    assert [type(each) for each in await host.messages("conv_2")] == [HumanMessage, AIMessage]
