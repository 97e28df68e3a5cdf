"""Over a socket: approvals that are given once, each to its own, and turns that are stopped."""

from pathlib import Path

import pytest

from tests.server.running import InThread
from tests.server.sockets import Said, Socket, Staff, words


@pytest.fixture
def staff(shared: InThread) -> Staff:
    return Staff.somebody(shared)


def _error(socket: Socket) -> Said:
    said = socket.next()
    assert said["type"] == "error"
    return said


def test_a_second_message_while_the_first_is_answered_is_refused(staff: Staff):
    with staff.open() as socket:
        socket.send(type="chat", message="slow 20 0.05")
        socket.until("token")
        socket.send(type="chat", message="say no", client_message_id="m2")
        said = socket.until("error")
        assert (said[-1]["code"], said[-1]["ref"]) == ("turn_in_progress", "m2")
        assert socket.until("done")[-1]["finish_reason"] == "stop"


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
