"""A turn that fails is told once, safely and at once, on the answer wire and on its replay."""

import time
from pathlib import Path

import pytest

from tests.server import graphs
from tests.server.answering import told_again
from tests.server.reading import Frame
from tests.server.running import InThread
from tests.wires.order import check_order
from turnwire.graph.saver import SqliteSaver

INSIDE = ("CANARY", "/srv/secret", "sk-canary", "Traceback", "site-packages", "graphs.py")


@pytest.mark.parametrize("question", ["raise", "raise-nothing", "die", "unstorable"])
def test_a_failure_is_one_safe_error_and_the_stream_closes(shared: InThread, question: str):
    api = shared.api("chat").be_member()
    with api.ask(f"{question} {graphs.CANARY}") as reader:
        frames: list[Frame] = []
        ended = 0.0
        while not frames or frames[-1].event != "error":
            frames.append(reader.next())
            ended = time.monotonic()
        assert reader.rest() == []
        assert time.monotonic() - ended < 1.0
        heard = reader.raw.decode()
    check_order(frames)
    error = frames[-1].data
    assert error["code"] in ("agent_error", "storage_unavailable", "upstream_unavailable")
    assert error["message"].strip()
    assert isinstance(error["retryable"], bool)
    assert error["error_id"].startswith("err_")
    assert [each.event for each in frames].count("error") == 1
    assert not any(each in heard for each in INSIDE)
    assert told_again(api, frames) == frames


def test_what_is_not_there_is_a_status_and_no_stream(shared: InThread):
    api = shared.api("chat").be_member()
    for conversation_id in ("conv_unknown", "1", "x" * 128):
        refused = api.http.post(
            "/chat/stream", json={"message": "say hi", "conversation_id": conversation_id}
        )
        assert refused.headers["content-type"] == "application/json"
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")


def test_a_checkpoint_store_that_is_gone_is_an_error_frame_and_the_next_turn_is_served(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    with InThread(data_dir) as server:
        api = server.api("chat").be_member()
        real = SqliteSaver.aput

        async def full(*_: object, **__: object) -> None:
            raise OSError("CANARY disk full")

        monkeypatch.setattr(SqliteSaver, "aput", full)
        with api.ask("say hi") as reader:
            frames = reader.rest()
            assert "CANARY" not in reader.raw.decode()
        assert frames[-1].event == "error"
        assert told_again(api, frames)[-1] == frames[-1]
        monkeypatch.setattr(SqliteSaver, "aput", real)
        with api.ask("say hi") as reader:
            assert reader.rest()[-1].data["finish_reason"] == "stop"
