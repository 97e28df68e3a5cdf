"""A memory is bounded in every way, and costs no turn when it is away."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore

from tests.graph.stage import Host, line
from turnwire.errors import StorageUnavailable
from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.nodes.memory.episodes import EpisodePolicy, EpisodicMemory
from turnwire.nodes.memory.own import StoredMemories
from turnwire.retrieval.encoder import EmbeddedEncoder

pytestmark = pytest.mark.anyio


class Away(InMemoryStore):
    """A store that can't be reached."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        raise StorageUnavailable("away")


async def _embed(texts: Sequence[str]) -> list[list[float]]:
    return EmbeddedEncoder().encode(texts).tolist()


def _store() -> InMemoryStore:
    return InMemoryStore(index={"dims": 512, "embed": _embed, "fields": ["text"]})


def _host(store: BaseStore | None, limits: EpisodePolicy) -> Host:
    memory = EpisodicMemory("agent", shipped_policy("docs"), limits=limits)

    async def answer(state: MessagesState) -> dict[str, Any]:
        question = str(state["messages"][-1].text)
        block = await memory.recall(question)
        memory.remember(question, f"Answer to: {question}")
        return {"messages": [AIMessage(block or "nothing")]}

    return Host(line(answer=answer).compile(store=store))


async def _say(host: Host, text: str, number: int) -> str:
    """Ask in a conversation of its own, of one user, and wait for what is left to be done."""
    async with asyncio.TaskGroup() as left:
        played = host.begin(text, conversation=f"conv_{number}")
        played.work = replace(played.work, principal="key:one", own=left.create_task)
        await host.run(played)
    return str((await host.messages(f"conv_{number}"))[-1].text)


async def test_the_oldest_episodes_go_when_there_are_too_many():
    store = _store()
    host = _host(store, EpisodePolicy(most=3))
    for number in range(5):
        await _say(host, f"question number {number}", number)
    kept = await StoredMemories(store).of("key:one")
    assert [each.content["question"] for each in kept] == [
        f"question number {number}" for number in (4, 3, 2)
    ]


async def test_a_block_stays_within_its_budget_and_an_entry_within_its_excerpt():
    limits = EpisodePolicy(budget=900, excerpt=100, floor=-1, found=10)
    host = _host(_store(), limits)
    for number in range(6):
        await _say(host, f"question {number} about the printer " + "very long " * 100, number)
    block = await _say(host, "the printer", 99)
    assert 200 < len(block) <= 900
    assert all(len(each) <= 110 for each in block.split("\n")[2:-1])


@pytest.mark.parametrize("store", [None, InMemoryStore()])
async def test_without_a_store_or_its_vectors_a_graph_runs_all_the_same(store: BaseStore | None):
    host = _host(store, EpisodePolicy())
    assert await _say(host, "hello there", 1) == "nothing"
    again = await _say(host, "hello there", 2)
    assert ("hello there" in again) == (store is not None)


async def test_a_memory_that_is_away_is_told_in_the_log_without_words(
    caplog: pytest.LogCaptureFixture,
):
    host = _host(Away(), EpisodePolicy())
    with caplog.at_level(logging.WARNING, "turnwire.memory"):
        assert await _say(host, "a secret question", 1) == "nothing"
    assert [each.getMessage() for each in caplog.records] == [
        "the memory is away; the turn goes on without",
        "a turn could not be remembered",
    ]


async def test_outside_a_turn_nothing_is_recalled_or_remembered():
    memory = EpisodicMemory("agent", shipped_policy("docs"))
    assert await memory.recall("anything") == ""
    memory.remember("a question", "an answer")
