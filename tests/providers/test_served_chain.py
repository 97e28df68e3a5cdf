"""A chain behind the shipped agent: what the member reads, and what is stored."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.providers.serving import HANG, Provider, delta
from tests.server.reading import text_of
from tests.server.running import InThread
from turnwire.cli.ingest import ingest_into
from turnwire.settings import read

QUESTION = "How many days of leave does everybody have in a year?"
ANSWER = "The demo provider answers everybody the same [1]."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEverybody has 31 days of leave a year.\n")
    ingest_into(read(data_dir=tmp_path / "data"), folder, "docs")
    return folder


def served(provider: Provider, docs: Path, *models: str, **settings: object) -> InThread:
    chain: list[dict[str, Any]] = [
        {"provider": "openai", "model": each, "base_url": provider.url}
        if each != "quoting"
        else {"provider": each}
        for each in models
    ]
    data_dir = docs.parent / "data"
    roles = {"answer": chain}
    return InThread(data_dir, None, docs=docs, hitl=False, roles=roles, **settings)


@pytest.mark.parametrize("fault", ["cut", "error", "no-end"])
def test_words_that_were_shown_are_kept_and_nobody_starts_over(
    provider: Provider, docs: Path, fault: str
):
    policy = docs.parent / "policy.yaml"
    shipped = (files("turnwire") / "policies" / "docs.yaml").read_text()
    assert "\nstream_policy: hold\n" in shipped
    policy.write_text(shipped.replace("\nstream_policy: hold\n", "\nstream_policy: flag\n"))
    with served(provider, docs, f"demo-{fault}", "demo", policy=str(policy)) as server:
        api = server.api()
        with api.stream(QUESTION) as reader:
            frames = reader.rest()
        told = api.turn(frames[0].data["thread_id"], frames[0].turn_id)
    assert (frames[-1].event, frames[-1].data["code"]) == ("error", "upstream_unavailable")
    assert text_of(frames).startswith("The ")
    assert text_of(frames) == told["content"] != ANSWER
    assert told["partial"] is True
    assert [each["model"] for each in provider.requests] == [f"demo-{fault}"]


def test_the_model_that_quotes_stands_in_when_every_provider_is_down(
    provider: Provider, docs: Path
):
    with served(provider, docs, "demo-unavailable", "quoting") as server:
        done = server.api().chat(QUESTION).json()
    assert "31 days of leave" in done["content"]
    assert done["cost"]["model"] == "quoting"


def test_a_turn_that_may_not_spend_what_it_needs_fails_before_a_call(
    provider: Provider, docs: Path
):
    with (
        served(provider, docs, "demo", turn_tokens=20) as server,
        server.api().stream(QUESTION) as reader,
    ):
        frames = reader.rest()
    assert frames[-1].data["code"] == "budget_exceeded"
    assert provider.requests == []


def test_the_receipt_has_every_attempt_and_the_evidence(provider: Provider, docs: Path):
    with served(provider, docs, "demo-unavailable", "demo", key_tokens=10_000) as server:
        api = server.api("chat")
        done = api.chat(QUESTION).json()
        receipt = api.turn(done["thread_id"], done["turn_id"])["receipt"]
        (window,) = api.http.get("/usage").json()["windows"]
    assert [(each["provider"], each["outcome"]) for each in receipt["attempts"]] == [
        ("openai:demo-unavailable", "unavailable"),
        ("openai:demo", "ok"),
    ]
    assert receipt["evidence"][0]["document_id"]
    assert receipt["evidence"][0]["digest"]
    assert {each["check"] for each in receipt["guardrails"]} >= {"input_validation"}
    assert receipt["usage"]["total_tokens"] == window["tokens"]["used"] > 0
    assert "leave" not in str(receipt["attempts"]) + str(receipt["guardrails"])


def test_a_client_that_stops_the_turn_half_way_is_charged_for_what_it_got(
    provider: Provider, docs: Path
):
    provider.steps = (delta("The demo provider says so. "), delta("And "), HANG)
    with served(provider, docs, "fake", key_tokens=10_000) as server:
        api = server.api("chat")
        with api.stream(QUESTION) as reader:
            begun = reader.next()
            reader.until("token")  # the first sentence, which was held until the second began
            (running,) = api.http.get("/usage").json()["windows"]
            api.http.post(f"/conversations/{begun.data['thread_id']}/cancel")
            assert reader.rest()[-1].data["finish_reason"] == "cancelled"
        told = api.turn(begun.data["thread_id"], begun.turn_id)
        (window,) = api.http.get("/usage").json()["windows"]
    assert running["tokens"]["used"] == 4000
    assert [each["outcome"] for each in told["receipt"]["attempts"]] == ["cancelled"]
    assert 0 < window["tokens"]["used"] == told["receipt"]["usage"]["total_tokens"] < 4000
