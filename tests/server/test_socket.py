"""A staff user's socket: what is said over it, and that each thing said is answered."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.running import InThread
from tests.server.sockets import Said, Socket, Staff, words
from turnwire.server.messages import MAX_BYTES, MAX_WHOLE_BYTES


@pytest.fixture
def staff(shared: InThread) -> Staff:
    return Staff(shared, new_user())


_USERS: Iterator[int] = iter(range(10_000))


def new_user() -> str:
    """Return a user whom no other test has, so that no allowance is shared."""
    return f"user{next(_USERS)}"


def _error(socket: Socket) -> Said:
    said = socket.next()
    assert said["type"] == "error"
    return said


def test_a_message_is_answered_with_its_nodes_its_words_and_its_end(staff: Staff):
    with staff.open() as socket:
        said = socket.ask("say hello there", client_message_id="m1")
    assert [each["type"] for each in said] == [
        "turn_started",
        "node_start",
        "token",
        "token",
        "node_complete",
        "node_complete",
        "done",
    ]
    assert said[0]["client_message_id"] == "m1"
    assert said[0]["conversation_id"] == socket.connected["conversation_id"]
    assert said[1]["node_id"] == said[2]["node_id"] == said[4]["node_id"] == "perform"
    assert (said[5]["node_id"], said[5]["status"]) == ("block", "skipped")
    assert words(said) == "hello there"
    assert said[-1]["finish_reason"] == "stop"
    assert {each["turn_id"] for each in said} == {said[0]["turn_id"]}
    numbers = [each["seq"] for each in said]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1


def test_a_session_goes_on_with_its_conversation_and_keeps_it_after_a_new_connection(staff: Staff):
    with staff.open("mine") as socket:
        assert socket.connected["session_id"] == "mine"
        assert socket.connected["user"] == f"staff:{staff.user}"
        socket.ask("say one")
    with staff.open("mine") as socket:
        socket.ask("say two")
    conversation = socket.connected["conversation_id"]
    turns = staff.http("GET", f"/conversations/{conversation}").json()["turns"]
    assert len(turns) == 2
    with staff.open(conversation) as socket:
        assert socket.connected["conversation_id"] == conversation


def test_one_session_id_of_two_users_is_two_conversations(shared: InThread):
    one, two = Staff(shared, new_user()), Staff(shared, new_user())
    with one.open("same") as first, two.open("same") as second:
        theirs = first.connected["conversation_id"]
        assert second.connected["conversation_id"] != theirs
        first.ask("say secret")
        assert words(second.ask("say hi")) == "hi"
    with two.open(theirs) as third:
        assert third.connected["conversation_id"] != theirs
    assert two.http("GET", f"/conversations/{theirs}").status_code == 404


def test_a_ping_is_answered_also_while_a_turn_runs(staff: Staff):
    with staff.open() as socket:
        socket.send(type="chat", message="silent 1")
        socket.until("node_start")
        socket.send(type="ping")
        assert socket.next(within=0.8) == {"type": "pong"}
        assert socket.until("done")[-1]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "null",
        "1",
        '"chat"',
        "{}",
        '{"type": "shout"}',
        '{"type": ["chat"]}',
        '{"type": "chat"}',
        '{"type": "chat", "message": ""}',
        '{"type": "chat", "message": 1}',
        '{"type": "chat", "message": "say hi", "surplus": 1}',
        '{"type": "chat", "message": "say hi", "agent": "a/../b"}',
        '{"type": "chat", "message": "\\ud800"}',
        '{"type": "chat", "message": NaN}',
        '{"type": "approval_response", "approval_id": "p1", "approved": "yes"}',
        '{"type": "approval_response", "approval_id": 1, "approved": true}',
        '{"type": "resume", "turn_id": "t1", "after": -1}',
        '{"type": "resume", "turn_id": "t1", "after": "1"}',
        '{"type": "resume", "turn_id": "t1", "after": true}',
        '{"type": "cancel"}',
        "[" * 100_000,
        '{"type": "chat", "message": "' + "x" * MAX_BYTES + '"}',
    ],
    ids=range(24),
)
def test_what_is_no_message_is_refused_and_the_socket_stays_open(staff: Staff, text: str):
    with staff.open() as socket:
        socket.connection.send(text)
        error = _error(socket)
        assert (error["code"], error["retryable"]) == ("invalid_message", False)
        assert "turn_id" not in error
        assert "xxx" not in json.dumps(error)
        assert words(socket.ask("say hi")) == "hi"


def test_a_binary_message_is_refused_and_the_socket_stays_open(staff: Staff):
    with staff.open() as socket:
        socket.connection.send(b'{"type": "ping"}')
        assert _error(socket)["code"] == "invalid_message"
        assert words(socket.ask("say hi")) == "hi"


def test_a_message_over_the_hard_limit_closes_with_1009(staff: Staff):
    with staff.open() as socket:
        socket.connection.send("x" * (3 * MAX_WHOLE_BYTES))
        assert socket.closed() == 1009
    with staff.open() as socket:
        assert words(socket.ask("say hi")) == "hi"


def test_an_unknown_agent_is_refused_and_the_socket_stays_open(staff: Staff):
    with staff.open() as socket:
        socket.send(type="chat", message="say hi", agent="nobody", client_message_id="m1")
        error = _error(socket)
        assert error["code"] == "agent_not_found"
        assert (error["request"], error["ref"]) == ("chat", "m1")
        assert words(socket.ask("say hi", agent="stage")) == "hi"


def test_a_node_that_raises_is_an_error_with_an_id_and_nobody_else_hears_of_it(
    shared: InThread, staff: Staff
):
    with staff.open() as socket, Staff(shared, new_user()).open() as other:
        other.send(type="chat", message="slow 20 0.02")
        other.until("token")
        said = socket.ask("raise")
        assert words(said) == "one two three "
        assert said[-1]["code"] == "agent_error"
        assert said[-1]["error_id"].startswith("err_")
        assert "CANARY" not in json.dumps(said)
        assert other.until("done")[-1]["finish_reason"] == "stop"
        assert words(socket.ask("say hi")) == "hi"


def test_a_provider_that_fails_is_an_error_that_may_pass(staff: Staff):
    with staff.open() as socket:
        said = socket.ask("die")
        assert (said[-1]["code"], said[-1]["retryable"]) == ("upstream_unavailable", True)
        assert "CANARY" not in json.dumps(said)
        assert words(socket.ask("say hi")) == "hi"


def test_over_thirty_messages_a_minute_are_refused_and_the_socket_stays_open(staff: Staff):
    with staff.open("one") as socket, staff.open("two") as other:
        for _ in range(15):
            assert socket.ask("say hi")[-1]["type"] == "done"
            assert other.ask("say hi")[-1]["type"] == "done"
        for each in (socket, other):
            said = each.ask("say hi")
            assert len(said) == 1
            assert (said[0]["code"], said[0]["retryable"]) == ("rate_limited", True)
            assert 0 < said[0]["retry_after"] <= 60
        socket.send(type="ping")
        assert socket.next() == {"type": "pong"}


def test_a_second_message_while_the_first_is_answered_is_refused(staff: Staff):
    with staff.open() as socket:
        socket.send(type="chat", message="slow 20 0.05")
        socket.until("token")
        socket.send(type="chat", message="say no", client_message_id="m2")
        said = socket.until("error")
        assert (said[-1]["code"], said[-1]["ref"]) == ("turn_in_progress", "m2")
        assert socket.until("done")[-1]["finish_reason"] == "stop"


def test_the_same_message_sent_again_joins_its_turn(staff: Staff):
    with staff.open() as first:
        first.send(type="chat", message="slow 10 0.05", client_message_id="m1")
        turn_id = first.until("token")[0]["turn_id"]
        first.drop()
    with staff.open() as second:
        said = second.ask("slow 10 0.05", client_message_id="m1")
    assert {each["turn_id"] for each in said} == {turn_id}
    assert said[0]["seq"] == 1
    assert len(words(said).split()) == 10


def test_cancelling_ends_the_turn_as_cancelled(staff: Staff):
    with staff.open() as socket:
        socket.send(type="chat", message="slow 200 0.05")
        turn_id = socket.until("token")[0]["turn_id"]
        socket.send(type="cancel", turn_id=turn_id)
        assert socket.until("done", within=5)[-1]["finish_reason"] == "cancelled"
        assert words(socket.ask("say hi")) == "hi"


def test_a_turn_is_cancelled_from_another_device(staff: Staff):
    with staff.open("one") as socket, staff.open("two") as other:
        socket.send(type="chat", message="slow 200 0.05")
        turn_id = socket.until("token")[0]["turn_id"]
        other.send(type="cancel", turn_id=turn_id)
        assert socket.until("done", within=5)[-1]["finish_reason"] == "cancelled"
        assert other.until("done", within=5)[-1]["turn_id"] == turn_id


def test_another_device_hears_a_turn_from_after_an_event_and_to_its_end(staff: Staff):
    with staff.open("one") as socket, staff.open("two") as other:
        socket.send(type="chat", message="slow 20 0.03")
        begun = socket.until("token")
        other.send(type="resume", turn_id=begun[0]["turn_id"], after=1)
        there = other.until("done")
        here = [*begun, *socket.until("done")]
    assert there == here[1:]


@pytest.mark.parametrize("after", [10**6, 10**11])
def test_an_event_of_the_future_is_refused(staff: Staff, after: int):
    with staff.open() as socket:
        turn_id = socket.ask("say hi")[0]["turn_id"]
        socket.send(type="resume", turn_id=turn_id, after=after)
        error = _error(socket)
        assert (error["code"], error["ref"]) == ("validation_error", turn_id)
        assert error["details"][0]["path"] == "after"


def test_nobody_hears_cancels_or_answers_what_is_anothers(shared: InThread, staff: Staff):
    mallory = Staff(shared, new_user())
    with staff.open() as socket, mallory.open() as other:
        asked = socket.ask("ask")[-1]
        unknown: list[Said] = []
        for turn_id, approval_id in ((asked["turn_id"], asked["approval_id"]), ("trn_0", "p_0")):
            other.send(type="resume", turn_id=turn_id)
            unknown.append(_error(other))
            other.send(type="cancel", turn_id=turn_id)
            unknown.append(_error(other))
            other.send(type="approval_response", approval_id=approval_id, approved=True)
            unknown.append(_error(other))
        texts = [{**each, "ref": ""} for each in unknown]
        assert texts[:3] == texts[3:]
        assert [each["code"] for each in texts[:3]] == [
            "not_found",
            "not_found",
            "resume_unavailable",
        ]
        socket.send(
            type="approval_response",
            approval_id=asked["approval_id"],
            approved=True,
            edited_params={"amount": 7},
        )
        assert words(socket.until("done")) == "You gave 7."


def test_a_question_is_answered_once_after_a_reconnect_and_only_in_its_shape(staff: Staff):
    with staff.open() as socket:
        asked = socket.ask("ask")[-1]
        assert asked["type"] == "approval_request"
        assert asked["kind"] == "input"
    with staff.open() as socket:
        socket.send(type="resume", turn_id=asked["turn_id"], after=asked["seq"])
        assert socket.next() == asked
        answer = {"type": "approval_response", "approval_id": asked["approval_id"]}
        socket.send(**answer, approved=True, edited_params={"amount": "much"})
        assert _error(socket)["code"] == "validation_error"
        socket.send(**answer, approved=True, edited_params={"amount": 3})
        said = socket.until("done")
        assert said[0]["type"] == "turn_started"
        assert said[0]["resumed"] is True
        assert words(said) == "You gave 3."
        socket.send(**answer, approved=True, edited_params={"amount": 4})
        assert _error(socket)["code"] in ("resume_unavailable", "already_decided")


def test_of_two_devices_that_answer_at_once_one_is_taken(staff: Staff):
    with staff.open() as one, staff.open() as two:
        asked = one.ask("ask")[-1]
        answer = {
            "type": "approval_response",
            "approval_id": asked["approval_id"],
            "approved": True,
        }
        one.send(**answer, edited_params={"amount": 1})
        two.send(**answer, edited_params={"amount": 2})
        ends = [each.until("done", "error")[-1] for each in (one, two)]
    assert sorted(each["type"] for each in ends) == ["done", "error"]
    refusal = next(each for each in ends if each["type"] == "error")
    assert refusal["code"] in ("resume_unavailable", "already_decided", "turn_in_progress")


def test_a_review_needs_the_scope_for_it(shared: InThread, staff: Staff):
    with staff.open() as socket:
        asked = socket.ask("review 60")[-1]
        assert (asked["kind"], asked["params"]["draft"]) == ("review", "the draft")
        answer = {"type": "approval_response", "approval_id": asked["approval_id"]}
        socket.send(**answer, approved=True)
        assert _error(socket)["code"] == "forbidden"
    reviewer = Staff(shared, None, "studio", "review")
    with reviewer.open() as socket:
        asked = socket.ask("review 60")[-1]
        answer = {"type": "approval_response", "approval_id": asked["approval_id"]}
        socket.send(**answer, approved=True, edited_params={"edited_text": "mine"})
        assert words(socket.until("done")) == "mine"


def test_questions_of_one_step_are_asked_apart_and_each_answer_reaches_its_own(data_dir: Path):
    with InThread(data_dir, agent="parallel") as server, Staff(server).open() as socket:
        first = socket.ask("go")[-1]
        second = socket.until("approval_request")[-1]
        asked = {each["params"]["branch"]: each["approval_id"] for each in (first, second)}
        assert sorted(asked) == ["left", "right"]
        assert len(set(asked.values())) == 2
        for branch, given in (("right", {"r": 1}), ("left", {"l": 1})):
            socket.send(
                type="approval_response",
                approval_id=asked[branch],
                approved=True,
                edited_params=given,
            )
            said = socket.until("approval_request", "done")
        assert words(said) == "left={'l': 1} right={'r': 1}"


def test_a_text_larger_than_any_frame_comes_in_parts(staff: Staff):
    with staff.open(max_size=64 * 1024) as socket:
        assert words(socket.ask("huge 300000")) == "x" * 300_000
