"""A server that keeps nothing on disk but its keys promises the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.reading import text_of
from tests.server.running import InThread


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    directory = tmp_path_factory.mktemp("forgetful")
    with InThread(directory, store="memory", disconnect_grace_seconds=0.5) as server:
        yield server


def test_a_turn_its_replay_and_its_history_agree(forgetful: InThread):
    api = forgetful.api()
    with api.stream("slow 10 0.02") as reader:
        live = reader.rest()
    thread_id, turn_id = live[0].data["thread_id"], live[0].turn_id
    with api.events(thread_id, turn_id) as reader:
        assert reader.rest() == live
    with api.events(thread_id, turn_id, after=live[4].id) as reader:
        assert reader.rest() == live[5:]
    assert api.turn(thread_id, turn_id)["content"] == text_of(live)


def test_a_future_id_of_a_running_turn_is_refused_and_a_known_one_is_not(forgetful: InThread):
    api = forgetful.api()
    with api.stream("slow 50 0.05") as reader:
        first = reader.next()
        reader.until("token")
        url = api.events_url(first.data["thread_id"], first.turn_id)
        future = {"Last-Event-ID": f"{first.turn_id}.90000"}
        assert api.http.get(url, headers=future, timeout=3).status_code == 422
        with api.events(first.data["thread_id"], first.turn_id, after=first.id) as other:
            assert other.next().seq == 2
        api.http.post(f"/conversations/{first.data['thread_id']}/cancel")


def test_a_review_is_decided_once(forgetful: InThread):
    api = forgetful.api()
    paused = api.paused("review 60")
    assert paused["review"]["review_id"] in api.http.get("/reviews").text
    body = {"thread_id": paused["thread_id"], "decision": "approve"}
    assert api.resume(**body).json()["content"] == "the draft"
    assert api.resume(**body).status_code == 409


def test_repeats_are_one_turn_and_foreign_threads_unknown(forgetful: InThread):
    api, stranger = forgetful.api(), forgetful.stranger()
    headers = {"Idempotency-Key": "k"}
    first = api.chat("say hi", headers=headers).json()
    assert api.chat("say hi", headers=headers).json() == first
    assert api.chat("say ho", headers=headers).status_code == 422
    url = f"/conversations/{first['thread_id']}"
    assert stranger.http.get(url).status_code == 404
    assert api.http.delete(url).status_code == 204
    assert api.http.get(url).status_code == 404


def test_the_disk_has_keys_and_no_words(forgetful: InThread):
    forgetful.api().chat("say unwritten-4711")
    files = [each for each in Path(forgetful.data_dir).iterdir() if each.is_file()]
    assert files
    assert not any(b"unwritten-4711" in each.read_bytes() for each in files)
