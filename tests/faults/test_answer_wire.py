"""The answer wire when callers are wrong, leave, come back and stop: what it says is true."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.choosing import check_history
from tests.providers.serving import HANG, Provider, answer, delta
from tests.server.answering import Members, asked, card, told_again
from tests.server.running import Api, InThread, eventually
from tests.wires.order import Screen, check_order

BODIES: dict[str, dict[str, str]] = {
    "/chat/stream": {"message": "plain"},
    "/chat/confirm": {"conversation_id": "c", "confirmation_id": "p", "decision": "approve"},
    "/chat/resume": {"conversation_id": "c"},
    "/auth/session": {},
}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("members")) as server:
        yield server


@pytest.fixture(scope="module")
def tooled(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    directory = tmp_path_factory.mktemp("tooled")
    agent = "tests.faults.tool_graph:tooling"
    with InThread(directory, agent, disconnect_grace_seconds=0.3) as server:
        yield server


def _code(answered: httpx.Response) -> tuple[int, str]:
    return answered.status_code, answered.json()["error"]["code"]


def _stop(api: Api, conversation_id: str) -> dict[str, Any]:
    return api.http.post(f"/conversations/{conversation_id}/cancel").raise_for_status().json()


# Who is not let in


@pytest.mark.parametrize("path", BODIES)
def test_a_session_as_the_bearer_and_a_live_key_on_a_test_server_are_401(
    members: Members, path: str
):
    session = members.api().http.headers["X-Turnwire-Session"]
    live = members.key("chat").replace("_test_", "_live_")
    for bearer in (session, live, live + session, "x" * 1_000):
        headers = {"Authorization": f"Bearer {bearer}", "X-Turnwire-Session": session}
        answered = members.nobody().http.post(path, json=BODIES[path], headers=headers)
        assert _code(answered) == (401, "invalid_api_key")
        assert answered.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", [each for each in BODIES if each.startswith("/chat")])
def test_a_session_of_any_bytes_is_401_and_never_500(members: Members, path: str):
    for session in (b"", b"\xff\xfe", "ключ".encode(), b"x" * 60_000, b"' OR 1=1 --"):
        headers = [(b"X-Turnwire-Session", session)]
        answered = members.keyed("chat").http.post(path, json=BODIES[path], headers=headers)
        assert _code(answered) == (401, "session_required")


# The first stage: the grace


def _leave_amid_tools(api: Api) -> tuple[str, str]:
    """Ask something whose tool takes a minute, and leave; return conversation and turn."""
    with api.ask("wait for it") as reader:
        opened = reader.next()
        reader.until("tool.completed")  # of the other tool
    return opened.data["conversation_id"], opened.turn_id


def test_after_the_grace_the_tools_are_left_and_the_next_history_is_whole(
    tooled: InThread, provider: Provider
):
    provider.reset()
    api = tooled.api("chat").be_member()
    conversation_id, turn_id = _leave_amid_tools(api)
    assert api.turn(conversation_id, turn_id)["status"] == "running", "the grace"
    eventually(lambda: api.turn(conversation_id, turn_id)["finish_reason"] == "cancelled", within=3)
    assert provider.requests == [], "no model for nobody"
    followed = asked(api, "again", conversation_id=conversation_id)
    assert Screen().take(followed).text == "hello"
    check_history(provider.requests[-1]["messages"])


def test_a_turn_stopped_in_its_answer_closes_the_providers_stream_and_keeps_its_words(
    tooled: InThread, provider: Provider
):
    provider.reset()
    provider.steps = [delta("Half an "), HANG]
    api = tooled.api("chat").be_member()
    with api.ask("go") as reader:
        opened = reader.next()
        reader.until("token.delta")
        assert provider.open == 1
        stopped = _stop(api, opened.data["conversation_id"])
        rest = reader.rest()
    assert rest[-1].data["finish_reason"] == "cancelled"
    eventually(lambda: provider.open == 0, within=1)
    assert provider.left == 1
    assert (stopped["cancelled"], stopped["turn"]["content"]) == (True, "Half an ")
    provider.steps = [answer("whole")]
    followed = asked(api, "again", conversation_id=opened.data["conversation_id"])
    assert Screen().take(followed).text == "whole"
    said = check_history(provider.requests[-1]["messages"])
    assert "Half an " in said


def test_who_comes_back_within_the_grace_hears_the_rest_of_the_answer(
    provider: Provider, tmp_path: Path
):
    provider.reset()
    provider.steps = [delta("one "), 0.8, answer("two")]
    agent = "tests.faults.tool_graph:tooling"
    with InThread(tmp_path / "data", agent, disconnect_grace_seconds=5) as server:
        api = server.api("chat").be_member()
        with api.ask("go") as reader:
            opened = reader.next()
            last = reader.until("token.delta")
        rest = told_again(api, [opened], after=last.id)
        assert rest[-1].data["finish_reason"] == "stop"
        whole = told_again(api, [opened])
    check_order(whole)
    assert Screen().take(whole).text == "one two"
    assert provider.left == 0


# The stop endpoint


def test_stopping_what_waits_says_so_and_nothing_can_be_confirmed_any_more(members: Members):
    api = members.api()
    frames = asked(api, "confirm")
    conversation_id = frames[0].data["conversation_id"]
    asks = card(frames, "action.confirmation_required")
    stopped = _stop(api, conversation_id)
    assert stopped["cancelled"] is True
    assert stopped["turn"]["finish_reason"] == "cancelled"
    body = {"confirmation_id": asks["confirmation_id"], "decision": "approve"}
    late = api.http.post("/chat/confirm", json={"conversation_id": conversation_id, **body})
    assert _code(late) == (403, "confirmation_unavailable")
    assert _stop(api, conversation_id) == {"cancelled": False}


def test_of_many_stops_at_once_none_says_what_is_not_so(members: Members):
    api = members.api()
    with api.ask("slow") as reader:
        opened = reader.next()
        reader.until("token.delta")
        conversation_id = opened.data["conversation_id"]
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(_stop, [api] * 8, [conversation_id] * 8))
        rest = reader.rest()
    assert [each.data["finish_reason"] for each in rest if each.event == "message.completed"] == [
        "cancelled"
    ]
    stopped = [each["turn"]["turn_id"] for each in told if each["cancelled"]]
    assert stopped
    assert set(stopped) == {opened.turn_id}
    assert all(each == {"cancelled": False} for each in told if not each["cancelled"])


def test_stopping_a_turn_that_has_just_ended_does_not_say_that_it_was_stopped(members: Members):
    api = members.api()
    for _ in range(20):
        with api.ask("plain") as reader:
            conversation_id = reader.next().data["conversation_id"]
            reader.until("token.delta")
            told = _stop(api, conversation_id)
            reason = reader.rest()[-1].data["finish_reason"]
        assert told["cancelled"] is (reason == "cancelled"), (told, reason)


def test_nobody_else_stops_a_turn(members: Members):
    api = members.api()
    with api.ask("slow") as reader:
        conversation_id = reader.next().data["conversation_id"]
        for other in (members.api(), members.keyed("chat"), members.stranger("chat")):
            refused = other.http.post(f"/conversations/{conversation_id}/cancel")
            assert _code(refused) == (404, "not_found")
        reader.until("token.delta")
        _stop(api, conversation_id)
