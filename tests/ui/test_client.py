"""The TypeScript client in Node against a real server, and what it makes of cuts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server import member_graph
from tests.server.answering import Members
from tests.server.running import Api, Process
from tests.server.signing import SigningIn
from tests.sign_in.signing import KNOWN, UNKNOWN
from tests.ui.conftest import Node
from tests.ui.cutting import Cut, CuttingProxy

PLAIN = "Rest for two days."


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    data_dir = tmp_path_factory.mktemp("members")
    with Members(data_dir, heartbeat_seconds=0.2, session_seconds=600) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    member_graph.ledger.clear()


def options(api: Api, **more: object) -> dict[str, Any]:
    """Return the client's options for a caller, with a session if they have one."""
    key = api.http.headers["Authorization"].removeprefix("Bearer ")
    made = {"url": str(api.http.base_url), "key": key, **more}
    session = api.http.headers.get("X-Turnwire-Session")
    return made if session is None else {**made, "session": session}


def names(told: dict[str, Any]) -> list[str]:
    return [each["event"] for each in told["events"] if isinstance(each, dict)]


def said(told: dict[str, Any]) -> str:
    """Return the words of the events, which are those of the message if none was said twice."""
    return "".join(e["data"]["text"] for e in told["events"] if e["event"] == "token.delta")


def test_a_plain_answer_is_told_event_by_event(node: Node, members: Members):
    told = node("ask", turn="t", options=options(members.api()), message="plain")

    assert names(told) == ["message.started", *["token.delta"] * 3, "message.completed"]
    assert said(told) == told["message"]["text"] == PLAIN
    assert told["message"]["ending"]["kind"] == "completed"
    assert told["message"]["ending"]["reason"] == "stop"


def test_evidence_and_citations_are_shown(node: Node, members: Members):
    message = node("ask", turn="t", options=options(members.api()), message="searches")["message"]

    assert [each["title"] for each in message["documents"]] == ["Fever", "Fever — After"]
    assert [each["id"] for each in message["citations"]] == ["psg-1", "psg-2"]
    assert [(each["name"], each["status"]) for each in message["tools"]] == [("search", "ok")]


def test_a_conversation_goes_on_with_hints(node: Node, members: Members):
    caller = options(members.api())
    first = node("ask", turn="t", options=caller, message="plain")["message"]
    ask = {"conversationId": first["conversationId"], "hints": {"timezone": "America/Lima"}}
    second = node("ask", turn="t", options=caller, message="tools", ask=ask)["message"]

    assert second["conversationId"] == first["conversationId"]
    assert second["id"] != first["id"]
    assert member_graph.ledger[-1].startswith("America/Lima")


@pytest.mark.parametrize(
    ("decision", "status", "text", "done"),
    [
        ("approve", "ok", "They will call you.", 1),
        ("reject", "rejected", "Nobody will call you.", 0),
    ],
)
def test_a_confirmation_is_asked_for_answered_and_told(
    node: Node, members: Members, decision: str, status: str, text: str, done: int
):
    asked = node("ask", turn="t", options=options(members.api()), message="confirm")["message"]
    assert asked["ending"] == {
        "kind": "paused",
        "reason": "awaiting_confirmation",
        "questions": [],
    }
    (waiting,) = asked["confirmations"]
    assert "completed" not in waiting

    confirmation_id = waiting["asked"]["confirmation_id"]
    told = node("confirm", turn="t", id=confirmation_id, decision=decision, feedback="thanks")
    assert told["message"]["id"] == asked["id"]
    assert told["message"]["text"] == text
    (completed,) = [e["data"] for e in told["events"] if e["event"] == "action.completed"]
    assert (completed["status"], completed["decision"]) == (status, decision)
    assert told["message"]["ending"]["reason"] == "stop"
    assert member_graph.ledger.count("done call_2") == done
    assert "'feedback': 'thanks'" in member_graph.ledger[-1]

    again = node("confirm", turn="t", id=confirmation_id, decision=decision)
    assert again["thrown"]["code"] == "confirmation_unavailable"


def test_a_turn_goes_on_after_the_sign_in_and_only_then(node: Node, members: Members):
    asked = node("ask", turn="t", options=options(members.api()), message="sign-in")["message"]
    assert asked["ending"]["reason"] == "awaiting_sign_in"
    assert asked["signIn"]["resumable"] is True
    assert node("resume", turn="t")["thrown"]["code"] == "resume_unavailable"

    members.sign_ins.everybody = True
    try:
        resumed = node("resume", turn="t")["message"]
    finally:
        members.sign_ins.everybody = False
    assert resumed["text"] == "In general, two days. You have ten days. [2]"
    assert resumed["ending"]["kind"] == "completed"


@pytest.mark.parametrize("kind", ["input", "approval"])
def test_a_graphs_own_question_is_answered_and_the_turn_goes_on(
    node: Node, members: Members, kind: str
):
    asked = node("ask", turn="t", options=options(members.api()), message=kind)["message"]
    assert asked["ending"]["reason"] == f"awaiting_{kind}"
    (question,) = asked["ending"]["questions"]
    told = node("answer", turn="t", answers={question["pause_id"]: {"amount": [7, None]}})

    assert told["message"]["text"] == "Thank you."
    assert told["message"]["ending"] == {"kind": "completed", "reason": "stop"}
    assert "message.started" not in names(told)
    assert "{'amount': [7, None]}" in member_graph.ledger[-1]
    again = node("answer", turn="t", answers={question["pause_id"]: 1})
    assert again["thrown"]["code"] == "already_decided"


@pytest.mark.parametrize("after", [0, 20, 400, 620])
def test_an_answer_that_is_cut_anywhere_is_given_once(node: Node, members: Members, after: int):
    caller = options(members.api())
    with CuttingProxy(members.address) as proxy:
        asked = node("ask", turn="t", options={**caller, "url": proxy.url}, message="input")
        (question,) = asked["message"]["ending"]["questions"]
        proxy.cut(Cut(after))
        told = node("answer", turn="t", answers={question["pause_id"]: "ten"})
    assert proxy.done == 1
    assert told["message"]["text"] == "Thank you."
    assert len([each for each in member_graph.ledger if each.endswith("ten")]) == 1


def test_who_comes_back_to_a_waiting_turn_is_told_all_of_it_and_may_answer(
    node: Node, members: Members
):
    caller = options(members.api())
    asked = node("ask", turn="t", options=caller, message="confirm")["message"]
    known = {"conversationId": asked["conversationId"], "messageId": asked["id"]}
    back = node("attach", turn="other", options=caller, **known)["message"]
    assert back == asked

    confirmation_id = back["confirmations"][0]["asked"]["confirmation_id"]
    node("confirm", turn="other", id=confirmation_id, decision="approve")
    heard = node("go", turn="t")
    assert heard["message"]["text"] == "They will call you."
    assert "message.started" not in names(heard), "nothing that was heard is told again"


def test_a_refusal_is_thrown_with_all_that_was_said(node: Node, members: Members):
    ask = {"hints": {"locale": "../x"}}
    caller = options(members.api())
    thrown = node("ask", turn="t", options=caller, message="plain", ask=ask)["thrown"]

    assert (thrown["name"], thrown["status"], thrown["code"]) == (
        "Refused",
        422,
        "validation_error",
    )
    assert thrown["retryable"] is False
    assert thrown["details"]
    assert thrown["requestId"].startswith("req_")
    stranger = {**caller, "key": "tw_test_nobody_nothing"}
    thrown = node("ask", turn="t", options=stranger, message="plain")["thrown"]
    assert (thrown["status"], thrown["code"]) == (401, "invalid_api_key")


def test_over_an_allowance_the_client_is_told_when_it_ends(node: Node, tmp_path: Path):
    with Members(tmp_path, member_messages=1) as server:
        caller = options(server.api())
        node("ask", turn="t", options=caller, message="plain")
        thrown = node("ask", turn="t", options=caller, message="plain")["thrown"]
    assert (thrown["status"], thrown["code"]) == (429, "quota_exceeded")
    assert thrown["retryable"] is True
    assert 0 < thrown["retryAfter"] <= 86_400


def test_a_failed_turn_is_told_and_not_thrown(node: Node, members: Members):
    told = node("ask", turn="t", options=options(members.api()), message="raise")

    assert names(told)[-1] == "error"
    ending = told["message"]["ending"]
    assert (ending["kind"], ending["code"]) == ("failed", "agent_error")
    assert ending["errorId"]


def test_a_cancelled_turn_ends_as_such_and_keeps_its_words(node: Node, members: Members):
    caller = options(members.api())
    told = node("ask", turn="t", options=caller, message="slow", until="token.delta", then="cancel")

    assert True in told["events"], "there was something to cancel"
    assert told["message"]["ending"]["reason"] == "cancelled"
    assert told["message"]["text"].startswith("w0 ")


def test_who_leaves_the_loop_may_go_on_with_it(node: Node, members: Members):
    caller = options(members.api())
    left = node(
        "ask", turn="t", options=caller, message="tools", until="tool.started", then="leave"
    )
    assert names(left)[-1] == "tool.started"
    assert "ending" not in left["message"]

    rest = node("go", turn="t")
    assert rest["message"]["text"] == "They will call."
    assert [each["status"] for each in rest["message"]["tools"]] == ["ok"]


def test_an_aborted_turn_throws_the_signals_reason(node: Node, members: Members):
    caller = options(members.api())
    thrown = node(
        "ask", turn="t", options=caller, message="slow", until="token.delta", then="abort"
    )
    assert thrown["thrown"]["text"] == "enough"
    assert thrown["message"]["text"].startswith("w0 ")


def test_words_that_were_taken_back_are_forgotten(node: Node, members: Members):
    told = node("ask", turn="t", options=options(members.api()), message="replaced")

    assert "client.restarted" in names(told)
    assert "error" not in names(told)
    assert told["message"]["text"] == "No."
    assert told["message"]["ending"]["kind"] == "completed"


# Cuts. The head of an answer takes some 600 bytes, each word some 60.


@pytest.mark.parametrize("by", ["reset", "close"])
@pytest.mark.parametrize("after", [0, 20, 400, *range(560, 1100, 45)])
def test_a_turn_that_is_cut_anywhere_is_told_whole(
    node: Node, members: Members, after: int, by: str
):
    api = members.api()
    with CuttingProxy(members.address, Cut(after, by)) as proxy:
        told = node("ask", turn="t", options=options(api) | {"url": proxy.url}, message="searches")

    assert proxy.done == 1
    assert said(told) == told["message"]["text"] == "Two days [1], then easy [2]."
    assert [each["id"] for each in told["message"]["citations"]] == ["psg-1", "psg-2"]
    assert told["message"]["ending"]["kind"] == "completed"
    turns = api.http.get(f"/conversations/{told['message']['conversationId']}").json()["turns"]
    assert len(turns) == 1
    assert len(api.http.get("/conversations").json()["conversations"]) == 1, "asked once"


def test_a_turn_that_is_cut_again_and_again_goes_on_from_where_it_was(node: Node, members: Members):
    cuts = [Cut(each) for each in (700, 760, 0, 800, 900)]
    caller = options(members.api())
    with CuttingProxy(members.address, *cuts) as proxy:
        told = node("ask", turn="t", options={**caller, "url": proxy.url}, message="searches")
    assert proxy.done >= 3
    assert said(told) == "Two days [1], then easy [2]."
    positions = [
        int(found[1]) for each in proxy.requests if (found := re.search(r"trn_\w+\.(\d+)$", each))
    ]
    assert positions
    assert positions == sorted(positions)


def test_a_silent_stream_is_cut_and_attached_to_again(node: Node, members: Members):
    caller = options(members.api(), heartbeatSeconds=0.2)
    with CuttingProxy(members.address, Cut(800, "silence")) as proxy:
        told = node("ask", turn="t", options={**caller, "url": proxy.url}, message="searches")
    assert proxy.done == 1
    assert said(told) == "Two days [1], then easy [2]."


@pytest.mark.parametrize("after", [0, 20, 400, 620, 900])
def test_a_confirmation_that_is_cut_anywhere_is_given_once(
    node: Node, members: Members, after: int
):
    caller = options(members.api())
    asked = node("ask", turn="a", options=caller, message="confirm")["message"]
    known = {"conversationId": asked["conversationId"], "messageId": asked["id"]}
    with CuttingProxy(members.address) as proxy:
        node("attach", turn="t", options={**caller, "url": proxy.url}, **known)
        proxy.cut(Cut(after))
        told = node(
            "confirm",
            turn="t",
            id=asked["confirmations"][0]["asked"]["confirmation_id"],
            decision="approve",
        )
    assert proxy.done == 1
    assert told["message"]["text"] == "They will call you."
    assert told["message"]["ending"]["kind"] == "completed"
    assert member_graph.ledger.count("done call_2") == 1


def test_an_anonymous_turn_is_joined_by_its_question(node: Node, members: Members):
    for after in (0, 400, 650, 800, 1000):
        with CuttingProxy(members.address, Cut(after)) as proxy:
            caller = options(members.keyed("chat")) | {"url": proxy.url}
            told = node("ask", turn="t", options=caller, message="searches")
        assert proxy.done == 1
        assert said(told) == told["message"]["text"] == "Two days [1], then easy [2]."
        assert names(told).count("message.started") == 1


def test_a_server_that_is_not_there_is_given_up_with_the_cause(node: Node, members: Members):
    caller = {**options(members.api()), "url": "http://127.0.0.1:1", "attempts": 2}
    thrown = node("ask", turn="t", options=caller, message="plain")["thrown"]

    assert thrown["name"] == "Disconnected"
    assert "2 times" in thrown["text"]


def test_what_is_no_turnwire_is_named(node: Node, members: Members):
    caller = {**options(members.api()), "url": "nowhere"}
    thrown = node("ask", turn="t", options=caller, message="plain")["thrown"]
    assert thrown["text"] == 'The url "nowhere" is none; give one with its scheme.'


def test_a_turn_whose_server_was_killed_ends_as_interrupted(node: Node, tmp_path: Path):
    agent = "tests.server.member_graph:member"
    with Process(tmp_path, agent) as server:
        caller = options(server.api(key=server.key("chat")).be_member())
        left = node("ask", turn="t", options=caller, message="slow", until="token.delta")
        server.kill()
    port = server.url.rpartition(":")[2]
    with Process(tmp_path, agent, "--port", port):
        told = node("go", turn="t")
    assert left["message"]["text"]
    assert told["message"]["ending"]["code"] == "stream_interrupted"


def test_a_session_is_minted(node: Node, members: Members):
    minted = node("session", options=options(members.keyed("chat")))
    assert minted["signed_in"] is False
    assert minted["session_id"]


def test_a_member_signs_in_and_out(node: Node, tmp_path: Path):
    with SigningIn(tmp_path / "data") as server:
        given = options(server.api("chat"))

        def call(name: str, *typed: str) -> dict[str, Any]:
            return node("auth", options=given, call=name, given=typed)

        assert call("signed")["signed_in"] is False
        assert call("login", KNOWN) == {"expires_in": 300}
        code = server.letter(0)["code"]
        assert call("verify", UNKNOWN, code)["thrown"]["code"] == "invalid_code"
        signed = call("verify", KNOWN, code)
        assert signed["signed_in"] is True
        assert call("signed") == signed
        assert call("logout")["signed_in"] is False
