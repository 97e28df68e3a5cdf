"""The member agent chooses tools through the gateway, over the real client libraries."""

import asyncio
from pathlib import Path

import pytest

from tests.agents.member.stage import Stage, cited, searches_of
from tests.graph.stage import Played
from tests.providers.asking import TEXT, chain
from tests.providers.serving import Provider


def said(stage: Stage, question: str) -> Played:
    return asyncio.run(stage.say(question))


def test_calls_that_name_no_query_end_at_the_bound_and_documents_answer(
    provider: Provider, protocol: str, tmp_path: Path
):
    before = len(provider.requests)
    stage = Stage(
        tmp_path,
        executor=chain(provider, protocol, "demo-tool"),
        model=chain(provider, protocol, "demo"),
        model_name="demo",
    )
    played = said(stage, "What is a waiting period?")
    asked = [each["model"] for each in provider.requests[before:]]
    assert asked == ["demo-tool"] * stage.parts.limits.rounds + ["demo"]
    assert "search_knowledge" in str(provider.requests[before]["tools"])
    assert "request_callback" in str(provider.requests[before]["tools"])
    assert "tools" not in provider.requests[-1]
    assert played.text.startswith(TEXT.removesuffix("."))
    assert searches_of(played)[0].query == "What is a waiting period?"
    assert cited(played) == ["psg-1"]


@pytest.mark.parametrize("fault", ["unavailable", "cut-tool"])
def test_the_next_model_of_the_chain_chooses_where_the_first_fails(
    provider: Provider, protocol: str, tmp_path: Path, fault: str
):
    stage = Stage(
        tmp_path,
        executor=chain(provider, protocol, f"demo-{fault}", "demo"),
        model=chain(provider, protocol, "demo"),
        model_name="demo",
    )
    played = said(stage, "What is a waiting period?")
    assert played.ending.finish_reason in ("stop", "insufficient_evidence")
    assert cited(played) == ["psg-1"]
    assert played.text.count("demo provider") == 1
