"""After whatever ended a turn, a strict provider takes the next one."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from tests.graph.models import Chunked, calling, require_order
from tests.graph.stage import Host, one_node
from turnwire.events import Event, NodeCompleted, NodeStarted, TextDelta, ToolCompleted, ToolStarted
from turnwire.graph.history import UNANSWERED, UNKNOWN_RESULT, repairs
from turnwire.ids import TurnId
from turnwire.work import Message, Unsettled

pytestmark = pytest.mark.anyio

TWO_CALLS = calling(("call_1", "quick", '{"n": 1}'), ("call_2", "slow", '{"n": 2}'))


@tool
async def quick(n: int) -> str:
    """Answer at once."""
    return f"quick {n}"


@tool
async def slow(n: int) -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return f"slow {n}"


@tool
async def broken(n: int) -> str:
    """Fail."""
    raise RuntimeError("CANARY")


def toolbox(*calls: list[Any]) -> tuple[Host, Chunked]:
    model = Chunked(calls=list(calls))
    graph = cast("Any", create_agent(model, [quick, slow, broken]))
    return Host(graph), model


async def test_a_tool_loop_is_told_as_pairs_and_answered():
    host, model = toolbox(
        [calling(("call_1", "quick", '{"n": 1}'), ("call_2", "quick", '{"n": 2}'))],
        ["It is ", "done."],
    )

    played = await host.play()

    started = {each.tool_call_id: each.arguments for each in played.of(ToolStarted)}
    assert started == {"call_1": {"n": 1}, "call_2": {"n": 2}}
    ended = {each.tool_call_id: (each.status, each.result) for each in played.of(ToolCompleted)}
    assert ended == {"call_1": ("ok", "quick 1"), "call_2": ("ok", "quick 2")}
    assert played.ending.content == "It is done."
    assert len(model.prompts) == 2


async def test_a_tool_that_fails_is_told_without_its_reason():
    host, _ = toolbox([calling(("call_1", "broken", '{"n": 1}'))], ["Sorry."])
    played = host.begin()
    with pytest.raises(RuntimeError):
        await host.run(played)

    [ended] = played.of(ToolCompleted)
    assert (ended.status, ended.error) == ("error", "the tool failed")
    assert "CANARY" not in str(played.events)


@pytest.mark.parametrize(
    ("kind", "count"),
    [(ToolCompleted, 1), (ToolStarted, 2), (ToolStarted, 1), (NodeCompleted, 1)],
    ids=["one tool done", "both started", "one started", "before the tools"],
)
async def test_a_turn_cancelled_among_its_tools_leaves_a_history_that_is_taken(
    kind: type[Event], count: int
):
    host, model = toolbox([TWO_CALLS], ["Fine."])
    left = await host.until(host.begin("Do both"), kind, count=count)

    played = await host.play("And now?", unsettled=[left])

    assert played.ending.content == "Fine."
    require_order(model.prompts[-1])
    prompt = model.prompts[-1]
    called = [
        call["id"] for each in prompt if isinstance(each, AIMessage) for call in each.tool_calls
    ]
    results = {each.tool_call_id: each.text for each in prompt if isinstance(each, ToolMessage)}
    assert sorted(results) == called
    # What is not in a checkpoint yet when the turn is cancelled never was in the thread.
    assert called == ([] if kind is NodeCompleted else ["call_1", "call_2"])
    assert not called or UNKNOWN_RESULT in results.values()


async def test_a_turn_cancelled_in_its_answer_after_the_tools_is_taken():
    host, model = toolbox([calling(("call_1", "quick", '{"n": 1}'))], ["It is ", ...], ["Fine."])
    left = await host.until(host.begin("Do it"), TextDelta)

    await host.play("And now?", unsettled=[left])

    said = [each.text for each in model.prompts[-1] if isinstance(each, AIMessage)]
    assert said == ["", "It is "]
    require_order(model.prompts[-1])


async def test_the_partial_answer_that_people_saw_is_in_the_history_and_marked():
    host = Host(one_node(Chunked(calls=[["Rest for ", ...], ["Fine."]])))
    left = await host.until(host.begin("How long?"), TextDelta)

    await host.play("And now?", unsettled=[left])

    messages = await host.messages()
    assert [(each.type, each.text) for each in messages] == [
        ("human", "How long?"),
        ("ai", "Rest for "),
        ("human", "And now?"),
        ("ai", "Fine."),
    ]
    assert messages[1].response_metadata == {"partial": True}


async def test_a_turn_cancelled_before_its_first_word_is_answered_by_a_note():
    host = Host(one_node(Chunked(calls=[["Fine."]])))
    left = await host.until(host.begin("How long?"), NodeStarted)

    await host.play("And now?", unsettled=[left])

    assert [each.text for each in await host.messages()] == [
        "How long?",
        UNANSWERED,
        "And now?",
        "Fine.",
    ]


async def test_several_turns_in_a_row_may_be_cancelled():
    model = Chunked(calls=[["one ", ...], ["two ", ...], ["three ", ...], ["Fine."]])
    host = Host(one_node(model))
    left: list[Unsettled] = []
    for number in range(3):
        played = host.begin(f"Question {number}", unsettled=left)
        left.append(await host.until(played, TextDelta))

    played = await host.play("And now?", unsettled=left)

    assert played.ending.content == "Fine."
    assert [(each.type, each.text) for each in await host.messages()] == [
        ("human", "Question 0"),
        ("ai", "one "),
        ("human", "Question 1"),
        ("ai", "two "),
        ("human", "Question 2"),
        ("ai", "three "),
        ("human", "And now?"),
        ("ai", "Fine."),
    ]


async def test_turns_that_never_reached_the_thread_are_told_in_order():
    host = Host(one_node(Chunked(calls=[["Fine."]])))
    lost = [
        Unsettled(
            turn_id=TurnId(f"trn_lost_{n}"),
            messages=(Message(role="user", content=f"Lost {n}"),),
            content=f"part {n}" if n else "",
        )
        for n in range(2)
    ]

    await host.play("And now?", unsettled=lost)

    assert [each.text for each in await host.messages()] == [
        "Lost 0",
        UNANSWERED,
        "Lost 1",
        "part 1",
        "And now?",
        "Fine.",
    ]


async def test_a_turn_cancelled_after_its_answer_is_kept_as_answered():
    stored = [
        HumanMessage("How long?", id="trn_1:0"),
        AIMessage("Rest for two days.", id="msg"),
    ]

    assert repairs(stored, [unsettled("trn_1", "How long?", "Rest for two days.")]) == []


async def test_a_repair_made_before_is_not_made_again():
    stored = [
        HumanMessage("One?", id="trn_1:0"),
        AIMessage("on", id="trn_1:partial"),
        HumanMessage("Two?", id="trn_2:0"),
    ]

    added = repairs(stored, [unsettled("trn_1", "One?", "on"), unsettled("trn_2", "Two?", "tw")])

    assert [(each.id, each.text) for each in added] == [("trn_2:partial", "tw")]


async def test_an_answer_that_was_kept_is_not_given_to_the_question_after_it():
    stored = [
        HumanMessage("One?", id="trn_1:0"),
        AIMessage("one", id="msg"),
        HumanMessage("Two?", id="trn_2:0"),
    ]

    added = repairs(stored, [unsettled("trn_1", "One?", "one"), unsettled("trn_2", "Two?", "tw")])

    assert [(each.id, each.text) for each in added] == [("trn_2:partial", "tw")]


def unsettled(turn_id: str, asked: str, content: str) -> Unsettled:
    messages = (Message(role="user", content=asked),)
    return Unsettled(turn_id=TurnId(turn_id), messages=messages, content=content)


@pytest.mark.parametrize("results", [0, 1, 2])
@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_whatever_is_stored_and_lost_the_order_is_one_that_providers_take(
    results: int, lost: int
):
    calls: list[Any] = [
        {"id": "call_1", "name": "quick", "args": {}, "type": "tool_call"},
        {"id": "call_2", "name": "slow", "args": {}, "type": "tool_call"},
    ]
    thread: list[BaseMessage] = [
        HumanMessage("Do both", id="trn_0:0"),
        AIMessage("", tool_calls=calls, id="msg"),
        *[ToolMessage("ok", tool_call_id=f"call_{n + 1}") for n in range(results)],
    ]
    turns = [unsettled(f"trn_{n}", "Do both", "part" if n else "") for n in range(lost + 1)]

    whole: Sequence[BaseMessage] = [*thread, *repairs(thread, turns), HumanMessage("And now?")]

    require_order(whole)
