"""Questions, answers, tool arguments and error messages are in no log line, span or metric."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.running import Api, InThread, Process
from tests.telemetry.collector import Collector

WORD = "CANARY-7f3a-what-the-member-said"
INSIDE = ("CANARY", "/srv/secret", "sk-canary", "the draft")
"""What a member, a tool, an error and a reviewer said."""


@dataclass
class Told:
    """What a server in production told its operators."""

    log: str
    metrics: str
    spans: str
    names: set[str]
    turns: dict[str, str]
    """Each failed turn's id, and the request id that its client was given."""


def _speak(api: Api) -> dict[str, str]:
    failed: dict[str, str] = {}
    for question in (f"say {WORD}", f"raise {WORD}", f"die {WORD}", f"unstorable {WORD}"):
        answer = api.chat(question)
        if answer.status_code != 200:
            failed[answer.json()["error"]["turn_id"]] = answer.headers["x-request-id"]
    paused = api.paused("review 60")
    edited = {"decision": "edit", "edited_text": WORD}
    assert api.resume(thread_id=paused["thread_id"], **edited).json()["content"] == WORD
    assert api.http.get(f"/{WORD}").status_code == 404
    assert api.http.post("/chat", content=WORD).status_code == 400
    return failed


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with pytest.MonkeyPatch.context() as patch, Collector() as collector:
        patch.setenv("TURNWIRE_ENVIRONMENT", "production")
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        log, metrics, turns = "", "", {}
        for agent in ("stage", "tooled"):
            data_dir = tmp_path_factory.mktemp(agent)
            with Process(data_dir, agent, environment="production") as server:
                api = server.api("chat", "review", "admin")
                if agent == "stage":
                    turns = _speak(api)
                else:
                    assert WORD in api.chat(WORD).text
                    api.chat(f"fail {WORD}")
                metrics += api.http.get("/metrics").text
                server.terminate()
                server.process.wait(20)
            log += server.log
        spans = "".join(str(each) for each in collector.requests)
        yield Told(log, metrics, spans, {each.name for each in collector.spans}, turns)


@pytest.mark.parametrize("word", INSIDE)
def test_nobodys_words_are_in_what_operators_are_told(told: Told, word: str):
    assert word not in told.log
    assert word not in told.metrics
    assert word not in told.spans


def test_operators_are_told_all_the_same(told: Told):
    assert "turn failed: RuntimeError" in told.log
    assert "(withheld) graphs.py:" in told.log
    assert 'turnwire_turns_total{agent="stage",outcome="agent_error"}' in told.metrics
    assert 'turnwire_turns_total{agent="tooled",outcome="stop"}' in told.metrics
    assert {"chat script", "execute_tool look_up", "node tools"} <= told.names


def test_a_failed_turns_line_has_the_request_the_turn_and_the_trace(told: Told):
    lines = [json.loads(each) for each in told.log.splitlines() if each.startswith("{")]
    failed = {each["turn_id"]: each for each in lines if each["message"].startswith("turn failed")}
    assert told.turns
    for turn_id, request_id in told.turns.items():
        assert failed[turn_id]["request_id"] == request_id
        assert len(failed[turn_id]["trace_id"]) == 32


def test_words_are_in_spans_where_that_is_switched_on_and_private_details_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with InThread(tmp_path, "tooled", trace_content=True) as server:
            server.api().chat("kept me@example.org")
        spans = "".join(str(each) for each in collector.requests)
    assert "kept [EMAIL]" in spans
    assert "me@example.org" not in spans
