"""A staff user's socket: what is said over it, and that each thing said is answered."""

import pytest

from tests.server.running import InThread
from tests.server.sockets import Staff, words


@pytest.fixture
def staff(shared: InThread) -> Staff:
    return Staff.somebody(shared)


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


def test_a_ping_is_answered(staff: Staff):
    with staff.open() as socket:
        socket.send(type="ping")
        assert socket.next() == {"type": "pong"}
