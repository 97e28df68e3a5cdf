"""Members: a session says who acts, what is theirs is nobody else's, and nobody learns more."""

import hashlib
import re
from pathlib import Path

import httpx
import pytest

from tests.server.running import Api, InThread

HEADER = "X-Turnwire-Session"


def member(server: InThread, api: Api | None = None) -> Api:
    """Return a new member of an application."""
    by = api or server.api("chat")
    minted = by.http.post("/auth/session")
    assert minted.status_code == 200, minted.text
    caller = server.api(key=by.http.headers["authorization"].removeprefix("Bearer "))
    caller.http.headers[HEADER] = minted.json()["session_id"]
    return caller


def _error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_session_is_told_once_and_kept_as_a_hash(shared: InThread):
    answer = shared.api("chat").http.post("/auth/session")
    told = answer.json()
    assert set(told) == {"session_id", "expires_at", "signed_in"}
    assert told["signed_in"] is False
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", told["session_id"])
    assert answer.headers["cache-control"] == "no-store"
    kept = b"".join(each.read_bytes() for each in shared.data_dir.glob("turnwire.db*"))
    assert told["session_id"].encode() not in kept
    assert hashlib.sha256(told["session_id"].encode()).hexdigest().encode() in kept


def test_a_session_needs_a_key_that_may_chat(shared: InThread):
    assert _error(shared.nobody().http.post("/auth/session")) == (401, "invalid_api_key")
    assert _error(shared.api("review").http.post("/auth/session")) == (403, "forbidden")


def test_a_session_id_sent_as_the_key_is_an_invalid_key(shared: InThread):
    session = shared.api("chat").http.post("/auth/session").json()["session_id"]
    http = shared.nobody().http
    answer = http.get("/conversations", headers={"Authorization": f"Bearer {session}"})
    assert _error(answer) == (401, "invalid_api_key")


def test_a_members_conversation_is_neither_the_applications_nor_another_members(shared: InThread):
    mine, other, application = member(shared), member(shared), shared.api("chat")
    thread_id = mine.chat("say hi").json()["thread_id"]

    def listed(api: Api) -> list[str]:
        return [
            each["conversation_id"]
            for each in api.http.get("/conversations").json()["conversations"]
        ]

    assert listed(mine) == [thread_id]
    assert thread_id not in listed(other) + listed(application)
    assert mine.chat("say again", thread_id=thread_id).json()["content"] == "again"
    for stranger in (other, application):
        assert _error(stranger.chat("say x", thread_id=thread_id)) == (404, "not_found")


def test_a_member_goes_on_by_any_connection_that_presents_the_session(shared: InThread):
    mine = member(shared)
    thread_id = mine.chat("say hi").json()["thread_id"]
    again = shared.api("chat")
    again.http.headers[HEADER] = mine.http.headers[HEADER]
    assert again.http.get(f"/conversations/{thread_id}").json()["turn_count"] == 1


@pytest.mark.parametrize("session", ["", "x", "A" * 43, "ü" * 43, "A" * 5000])
def test_a_session_that_is_none_is_401_on_every_route(shared: InThread, session: str):
    http = shared.api("chat").http
    headers = [(HEADER.encode(), session.encode())]
    body = {"messages": [{"role": "user", "content": "say hi"}]}
    for answer in (
        http.post("/chat", json=body, headers=headers),
        http.post("/chat/resume", json={"thread_id": "a", "answers": {"b": 1}}, headers=headers),
        http.get("/conversations", headers=headers),
        http.get("/conversations/conv_1", headers=headers),
        http.delete("/conversations/conv_1", headers=headers),
        http.post("/conversations/conv_1/cancel", headers=headers),
        http.get("/conversations/conv_1/turns/trn_1", headers=headers),
        http.get("/conversations/conv_1/turns/trn_1/events", headers=headers),
        http.get("/usage", headers=headers),
    ):
        assert _error(answer) == (401, "session_required")


def test_two_sessions_in_one_request_are_none(shared: InThread):
    good = member(shared).http.headers[HEADER]
    headers = [(HEADER, good), (HEADER, good)]
    answer = shared.api("chat").http.get("/conversations", headers=headers)
    assert _error(answer) == (401, "session_required")


def test_another_application_that_presents_the_session_is_told_what_an_unknown_one_is(
    shared: InThread,
):
    stolen, other = member(shared).http.headers[HEADER], shared.stranger("chat", "review").http
    answers = [other.get("/usage", headers={HEADER: each}) for each in (stolen, "A" * 43)]
    bodies = [each.json()["error"] | {"request_id": ""} for each in answers]
    assert bodies[0] == bodies[1]
    assert {each.status_code for each in answers} == {401}


def _everywhere(api: Api, thread_id: str, turn_id: str, pause_id: str) -> list[tuple[str, bytes]]:
    """Return what every route says of a conversation: the status, and the bytes but for the ids."""
    http, at = api.http, f"/conversations/{thread_id}"
    asks = [
        ("POST", "/chat", {"messages": [{"role": "user", "content": "x"}], "thread_id": thread_id}),
        ("POST", "/chat/resume", {"thread_id": thread_id, "answers": {pause_id: {"amount": 1}}}),
        ("GET", at, None),
        ("DELETE", at, None),
        ("POST", f"{at}/cancel", None),
        ("GET", f"{at}/turns/{turn_id}", None),
        ("GET", f"{at}/turns/{turn_id}/events", None),
        ("GET", f"{at}/turns/{turn_id}/events?after=1", None),
    ]
    said: list[tuple[str, bytes]] = []
    for method, path, body in asks:
        for accept in ("application/json", "text/event-stream"):
            answer = http.request(method, path, json=body, headers={"Accept": accept})
            told = answer.content.replace(answer.headers["x-request-id"].encode(), b"")
            said.append((f"{answer.status_code} {answer.headers['content-type']}", told))
    return said


def test_unknown_and_foreign_are_the_same_bytes_on_every_route_and_change_nothing(
    shared: InThread,
):
    mine = member(shared)
    asked = mine.paused("ask")
    thread_id, turn_id = asked["thread_id"], asked["turn_id"]
    pause_id = asked["pauses"][0]["pause_id"]
    before = mine.http.get(f"/conversations/{thread_id}").content
    unknown = ("conv_unknown", "trn_unknown", "cnf_unknown")
    for stranger in (member(shared), shared.api("chat"), shared.stranger("chat")):
        foreign = _everywhere(stranger, thread_id, turn_id, pause_id)
        assert foreign == _everywhere(stranger, *unknown)
        assert {status[:3] for status, _ in foreign} == {"404", "403"}
    assert mine.http.get(f"/conversations/{thread_id}").content == before
    answers = {pause_id: {"amount": 3}}
    assert mine.resume(thread_id=thread_id, answers=answers).json()["content"] == "You gave 3."


def test_a_member_of_a_key_that_may_review_is_no_reviewer(shared: InThread):
    application = shared.api("chat", "review")
    mine, other = member(shared, application), member(shared, application)
    asked = mine.paused("review 600")
    thread_id, turn_id = asked["thread_id"], asked["turn_id"]
    decided = other.resume(thread_id=thread_id, decision="approve")
    assert _error(decided) == (403, "forbidden")
    assert other.http.get(other.events_url(thread_id, turn_id)).status_code == 404
    assert application.http.get(application.events_url(thread_id, turn_id)).status_code == 200
    done = application.resume(thread_id=thread_id, decision="approve")
    assert done.json()["content"] == "the draft"


def test_a_repeated_request_is_each_members_own(shared: InThread):
    headers = {"Idempotency-Key": "the same"}
    turns = {member(shared).chat("say hi", headers=headers).json()["turn_id"] for _ in range(2)}
    assert len(turns) == 2


def test_a_session_outlives_the_process(data_dir: Path):
    with InThread(data_dir) as server:
        mine = member(server)
        thread_id = mine.chat("say hi").json()["thread_id"]
        key, session = mine.http.headers["authorization"], mine.http.headers[HEADER]
    with InThread(data_dir) as server:
        again = server.nobody().http
        again.headers.update({"Authorization": key, HEADER: session})
        assert again.get(f"/conversations/{thread_id}").json()["turn_count"] == 1


def test_the_header_has_the_name_that_the_operator_gave_it(data_dir: Path):
    with InThread(data_dir, session_header="X-PlanCover-Session") as server:
        http = server.api("chat").http
        session = http.post("/auth/session").json()["session_id"]
        named = {"X-PlanCover-Session": session}
        body = {"messages": [{"role": "user", "content": "say hi"}]}
        assert http.post("/chat", json=body, headers=named).status_code == 200
        assert len(http.get("/conversations", headers=named).json()["conversations"]) == 1
        assert http.get("/conversations").json()["conversations"] == []
        other = {"X-Turnwire-Session": "not looked at"}
        assert http.get("/conversations", headers=other).status_code == 200
