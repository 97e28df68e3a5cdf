"""Conversations are listed, read, stopped and erased by their owner only."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.running import InThread, eventually


def test_conversations_are_the_callers_own_newest_first(shared: InThread):
    api = shared.stranger()
    ids = [api.chat(f"say {n}").json()["thread_id"] for n in range(3)]
    listed = api.http.get("/conversations").json()["conversations"]
    assert [each["conversation_id"] for each in listed] == ids[::-1]
    assert {each["turn_count"] for each in listed} == {1}


def test_conversations_are_listed_in_pages_and_one_that_is_used_comes_first_again(
    shared: InThread,
):
    api = shared.stranger("chat")
    threads = [api.chat("say hi").json()["thread_id"] for _ in range(5)]

    def page(**query: str | int) -> dict[str, Any]:
        return api.http.get("/conversations", params=query).raise_for_status().json()

    def ids(told: dict[str, Any]) -> list[str]:
        return [each["conversation_id"] for each in told["conversations"]]

    assert "next" not in page(limit=5)
    first = page(limit=2)
    api.chat("say again", thread_id=threads[0])
    second = page(limit=2, before=first["next"])
    assert ids(first) == [threads[4], threads[3]]
    assert (ids(second), "next" in second) == ([threads[2], threads[1]], False)
    assert ids(page(limit=1)) == [threads[0]]
    others = shared.stranger("chat").http.get("/conversations", params={"before": first["next"]})
    assert others.json() == {"conversations": []}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("limit", each) for each in ("0", "201", "-1", "1.5", "", "x", "\uff11", "9" * 5000)),
        *(("before", each) for each in ("", "1", ".conv_1", "1.", "-1.conv_1", "1.a b", "9" * 99)),
    ],
)
def test_a_page_that_is_none_is_422_and_says_which_part(shared: InThread, name: str, value: str):
    refused = shared.api().http.get("/conversations", params={name: value})
    assert refused.status_code == 422
    (detail,) = refused.json()["error"]["details"]
    assert detail["path"] == name
    assert detail["reason"].startswith("has to be")


def test_a_turn_is_told_with_question_answer_and_state(shared: InThread):
    api = shared.api()
    answer = api.chat("say hello").json()
    told = api.turn(answer["thread_id"], answer["turn_id"])
    assert told["question"] == "say hello"
    assert told["content"] == "hello"
    assert (told["status"], told["finish_reason"], told["partial"]) == ("completed", "stop", False)
    assert told["trace_id"] == answer["trace_id"]


def test_a_cancelled_turn_keeps_what_was_said_and_the_next_goes_on(shared: InThread):
    api = shared.api()
    with api.stream("slow 200 0.05") as reader:
        thread_id = reader.next().data["thread_id"]
        reader.until("token")
        stopped = api.http.post(f"/conversations/{thread_id}/cancel").json()
        frames = reader.rest()
    assert stopped["cancelled"] is True
    assert frames[-1].event == "turn_completed"
    assert frames[-1].data["finish_reason"] == "cancelled"
    assert stopped["turn"]["content"] == frames[-1].data["content"]
    assert stopped["turn"]["partial"] is True
    assert api.chat("say on", thread_id=thread_id).json()["content"] == "on"


def test_a_cancel_says_truthfully_that_there_was_nothing_to_stop(shared: InThread):
    api = shared.api()
    thread_id = api.chat("say hi").json()["thread_id"]
    assert api.http.post(f"/conversations/{thread_id}/cancel").json() == {"cancelled": False}


def test_a_paused_turn_can_be_cancelled_and_is_no_longer_answerable(shared: InThread):
    api = shared.api()
    paused = api.paused("review 60")
    stopped = api.http.post(f"/conversations/{paused['thread_id']}/cancel").json()
    assert stopped["cancelled"] is True
    assert api.resume(thread_id=paused["thread_id"], decision="approve").status_code == 403


def _rows_with(path: Path, *needles: str) -> list[str]:
    """Return the tables of a database in which one of the needles is still found."""
    found: list[str] = []
    with closing(sqlite3.connect(path)) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            for row in db.execute(f"SELECT * FROM {table}"):
                text = " ".join(
                    each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each)
                    for each in row
                )
                if any(needle in text for needle in needles):
                    found.append(table)
    return found


@pytest.mark.parametrize("question", ["say hi-4711", "ask", "review 60", "raise", "slow 3 0.01"])
def test_after_an_erasure_neither_database_knows_the_conversation(data_dir: Path, question: str):
    with InThread(data_dir) as server:
        api = server.api()
        with api.stream(question) as reader:
            last = reader.rest()[-1]
            thread_id = api.http.get("/conversations").json()["conversations"][0]["conversation_id"]
        assert _rows_with(data_dir / "turnwire.db", thread_id)
        erased = api.http.delete(f"/conversations/{thread_id}")
        assert (erased.status_code, erased.content) == (204, b"")
        assert api.http.get(f"/conversations/{thread_id}").status_code == 404
        assert api.http.get("/conversations").json() == {"conversations": []}
        assert "review_id" not in api.http.get("/reviews").text
    for database in ("turnwire.db", "checkpoints.db"):
        assert _rows_with(data_dir / database, thread_id, last.turn_id, "hi-4711") == []


def test_erasing_a_running_conversation_stops_it_first(data_dir: Path):
    with InThread(data_dir) as server:
        api = server.api()
        with api.stream("slow 200 0.05") as reader:
            first = reader.next()
            reader.until("token")
            assert api.http.delete(f"/conversations/{first.data['thread_id']}").status_code == 204
            assert reader.rest()[-1].data["finish_reason"] == "cancelled"
        eventually(lambda: api.http.get("/conversations").json() == {"conversations": []})
    for database in ("turnwire.db", "checkpoints.db"):
        assert _rows_with(data_dir / database, first.data["thread_id"], first.turn_id) == []


FORGED = ["1", "*", "a:b", "..%2Fx", "x" * 10_000, "conv_unknown", "%00", "conv_%C3%BC"]


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize(
    ("method", "route"),
    [
        ("GET", "/conversations/{}"),
        ("DELETE", "/conversations/{}"),
        ("POST", "/conversations/{}/cancel"),
        ("GET", "/conversations/{}/turns/trn_1"),
        ("GET", "/conversations/{}/turns/trn_1/events"),
    ],
)
def test_an_id_that_nobody_has_is_an_unknown_conversation(
    shared: InThread, method: str, route: str, forged: str
):
    refused = shared.api().http.request(method, route.format(forged))
    assert refused.status_code == 404
    assert refused.json()["error"]["code"] == "not_found"


def test_somebody_elses_conversation_is_as_unknown_as_one_that_never_was(shared: InThread):
    owner, stranger = shared.api("chat"), shared.stranger("chat")
    answer = owner.chat("say mine").json()
    thread_id, turn_id = answer["thread_id"], answer["turn_id"]
    before = owner.http.get(f"/conversations/{thread_id}").json()
    own = stranger.chat("say own").json()["thread_id"]

    def tell(conversation: str) -> list[tuple[int, str, str]]:
        base = f"/conversations/{conversation}"
        told = [
            stranger.http.get(base),
            stranger.http.get(f"{base}/turns/{turn_id}"),
            stranger.http.get(f"{base}/turns/{turn_id}/events"),
            stranger.http.post(f"{base}/cancel"),
            stranger.http.delete(base),
            stranger.chat("say stolen", thread_id=conversation),
        ]
        errors = [each.json()["error"] for each in told]
        return [
            (each.status_code, error["code"], error["message"])
            for each, error in zip(told, errors, strict=True)
        ]

    assert tell(thread_id) == tell("conv_0123456789abcdef01234567")
    assert {status for status, _, _ in tell(thread_id)} == {404}
    assert stranger.http.get(f"/conversations/{own}/turns/{turn_id}").status_code == 404
    assert stranger.http.get(f"/conversations/{own}/turns/{turn_id}/events").status_code == 404
    assert owner.http.get(f"/conversations/{thread_id}").json() == before
