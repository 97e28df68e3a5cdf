"""A socket that is lost costs nothing: whoever comes back hears each event once."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.server.running import InThread
from tests.server.sockets import Said, Socket, Staff, words

LONG = "slow 12 0.004"


@pytest.fixture
def staff(shared: InThread) -> Staff:
    return Staff.somebody(shared)


def _together(before: list[Said], after: list[Said]) -> list[Said]:
    """Return what a client holds that lost its socket and went on; each event has come once."""
    numbers = [each["seq"] for each in (*before, *after)]
    assert all(one < next_ for one, next_ in pairwise(numbers)), numbers
    return [*before, *after]


def _frames(socket: Socket, count: int) -> list[Said]:
    return [socket.next() for _ in range(count)]


def test_a_socket_that_drops_after_any_frame_is_gone_on_with_after_it(shared: InThread):
    with Staff.somebody(shared).open() as socket:
        whole = socket.ask(LONG)
    shape = [each["type"] for each in whole if each["type"] != "token"]
    assert len(whole) > 10
    for count in range(1, len(whole)):
        staff = Staff.somebody(shared)
        with staff.open() as socket:
            socket.send(type="chat", message=LONG)
            before = _frames(socket, count)
            if before[-1]["type"] == "done":  # words that came together were fewer frames
                continue
            socket.drop()
        with staff.open() as socket:
            turn = before[0]["turn_id"]
            socket.send(type="resume", turn_id=turn, after=before[-1]["seq"])
            both = _together(before, socket.until("done"))
        assert words(both) == words(whole)
        assert [each["type"] for each in both if each["type"] != "token"] == shape


@pytest.mark.parametrize("session", ["s1", "another-device"])
def test_a_turn_is_heard_from_its_beginning_on_any_device(staff: Staff, session: str):
    with staff.open() as socket:
        said = socket.ask("say hello there")
    with staff.open(session) as socket:
        socket.send(type="resume", turn_id=said[0]["turn_id"])
        again = socket.until("done")
    assert words(again) == "hello there"
    assert [each["seq"] for each in again][-1] == said[-1]["seq"]


def test_several_sockets_of_a_session_hear_one_turn(staff: Staff):
    with staff.open() as one, staff.open() as other:
        one.send(type="chat", message=LONG)
        begun = one.next()
        other.send(type="resume", turn_id=begun["turn_id"])
        both = [begun, *one.until("done")], other.until("done")
        assert words(both[0]) == words(both[1])
        assert [each["seq"] for each in both[1]] == sorted({each["seq"] for each in both[1]})


def test_an_end_is_told_again_to_whoever_has_heard_all(staff: Staff):
    with staff.open() as socket:
        done = socket.ask("say hello")[-1]
        socket.send(type="resume", turn_id=done["turn_id"], after=done["seq"])
        assert socket.next() == done


def test_a_position_from_the_future_is_refused(staff: Staff):
    with staff.open() as socket:
        done = socket.ask("say hello")[-1]
        socket.send(type="resume", turn_id=done["turn_id"], after=done["seq"] + 1)
        said = socket.next()
        assert (said["type"], said["code"]) == ("error", "validation_error")


def test_a_message_that_is_sent_again_joins_the_turn_that_it_began(staff: Staff):
    with staff.open("twice") as socket:
        first = socket.ask("say hello", client_message_id="m1")
    with staff.open("twice") as socket:
        again = socket.ask("say hello", client_message_id="m1")
        assert {each["turn_id"] for each in again} == {first[0]["turn_id"]}
        assert words(again) == "hello"
        other = socket.ask("say something else", client_message_id="m1")
        assert other[-1]["type"] == "error"


def test_the_same_session_of_two_users_is_two_conversations(shared: InThread):
    heard: list[str] = []
    for name in ("ana", "bo"):
        with Staff(shared, name).open("shared-name") as socket:
            heard.append(socket.ask("say hi")[0]["conversation_id"])
    assert len(set(heard)) == 2


def test_a_session_goes_on_in_its_conversation_and_by_that_ones_id(staff: Staff):
    with staff.open("long") as socket:
        first = socket.ask("say hi")[0]["conversation_id"]
    with staff.open("long") as socket:
        assert socket.ask("say hi")[0]["conversation_id"] == first
    with staff.open(first) as socket:
        assert socket.ask("say hi")[0]["conversation_id"] == first
    listed = staff.http("GET", f"/conversations/{first}").json()
    assert len(listed["turns"]) == 3


def test_two_turns_of_one_socket_are_told_apart(staff: Staff):
    with staff.open("first") as socket:
        one = socket.ask("say one")[0]["turn_id"]
    with staff.open("second") as socket:
        socket.send(type="chat", message=LONG)
        begun = socket.next()
        socket.send(type="resume", turn_id=one)
        said = [begun, *_until(socket, lambda frames: _dones(frames) == 2)]
    turns = (one, begun["turn_id"])
    by_turn = {turn: [each for each in said if each["turn_id"] == turn] for turn in turns}
    assert words(by_turn[one]) == "one"
    assert words(by_turn[begun["turn_id"]]).startswith("w0 w1 ")
    for each in by_turn.values():
        _together(each, [])


def _dones(frames: list[Said]) -> int:
    return sum(each["type"] == "done" for each in frames)


def _until(socket: Socket, enough: Callable[[list[Said]], bool]) -> list[Said]:
    said: list[Said] = []
    while not enough(said):
        said.append(socket.next())
    return said
