"""Interrupts of any graph as pauses, and people's answers on their way back."""

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import UnknownInterruptError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, JsonValue

from tests.graph.stage import Host, Played, line
from turnwire.events import TurnCompleted, TurnPaused
from turnwire.graph.pause import ask, is_expired
from turnwire.graph.pauses import resume_map
from turnwire.graph.plain import to_json as plain
from turnwire.graph.serializer import NotStorable
from turnwire.ids import PauseId
from turnwire.wires.base import to_json

pytestmark = pytest.mark.anyio


class Answers(MessagesState):
    said: Annotated[list[str], operator.add]


def answer(state: Answers) -> dict[str, Any]:
    return {"messages": [AIMessage(content=",".join(sorted(state["said"])))]}


def branches(*names: str, acted: list[str] | None = None) -> Host:
    """A graph that asks in parallel branches, then tells the answers."""

    def branch(name: str) -> Any:  # noqa: ANN401 - a node
        def node(state: Answers) -> dict[str, Any]:
            said = interrupt({"branch": name})
            if acted is not None:
                acted.append(name)
            return {"said": [f"{name}={said}"]}

        return node

    graph: StateGraph[Any] = StateGraph(Answers)
    for name in names:
        graph.add_node(name, branch(name))
        graph.add_edge(START, name)
    graph.add_node("answer", answer)
    graph.add_edge(list(names), "answer")
    graph.add_edge("answer", END)
    return Host(graph)


def by_branch(played: Played) -> dict[str, PauseId]:
    named: dict[str, PauseId] = {}
    for each in played.pauses:
        assert isinstance(each.payload, dict)
        named[str(each.payload["branch"])] = each.pause_id
    return named


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")])
async def test_parallel_questions_are_answered_one_by_one_in_any_order(order: tuple[str, ...]):
    acted: list[str] = []
    host = branches("a", "b", "c", acted=acted)
    played = await host.play()
    ids = by_branch(played)
    assert len(set(ids.values())) == 3

    for number, name in enumerate(order, start=1):
        played = await host.answer(played, {ids[name]: name.upper()})
        if number < 3:
            assert by_branch(played) == {each: ids[each] for each in order[number:]}

    assert played.ending.content == "a=A,b=B,c=C"
    assert sorted(acted) == ["a", "b", "c"]


async def test_questions_answered_together_each_get_their_own_answer():
    host = branches("a", "b")
    played = await host.play()
    ids = by_branch(played)

    played = await host.answer(played, {ids["b"]: "B", ids["a"]: "A"})

    assert played.ending.content == "a=A,b=B"


async def test_two_questions_in_one_node_come_one_after_the_other():
    def node(state: Answers) -> dict[str, Any]:
        first, second = interrupt("first?"), interrupt("second?")
        return {"said": [f"{first}{second}"]}

    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_sequence([("node", node), ("answer", answer)])
    graph.add_edge(START, "node")
    host = Host(graph)
    played = await host.play()
    [first] = played.pauses

    played = await host.answer(played, {first.pause_id: "1"})
    [second] = played.pauses
    played = await host.answer(played, {second.pause_id: "2"})

    assert (first.payload, second.payload) == ("first?", "second?")
    assert first.pause_id != second.pause_id
    assert played.ending.content == "12"


async def test_an_answer_given_before_does_not_answer_the_next_question():
    def node(state: Answers) -> dict[str, Any]:
        return {"said": [interrupt("pay 1?"), interrupt("pay 1000?")]}

    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_sequence([("node", node), ("answer", answer)])
    graph.add_edge(START, "node")
    host = Host(graph)
    played = await host.play()
    [first] = played.pauses
    played = await host.answer(played, {first.pause_id: "yes"})

    with pytest.raises(UnknownInterruptError):
        await host.answer(played, {first.pause_id: "yes"})


async def test_a_question_inside_a_subgraph_is_asked_and_answered():
    inner: StateGraph[Any] = StateGraph(Answers)
    inner.add_node("inner", lambda state: {"said": [interrupt("deep?")]})
    inner.add_edge(START, "inner")
    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_node("outer", inner.compile())
    graph.add_node("answer", answer)
    graph.add_edge(START, "outer")
    graph.add_edge("outer", "answer")
    host = Host(graph)
    played = await host.play()
    [asked] = played.pauses

    played = await host.answer(played, {asked.pause_id: "yes"})

    assert played.ending.content == "yes"


async def test_a_question_of_ours_keeps_its_kind_and_expires():
    def node(state: Answers) -> dict[str, Any]:
        said = ask("review", {"draft": "Rest."}, response_schema={"type": "object"}, expires_in=60)
        return {"said": [said["decision"]]}

    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_sequence([("node", node), ("answer", answer)])
    graph.add_edge(START, "node")
    host = Host(graph)
    played = await host.play()
    [review] = played.pauses

    assert review.kind == "review"
    assert review.pause_id.startswith("rev_")
    assert review.payload == {"draft": "Rest."}
    assert review.response_schema == {"type": "object"}
    assert review.expires_ms == review.requested_ms + 60_000
    played = await host.answer(played, {review.pause_id: {"decision": "approve"}})
    assert played.ending.content == "approve"


async def test_a_typed_answer_is_shown_as_json_schema():
    class Choice(BaseModel):
        amount: int

    def node(state: Answers) -> dict[str, Any]:
        return {"said": [str(interrupt("How much?", response_schema=Choice).amount)]}

    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_sequence([("node", node), ("answer", answer)])
    graph.add_edge(START, "node")
    host = Host(graph)
    played = await host.play()
    [asked] = played.pauses

    assert asked.response_schema is not None
    assert asked.response_schema["required"] == ["amount"]
    played = await host.answer(played, {asked.pause_id: {"amount": 3}})
    assert played.ending.content == "3"


@dataclass
class Order:
    sum: float
    items: set[str]


class Custom:
    def __repr__(self) -> str:
        return "<secret>"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"n": float("nan"), "i": float("inf")}, {"n": None, "i": None}),
        ({"x"}, ["x"]),
        ((1, 2), [1, 2]),
        (b"\xff\x00", "_wA="),
        (Order(sum=1.5, items={"tea"}), {"sum": 1.5, "items": ["tea"]}),
        ({1: "one", None: "none"}, {"1": "one", "None": "none"}),
        ("half \ud83c", "half \ufffd"),
        (None, None),
        ([], []),
    ],
)
async def test_whatever_a_graph_asks_becomes_json(value: Any, shown: Any):  # noqa: ANN401
    def node(state: Answers) -> dict[str, Any]:
        return {"said": [interrupt(value)]}

    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_sequence([("node", node), ("answer", answer)])
    graph.add_edge(START, "node")

    [asked] = (await Host(graph).play()).pauses

    assert asked.payload == shown
    to_json(asked.model_dump(mode="json")).encode()


@pytest.mark.parametrize("value", [np.float64(0.93), np.int32(7), 10**30, Custom()])
async def test_what_no_checkpoint_can_hold_is_named_by_its_path(value: object):
    def node(state: Answers) -> dict[str, Any]:
        return {"said": [interrupt({"amount": [value]})]}

    graph: StateGraph[Any] = StateGraph(Answers)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    host = Host(graph)

    with pytest.raises(NotStorable, match=r"amount\[0\] \(\w+\)$") as raised:
        await host.play()
    assert "secret" not in str(raised.value)


async def test_an_object_that_json_cannot_say_is_named_and_not_shown():
    assert plain({"order": Custom(), "array": np.array([1, 2])}) in (
        {"order": "<Custom>", "array": "<ndarray>"},
        {"order": "<Custom>", "array": [1, 2]},
    )


async def test_a_new_question_drops_the_one_that_waited():
    host = branches("a")
    played = await host.play()
    assert isinstance(played.events[-1], TurnPaused)

    again = await host.play("Something else")

    assert by_branch(again).keys() == {"a"}
    assert by_branch(again) != by_branch(played)


async def test_what_waits_is_not_said_to_have_ended():
    host = branches("a", "b")
    played = await host.play()

    assert sorted(played.started) == ["a", "b"]
    assert played.completed == []
    again = await host.answer(played, {by_branch(played)["a"]: "A"})
    assert ("a", "executed") in again.completed
    assert ("b", "executed") not in again.completed


async def test_a_draft_in_the_state_is_shown_with_the_question():
    class Drafted(MessagesState):
        draft: str

    def write(state: Drafted) -> dict[str, Any]:
        return {"draft": "Rest \ud83c"}

    def review(state: Drafted) -> dict[str, Any]:
        ask("review", {})
        return {}

    graph: StateGraph[Any] = StateGraph(Drafted)
    graph.add_sequence([("write", write), ("review", review)])
    graph.add_edge(START, "write")
    last = (await Host(graph).play()).events[-1]

    assert isinstance(last, TurnPaused)
    assert last.draft == "Rest \ufffd"


async def test_answers_find_their_interrupt_by_its_own_id():
    assert resume_map({PauseId("rev_abc"): "yes", PauseId("pse_d_e"): 1}) == {
        "abc": "yes",
        "d_e": 1,
    }


async def test_the_same_question_has_the_same_id_after_a_restart():
    host = branches("a")
    played = await host.play()
    fresh = branches("a")
    fresh.agent._graph = fresh.agent._graph.copy({"checkpointer": host.saver})  # pyright: ignore[reportPrivateUsage]

    resumed = await fresh.answer(played, {by_branch(played)["a"]: "A"})

    assert isinstance(resumed.events[-1], TurnCompleted)


async def test_a_question_with_a_type_of_its_own_is_told_that_it_expired():
    class Amount(BaseModel):
        amount: int

    heard: list[object] = []

    def node(state: Answers) -> dict[str, Any]:
        heard.append(ask("input", {}, response_schema=Amount, expires_in=60))
        return {"said": [str(is_expired(heard[-1]))]}

    answers: list[tuple[JsonValue, str]] = [
        ({"decision": "expired"}, "True"),
        ({"amount": 5}, "False"),
    ]
    for given, expected in answers:
        graph: StateGraph[Any] = StateGraph(Answers)
        graph.add_sequence([("node", node), ("answer", answer)])
        graph.add_edge(START, "node")
        host = Host(graph)
        played = await host.play()
        [asked] = played.pauses
        assert asked.response_schema == Amount.model_json_schema()
        played = await host.answer(played, {asked.pause_id: given})
        assert played.ending.content == expected
    assert heard == [{"decision": "expired"}, Amount(amount=5)]


@pytest.mark.parametrize("given", [None, "expired", ["decision"], {"decision": "approve"}, {}])
def test_no_answer_of_a_person_reads_as_expired(given: object):
    assert not is_expired(given)


async def test_what_was_done_on_an_answer_is_stored_before_the_next_node_begins(
    monkeypatch: pytest.MonkeyPatch,
):
    found: list[list[str]] = []
    put = InMemorySaver.aput

    async def slow_put(self: InMemorySaver, *given: Any) -> Any:  # noqa: ANN401 - as it is
        await asyncio.sleep(0.05)  # how long such a disk takes
        return await put(self, *given)

    async def act(state: Answers) -> dict[str, Any]:
        return {"said": [f"done: {interrupt('May I?')}"]}

    async def tell(state: Answers) -> dict[str, Any]:
        stored = await host.saver.aget_tuple({"configurable": {"thread_id": "conv_1"}})
        assert stored is not None
        found.append(list(stored.checkpoint["channel_values"].get("said", [])))
        return answer(state)

    host = Host(line(Answers, act=act, tell=tell))
    monkeypatch.setattr(InMemorySaver, "aput", slow_put)
    played = await host.play()
    await host.answer(played, {played.pauses[0].pause_id: "yes"})
    assert found == [["done: yes"]]
