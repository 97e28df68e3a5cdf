"""The process is killed in mid-stream; the next one tells every client the truth."""

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.server.reading import Frame, text_of
from tests.server.running import InThread, Process


def test_after_a_kill_the_turn_is_failed_the_client_hears_so_and_the_conversation_goes_on(
    data_dir: Path, tmp_path: Path
):
    ledger = tmp_path / "ledger"
    with Process(data_dir) as server:
        key = server.key("chat", "review")
        api = server.api(key=key)
        review, act = api.paused("review 600"), api.paused(f"act {ledger}")
        heard: list[Frame] = []
        silent = api.stream("silent 60", headers={"Idempotency-Key": "k"})
        with silent as unheard, api.stream("slow 5000 0.001") as reader:
            asked = unheard.until("node_started")
            heard += [reader.next() for _ in range(200)]
            server.kill()
            with pytest.raises((httpx.HTTPError, AssertionError)):
                heard.extend(iter(reader.next, None))
    thread_id, turn_id = heard[0].data["thread_id"], heard[0].turn_id
    assert not any(each.event in ("turn_completed", "error") for each in heard)
    with InThread(data_dir) as server:
        api = server.api(key=key)
        told = api.turn(thread_id, turn_id)
        assert (told["status"], told["error_code"]) == ("failed", "stream_interrupted")
        assert told["partial"] is True
        assert text_of(heard).startswith(told["content"])
        with api.events(thread_id, turn_id) as again:
            whole = again.rest()
        assert [each.seq for each in whole] == list(range(1, len(whole) + 1))
        assert whole[-1].event == "error"
        assert whole[-1].data["code"] == "stream_interrupted"
        assert whole[-1].data["retryable"] is True
        last = whole[-1].seq
        for seen in (heard[0].seq, heard[100].seq, last - 1, last, last + 1, heard[-1].seq + 400):
            with api.events(thread_id, turn_id, after=f"{turn_id}.{seen}") as reader:
                assert reader.rest()[-1] == whole[-1], f"after {seen} of {last}"
        assert api.chat("say on", thread_id=thread_id).json()["content"] == "on"
        repeated = api.chat("silent 60", headers={"Idempotency-Key": "k"})
        assert repeated.status_code == 502, "the same key tells of the turn that it began"
        assert repeated.json()["error"]["code"] == "stream_interrupted"
        with api.stream("silent 60", headers={"Idempotency-Key": "k"}) as again:
            assert [each.turn_id for each in again.rest()][-1] == asked.turn_id
        _answers_once(server, key, review, {"decision": "approve"}, "the draft")
        answers = {act["pauses"][0]["pause_id"]: "yes"}
        _answers_once(server, key, act, {"answers": answers}, "done")
    assert ledger.read_text() == "yes\n"
    with closing(sqlite3.connect(data_dir / "turnwire.db")) as db:
        assert db.execute("SELECT count(*) FROM turns WHERE phase = 'running'").fetchone() == (0,)


def _answers_once(
    server: InThread, key: str, paused: dict[str, str], answer: dict[str, object], content: str
) -> None:
    api = server.api(key=key)
    done = api.resume(thread_id=paused["thread_id"], **answer).json()
    assert (done["turn_id"], done["content"]) == (paused["turn_id"], content)
    again = api.resume(thread_id=paused["thread_id"], **answer)
    assert again.status_code == 409


def test_after_a_kill_no_tokens_stay_held_and_what_was_told_is_charged(data_dir: Path):
    with Process(data_dir, key_tokens=10_000, held_tokens=8_000) as server:
        key = server.key("chat")
        api = server.api(key=key)
        api.chat("say one two three")
        (before,) = api.http.get("/usage").json()["windows"]
        with api.stream("slow 5000 0.001") as reader:
            reader.until("token")
            (running,) = api.http.get("/usage").json()["windows"]
            server.kill()
            with pytest.raises((httpx.HTTPError, AssertionError)):
                reader.rest()
    assert running["tokens"]["used"] == before["tokens"]["used"] + 8_000
    with InThread(data_dir, key_tokens=10_000, held_tokens=8_000) as server:
        (after,) = server.api(key=key).http.get("/usage").json()["windows"]
    assert after["tokens"] == before["tokens"]
    assert after["messages"]["used"] == 2
    with closing(sqlite3.connect(data_dir / "turnwire.db")) as db:
        assert db.execute("SELECT count(*) FROM meters").fetchone() == (0,)
