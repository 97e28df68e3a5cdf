"""What a chain of models does under an agent from a spec, and what is told of it."""

from pathlib import Path
from typing import Literal

import pytest

from tests.agents.guarded.stage import Shelf
from tests.agents.studio.stage import Said, Stage, shipped
from tests.graph.stage import Played
from tests.models.scripted import Scripted
from turnwire.errors import UpstreamUnavailable
from turnwire.events import ModelCalled, NodeCompleted, NodeStarted, TextReplaced
from turnwire.models.attempt import Upstream
from turnwire.models.calls import Terms
from turnwire.models.gateway import Gateway
from turnwire.probe import NOTES

pytestmark = pytest.mark.anyio

TEXTS = ("The server listens on port 8000 unless the setting port says otherwise.",)
QUESTION = "Which port does the server listen on?"
GOOD = "The server listens on port 8000 [1]."
DOWN = ConnectionError("down")


def _chain(**models: Scripted) -> Gateway:
    upstreams = [
        Upstream(name=name, label=f"test:{name}", key=name, model=each)
        for name, each in models.items()
    ]
    return Gateway(upstreams=upstreams, terms=Terms(patience=0))


def _stage(
    directory: Path, answer: Gateway, *, after_text: Literal["fail", "retract"] = "fail"
) -> Stage:
    return Stage(
        directory,
        shipped("support-triage"),
        models={
            "answer": answer,
            "router": _chain(a=Scripted(script=[DOWN]), b=Said(replies=["question"])),
        },
        shelf=Shelf(texts=TEXTS),
        after_text=after_text,
    )


def _breaking() -> Scripted:
    return Scripted(script=["The server speaks on port nine thousand. And then", DOWN])


async def test_before_the_first_word_the_next_provider_answers_and_the_calls_are_told(
    tmp_path: Path,
):
    calls: list[ModelCalled] = []
    noting = NOTES.set(calls.append)
    try:
        stage = _stage(tmp_path, _chain(nim=Scripted(script=[DOWN]), claude=Said(replies=[GOOD])))
        played = await stage.say(QUESTION)
    finally:
        NOTES.reset(noting)
    assert played.text == GOOD
    assert played.of(TextReplaced) == []
    told = [(each.provider, each.outcome) for each in calls]
    assert told[:2] == [("test:a", "unavailable"), ("test:b", "ok")], "the router has a chain too"
    assert ("test:nim", "unavailable") in told
    assert told.index(("test:nim", "unavailable")) < told.index(("test:claude", "ok"))
    assert {"router", "executor"} <= {each.node for each in played.of(NodeCompleted)}
    assert "executor" in {each.node for each in played.of(NodeStarted)}


async def test_after_the_first_word_the_turn_fails_and_the_words_stay(tmp_path: Path):
    stage = _stage(tmp_path, _chain(nim=_breaking(), claude=Said(replies=[GOOD])))
    played = stage.begin(QUESTION)
    with pytest.raises(UpstreamUnavailable, match="in the middle of its answer"):
        await stage.run(played)
    assert played.of(TextReplaced) == []
    assert "nine thousand" in played.text


async def test_or_its_words_are_taken_back_and_the_next_provider_answers(tmp_path: Path):
    chain = _chain(nim=_breaking(), claude=Said(replies=[GOOD]))
    played = await _stage(tmp_path, chain, after_text="retract").say(QUESTION)
    assert [(each.text, each.reason) for each in played.of(TextReplaced)] == [("", "failover")]
    assert "nine thousand" in _shown_first(played)
    assert played.text == GOOD
    assert played.ending.content == GOOD


async def test_where_nobody_is_left_the_turn_fails_all_the_same(tmp_path: Path):
    chain = _chain(nim=_breaking(), claude=_breaking())
    stage = _stage(tmp_path, chain, after_text="retract")
    played = stage.begin(QUESTION)
    with pytest.raises(UpstreamUnavailable):
        await stage.run(played)
    assert [each.reason for each in played.of(TextReplaced)] == ["failover"]


async def test_a_router_that_breaks_off_is_not_heard_and_the_next_one_chooses(tmp_path: Path):
    stage = Stage(
        tmp_path,
        shipped("support-triage"),
        models={
            "answer": Said(replies=[GOOD]),
            "router": _chain(a=Scripted(script=["per", DOWN]), b=Said(replies=["question"])),
        },
        shelf=Shelf(texts=TEXTS),
    )
    assert (await stage.say(QUESTION)).text == GOOD


def _shown_first(played: Played) -> str:
    """Return what was said before anything was taken back."""
    at = next(at for at, each in enumerate(played.events) if isinstance(each, TextReplaced))
    return "".join(getattr(each, "text", "") for each in played.events[:at])
