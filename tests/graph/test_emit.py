"""Words take a short way past LangGraph's stream, and nothing is out of order."""

import asyncio
import random
import time
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState

from tests.graph.models import Chunked
from tests.graph.stage import Host, Played, line, one_node
from turnwire.events import NodeCompleted, NodeStarted, TextDelta, ToolCompleted, ToolStarted
from turnwire.graph.emit import LEAST, MOST, emit, speaker
from turnwire.graph.manifest import Manifest

pytestmark = pytest.mark.anyio

SPEAKING = Manifest(slug="graph", title="Graph", speaks=True)
SLOW = LEAST * 1.4


def _order(played: Played) -> list[str]:
    """Return what was said, words and tools alike, in the order of the turn."""
    said: list[str] = []
    for each in played.events:
        if isinstance(each, TextDelta):
            said.append(each.text)
        elif isinstance(each, ToolStarted):
            said.append(each.tool_call_id)
    return said


async def test_words_that_come_one_by_one_take_the_short_way():
    words = [f"{number} " for number in range(6)]

    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in words:
            await asyncio.sleep(SLOW)
            voice.say(each)
        return {"messages": [AIMessage(content="".join(words))]}

    played = await Host(line(answer=answer), SPEAKING).play()

    assert played.aloud == [[each] for each in words]
    assert played.deltas == words
    assert isinstance(played.events[0], NodeStarted)
    assert isinstance(played.events[-2], NodeCompleted)


async def test_words_of_a_slow_chat_model_take_the_short_way_too():
    words = [f"{number} " for number in range(6)]
    slowly = [piece for word in words for piece in (SLOW, word)]
    played = await Host(one_node(Chunked(calls=[slowly]))).play()

    assert played.aloud
    assert "".join(played.deltas) == played.ending.content == "".join(words)


async def test_words_that_come_together_travel_together():
    words: list[str] = []

    async def answer(state: MessagesState) -> dict[str, Any]:
        voice, ends = speaker(), time.monotonic() + 4 * MOST
        while time.monotonic() < ends:
            words.append(f"{len(words)} ")
            voice.say(words[-1])
            await asyncio.sleep(0)
        return {"messages": [AIMessage(content="".join(words))]}

    played = await Host(line(answer=answer), SPEAKING).play()

    assert len(words) > 100
    assert len(played.aloud) < 20, "they gather"
    assert played.deltas == words


async def test_words_that_gathered_are_said_when_their_node_ends():
    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        voice.say("Rest ")
        await asyncio.sleep(SLOW)
        voice.say("well ")
        voice.say("now.")
        return {"messages": [AIMessage(content="Rest well now.")]}

    played = await Host(line(answer=answer), SPEAKING).play()

    kinds = [type(each) for each in played.events[:5]]
    assert kinds == [NodeStarted, TextDelta, TextDelta, TextDelta, NodeCompleted]


async def test_words_that_gathered_are_said_when_their_node_raises():
    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        voice.say("Rest ")
        await asyncio.sleep(SLOW)
        voice.say("well ")
        voice.say("now.")
        raise RuntimeError

    host = Host(line(answer=answer), SPEAKING)
    played = host.begin()
    with pytest.raises(RuntimeError):
        await host.run(played)

    assert played.deltas == ["Rest ", "well ", "now."]


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_way_they_take_events_of_a_node_stay_in_order(seed: int):
    chance = random.Random(seed)
    said: list[str] = []

    async def answer(state: MessagesState) -> dict[str, Any]:
        voices = [speaker(), speaker()]
        for number in range(40):
            await asyncio.sleep(chance.choice((0, 0, SLOW)))
            match chance.choice(("word", "word", "word", "other voice", "event", "loose event")):
                case "word":
                    voices[0].say(f"{number} ")
                    said.append(f"{number} ")
                case "other voice":
                    voices[1].say(f"{number} ")
                    said.append(f"{number} ")
                case "event":
                    voices[0].emit(ToolStarted(tool_call_id=f"c{number}", name="clock"))
                    said.append(f"c{number}")
                case _:
                    emit(ToolStarted(tool_call_id=f"c{number}", name="clock"))
                    said.append(f"c{number}")
        return {"messages": [AIMessage(content="".join(e for e in said if " " in e))]}

    played = await Host(line(answer=answer), SPEAKING).play()

    assert _order(played) == said
    assert isinstance(played.events[0], NodeStarted)
    assert len(played.of(ToolCompleted)) == len(played.of(ToolStarted))


async def test_words_that_are_refused_go_the_long_way():
    words = [f"{number} " for number in range(4)]

    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in words:
            await asyncio.sleep(SLOW)
            voice.say(each)
        return {"messages": [AIMessage(content="".join(words))]}

    host = Host(line(answer=answer), SPEAKING)
    played = await host.run(host.begin(), hears=False)

    assert played.deltas == words


async def test_half_characters_never_take_the_short_way():
    halves = ("rain ", "\ud83c", "\udf26", " and ", "\ud83c", "sun")

    async def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in halves:
            await asyncio.sleep(SLOW)
            voice.say(each)
        return {"messages": [AIMessage(content="rain 🌦 and \ufffdsun")]}

    played = await Host(line(answer=answer), SPEAKING).play()

    assert played.text == played.ending.content == "rain 🌦 and \ufffdsun"
    assert all(each.isascii() for words in played.aloud for each in words)
    assert ["sun"] not in played.aloud, "the half before it is still held back"


async def test_a_node_in_a_thread_goes_the_long_way():
    def answer(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in ("Rest ", "well ", "now."):
            time.sleep(SLOW)
            voice.say(each)
        return {"messages": [AIMessage(content="Rest well now.")]}

    played = await Host(line(answer=answer), SPEAKING).play()

    assert not played.aloud
    assert played.text == "Rest well now."


async def test_two_nodes_that_speak_one_after_the_other_do_not_overtake():
    async def first(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in ("a ", "b "):
            await asyncio.sleep(SLOW)
            voice.say(each)
        return {"messages": []}

    async def second(state: MessagesState) -> dict[str, Any]:
        voice = speaker()
        for each in ("c ", "d "):
            await asyncio.sleep(SLOW)
            voice.say(each)
        return {"messages": [AIMessage(content="a b c d ")]}

    played = await Host(line(first=first, second=second), SPEAKING).play()

    kinds = [
        each.text if isinstance(each, TextDelta) else f"{each.type} {each.node}"
        for each in played.events[:-1]
        if isinstance(each, TextDelta | NodeStarted | NodeCompleted)
    ]
    assert kinds == [
        "node.started first",
        "a ",
        "b ",
        "node.completed first",
        "node.started second",
        "c ",
        "d ",
        "node.completed second",
    ]


async def test_two_turns_at_once_keep_their_words_apart():
    async def answer(state: MessagesState) -> dict[str, Any]:
        name = str(state["messages"][-1].content)
        voice = speaker()
        for number in range(5):
            await asyncio.sleep(SLOW)
            voice.say(f"{name}{number} ")
        return {"messages": [AIMessage(content=" ".join(f"{name}{n}" for n in range(5)) + " ")]}

    host = Host(line(answer=answer), SPEAKING)
    turns = await asyncio.gather(
        *(host.play(name, conversation=f"conv_{name}") for name in ("a", "b", "c"))
    )

    for name, played in zip("abc", turns, strict=True):
        assert played.aloud
        assert played.deltas == [f"{name}{number} " for number in range(5)]
        assert all(one < next_ for one, next_ in pairwise(played.deltas))


async def test_words_from_within_a_subgraph_take_the_short_way():
    words = [f"{number} " for number in range(4)]
    slowly = [piece for word in words for piece in (SLOW, word)]
    inner = one_node(Chunked(calls=[slowly])).compile()

    played = await Host(line(sub=inner)).play()

    assert played.aloud == [[each] for each in words]
    assert played.started == ["sub"]
    assert played.text == played.ending.content == "".join(words)


async def test_words_said_as_their_node_starts_follow_its_start():
    async def answer(state: MessagesState) -> dict[str, Any]:
        speaker().say("at once")
        return {"messages": [AIMessage(content="at once")]}

    played = await Host(line(answer=answer), SPEAKING).play()

    assert [type(each) for each in played.events[:2]] == [NodeStarted, TextDelta]
