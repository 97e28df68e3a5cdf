"""``GET /metrics`` of a real server, compared with what its turns did."""

from pathlib import Path

import pytest

from tests.server.running import Api, InThread, eventually
from tests.telemetry.reading import Samples, samples, value


def read(api: Api) -> Samples:
    answer = api.http.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return samples(answer.text)


def test_what_is_counted_is_what_the_turns_did(data_dir: Path):
    with InThread(data_dir) as server:
        api = server.api()
        with api.stream("slow 3 0.05") as reader:
            reader.until("token")
            during = read(api)
            frames = reader.rest()
        api.chat("raise")
        api.chat("say hello")
        found = read(api)
    assert value(during, "turnwire_turns_running") == 1
    assert value(during, "turnwire_streams_open") == 1
    assert value(found, "turnwire_turns_running") == 0
    assert value(found, "turnwire_streams_open") == 0
    assert value(found, "turnwire_turns_total", agent="stage", outcome="stop") == 2
    assert value(found, "turnwire_turns_total", agent="stage", outcome="agent_error") == 1
    node = {"agent": "stage", "node": "perform"}
    assert value(found, "turnwire_node_seconds_count", **node, status="executed") == 2
    assert value(found, "turnwire_node_seconds_count", **node, status="failed") == 1
    took = next(each.data["duration_ms"] for each in frames if each.event == "node_completed")
    longest = value(found, "turnwire_node_seconds_sum", **node, status="executed")
    assert longest is not None
    assert longest >= took / 1000
    assert value(found, "turnwire_first_token_seconds_count", agent="stage") == 3
    assert value(found, "turnwire_turn_seconds_count", agent="stage") == 3


def test_pauses_are_counted_while_they_wait_also_by_the_next_process(data_dir: Path):
    with InThread(data_dir) as server:
        paused = server.api().paused("review 60")
    with InThread(data_dir) as server:
        api = server.api()
        waiting = {"agent": "stage", "kind": "review"}
        assert value(read(api), "turnwire_pauses_open", **waiting) == 1
        api.resume(thread_id=paused["thread_id"], decision="approve")
        found = read(api)
    assert value(found, "turnwire_pauses_open", **waiting) is None
    assert value(found, "turnwire_turns_total", agent="stage", outcome="stop") == 1
    assert value(found, "turnwire_turn_seconds_count", agent="stage") == 1


def test_a_question_that_expired_waits_no_longer(data_dir: Path):
    with InThread(data_dir) as server:
        api = server.api()
        api.paused("review 0.2")
        eventually(
            lambda: value(read(api), "turnwire_pauses_open", agent="stage", kind="review") is None
        )


def test_errors_are_counted_by_their_code(data_dir: Path):
    with InThread(data_dir) as server:
        server.nobody().chat("say hello")
        server.api().http.post("/chat", content=b"{")
        server.nobody().http.get("/what-a-member-said")
        found = read(server.nobody())
    assert value(found, "turnwire_request_errors_total", code="invalid_api_key") == 1
    assert value(found, "turnwire_request_errors_total", code="invalid_request") == 1
    assert value(found, "turnwire_request_errors_total", code="not_found") == 1


def test_two_servers_of_one_process_count_apart(data_dir: Path, tmp_path: Path):
    with InThread(data_dir) as one, InThread(tmp_path / "other") as other:
        one.api().chat("say hello")
        assert value(read(one.nobody()), "turnwire_turn_seconds_count", agent="stage") == 1
        assert value(read(other.nobody()), "turnwire_turn_seconds_count", agent="stage") is None


@pytest.fixture
def public(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> InThread:
    """A server that others can reach."""
    monkeypatch.setenv("TURNWIRE_ENVIRONMENT", "production")
    return InThread(data_dir)


def test_where_others_can_reach_the_server_metrics_need_the_scope_admin(public: InThread):
    with public as server:
        assert server.nobody().http.get("/metrics").status_code == 401
        assert server.api("chat", "review").http.get("/metrics").status_code == 403
        assert server.api("admin").http.get("/metrics").status_code == 200
