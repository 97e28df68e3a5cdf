"""Each failure row of the studio wire: what the user gets, and whether the socket stays open."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.graphs import CANARY
from tests.server.running import InThread, Process, eventually
from tests.server.sockets import Socket, Staff, words
from turnwire.server.messages import MAX_BYTES, MAX_WHOLE_BYTES


@pytest.fixture
def staff(shared: InThread) -> Staff:
    return Staff.somebody(shared)


@pytest.fixture
def socket(staff: Staff) -> Iterator[Socket]:
    with staff.open() as opened:
        yield opened


def still_answers(socket: Socket) -> bool:
    socket.send(type="ping")
    return socket.next() == {"type": "pong"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[]",
        "null",
        "1",
        "{",
        '{"type": "chat"}',
        '{"type": "chat", "message": ""}',
        '{"type": "chat", "message": " \\n"}',
        '{"type": "chat", "message": 1}',
        '{"type": "chat", "message": "a", "agent": 1}',
        '{"type": "chat", "message": "a", "agent": "../x"}',
        '{"type": "chat", "message": "a", "more": 1}',
        '{"type": "chat", "message": "\\ud800"}',
        '{"type": "chat", "message": NaN}',
        json.dumps({"type": "chat", "message": "x" * 200_001}),
        '{"type": "shout"}',
        '{"type": ["chat"]}',
        '{"message": "a"}',
        '{"type": "approval_response", "approval_id": "x"}',
        '{"type": "approval_response", "approval_id": "x", "approved": "yes"}',
        '{"type": "approval_response", "approval_id": 1, "approved": true}',
        '{"type": "resume", "turn_id": "x", "after": -1}',
        '{"type": "resume", "turn_id": "x", "after": "1"}',
        '{"type": "resume", "turn_id": "x", "after": 1e400}',
        '{"type": "resume"}',
        '{"type": "cancel"}',
        "[" * 100_000,
        json.dumps({"type": "ping", "pad": "x" * MAX_BYTES}),
    ],
    ids=lambda text: text[:50],
)
def test_what_is_no_message_is_told_so_and_the_socket_stays_open(socket: Socket, text: str):
    socket.connection.send(text)
    said = socket.next()
    assert (said["type"], said["code"], said["retryable"]) == ("error", "invalid_message", False)
    assert len(said["message"]) < 300
    assert still_answers(socket)


def test_a_binary_message_is_no_message(socket: Socket):
    socket.connection.send(b'{"type": "ping"}')
    assert socket.next()["code"] == "invalid_message"
    assert still_answers(socket)


def test_a_message_over_the_hard_limit_closes_with_1009(staff: Staff):
    with staff.open() as socket:
        socket.connection.send("x" * (MAX_WHOLE_BYTES + 1))
        assert socket.closed() == 1009


def test_an_agent_that_nobody_serves_is_not_found(socket: Socket):
    (said,) = socket.ask("say hello", agent="nobody", client_message_id="m1")
    assert (said["code"], said["request"], said["ref"]) == ("agent_not_found", "chat", "m1")
    assert still_answers(socket)
    assert words(socket.ask("say hello")) == "hello"


def test_a_model_that_dies_is_retryable_and_a_node_that_raises_is_not(socket: Socket):
    died = socket.ask("die")[-1]
    assert (died["type"], died["code"], died["retryable"]) == (
        "error",
        "upstream_unavailable",
        True,
    )
    raised = socket.ask("raise")[-1]
    assert (raised["type"], raised["code"]) == ("error", "agent_error")
    assert raised["error_id"].startswith("err_")
    assert CANARY not in str((died, raised))
    assert words(socket.ask("say hello")) == "hello"


def test_a_node_that_raises_touches_no_other_socket(shared: InThread):
    one, other = Staff(shared, "one"), Staff(shared, "other")
    with one.open() as failing, other.open() as working:
        working.send(type="chat", message="slow 20 0.02")
        working.until("token")
        assert failing.ask("raise")[-1]["code"] == "agent_error"
        assert words(working.until("done")).startswith("w")


def test_what_a_client_may_not_know_of_is_answered_as_what_is_not_there(shared: InThread):
    with Staff(shared, "owner").open() as socket:
        theirs = socket.ask("ask")
        turn, asked = theirs[0]["turn_id"], theirs[-1]["approval_id"]
        with Staff(shared, "stranger").open() as stranger:
            for known, unknown in ((turn, "trn_0"), (asked, "pse_0")):
                answers: list[dict[str, object]] = []
                for each in (known, unknown):
                    if known == turn:
                        stranger.send(type="resume", turn_id=each)
                        answers.append(stranger.next())
                        stranger.send(type="cancel", turn_id=each)
                        answers.append(stranger.next())
                    else:
                        stranger.send(type="approval_response", approval_id=each, approved=True)
                        answers.append(stranger.next())
                told = [{k: v for k, v in each.items() if k != "ref"} for each in answers]
                half = len(told) // 2
                assert told[:half] == told[half:]
        socket.send(
            type="approval_response",
            approval_id=asked,
            approved=True,
            edited_params={"amount": 5},
        )
        assert words(socket.until("done")) == "You gave 5."


def test_over_the_rate_a_message_is_refused_and_the_socket_stays_open(tmp_path: Path):
    with InThread(tmp_path, staff_messages_per_minute=2) as server:
        ana, bo = Staff(server, "ana"), Staff(server, "bo")
        with ana.open("s1") as first, ana.open("s2") as second, bo.open() as other:
            assert words(first.ask("say one")) == "one"
            assert words(second.ask("say two")) == "two"
            (said,) = first.ask("say three")
            assert (said["code"], said["retryable"]) == ("rate_limited", True)
            assert 50 < said["retry_after"] <= 60
            assert still_answers(first)
            assert words(other.ask("say four")) == "four"


def test_a_run_whose_client_left_is_stopped_after_its_grace(tmp_path: Path):
    with InThread(tmp_path, disconnect_grace_seconds=0.1) as server:
        staff = Staff(server)
        with staff.open() as socket:
            socket.send(type="chat", message="slow 1000 0.01")
            opened = socket.until("token")[0]
            socket.drop()
        path = f"/conversations/{opened['conversation_id']}/turns/{opened['turn_id']}"
        eventually(lambda: staff.http("GET", path).json()["status"] != "running")
        assert staff.http("GET", path).json()["finish_reason"] == "cancelled"


def test_a_question_waits_for_its_user_over_a_lost_socket_and_a_restart(tmp_path: Path):
    with InThread(tmp_path, disconnect_grace_seconds=0.1) as server:
        staff = Staff(server)
        with staff.open() as socket:
            asked = socket.ask("ask")[-1]
            socket.drop()
    with InThread(tmp_path) as server:
        staff = Staff(server)
        with staff.open() as socket:
            socket.send(type="resume", turn_id=asked["turn_id"])
            assert socket.until("approval_request")[-1]["approval_id"] == asked["approval_id"]
            answer = {"approval_id": asked["approval_id"], "edited_params": {"amount": 3}}
            socket.send(type="approval_response", approved=True, **answer)
            assert words(socket.until("done")) == "You gave 3."
            socket.send(type="approval_response", approved=True, **answer)
            assert socket.next()["code"] in ("already_decided", "resume_unavailable")


def test_an_answer_that_does_not_fit_its_question_leaves_it_open(socket: Socket):
    asked = socket.ask("ask")[-1]
    socket.send(
        type="approval_response",
        approval_id=asked["approval_id"],
        approved=True,
        edited_params={"amount": -1},
    )
    assert socket.next()["code"] == "validation_error"
    socket.send(
        type="approval_response",
        approval_id=asked["approval_id"],
        approved=True,
        edited_params={"amount": 4},
    )
    assert words(socket.until("done")) == "You gave 4."


def test_a_turn_is_stopped_by_its_user_and_says_so(socket: Socket):
    socket.send(type="chat", message="slow 1000 0.01")
    turn = socket.until("token")[0]["turn_id"]
    socket.send(type="cancel", turn_id=turn)
    done = socket.until("done")[-1]
    assert (done["turn_id"], done["finish_reason"]) == (turn, "cancelled")


def test_a_deploy_lets_the_turn_end_and_closes_with_1012(tmp_path: Path):
    with Process(tmp_path, drain_seconds=10) as server:
        staff = Staff(server)
        with staff.open() as busy, staff.open("s2") as idle:
            busy.send(type="chat", message="slow 50 0.02")
            busy.until("token")
            server.process.send_signal(signal.SIGTERM)
            assert busy.until("done")[-1]["finish_reason"] == "stop"
            assert (busy.closed(), idle.closed()) == (1012, 1012)


def test_a_reader_that_is_too_slow_is_closed_with_1013_and_misses_nothing(tmp_path: Path):
    with InThread(tmp_path, socket_patience_seconds=1, disconnect_grace_seconds=120) as server:
        staff = Staff(server)
        with staff.open(max_queue=1) as slow:
            slow.send(type="chat", message="flood 300000")
            turn = slow.next()["turn_id"]
            path = f"/conversations/{slow.connected['conversation_id']}/turns/{turn}"
            eventually(lambda: "turnwire_streams_open 0.0" in _metrics(server))
            assert slow.closed(60) == 1013
        eventually(lambda: "turnwire_turns_running 0.0" in _metrics(server), within=90)
    # A busy machine's reader may be too slow for half a second; it is not for ten.
    with InThread(tmp_path) as server:
        staff = Staff(server)
        with staff.open() as socket:
            socket.send(type="resume", turn_id=turn)
            said = socket.until("done", within=60)
            assert words(said) == staff.http("GET", path).json()["content"]
            assert len(words(said)) == 3_000_000


def _metrics(server: InThread) -> str:
    return server.api("admin").http.get("/metrics").text


def test_a_bug_of_ours_in_one_message_ends_neither_socket(
    shared: InThread, monkeypatch: pytest.MonkeyPatch
):
    from turnwire.server.studio_turns import StudioTurns  # noqa: PLC0415

    async def broken(*_: object) -> None:
        raise AttributeError(CANARY)

    with ExitStack() as stack:
        one = stack.enter_context(Staff(shared, "one").open())
        other = stack.enter_context(Staff(shared, "other").open())
        with monkeypatch.context() as patched:
            patched.setattr(StudioTurns, "find", broken)
            one.send(type="resume", turn_id="trn_1")
            said = one.next()
        assert said["code"] == "internal_error"
        assert CANARY not in str(said)
        assert still_answers(one)
        assert still_answers(other)


def test_pongs_come_while_another_users_graph_blocks(shared: InThread):
    with Staff(shared, "blocking").open() as blocking, Staff(shared, "other").open() as other:
        blocking.send(type="chat", message="block 5")
        blocking.until("node_start")
        waits: list[float] = []
        done = threading.Event()
        reader = threading.Thread(target=lambda: (blocking.until("done"), done.set()))
        reader.start()
        while not done.is_set():
            with_clock = threading.Timer(1, lambda: waits.append(1))
            with_clock.start()
            assert still_answers(other)
            with_clock.cancel()
            done.wait(0.05)
        reader.join()
        assert waits == []
