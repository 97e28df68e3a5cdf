"""Sockets that break, leave, do not read or never stop: nothing is lost and nobody else notices."""

import asyncio
import json
import logging
import random
import socket as sockets
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from typer.testing import CliRunner
from wsproto import ConnectionType, WSConnection, events

from tests.server.graphs import CANARY, cleaned
from tests.server.raw import NEVER_READ
from tests.server.running import InThread, Process, eventually
from tests.server.sockets import Said, Socket, Staff, opened_with, words
from turnwire.cli.main import app as command_line
from turnwire.server.outbox import Outbox, TooSlow

WARM, MANY = 100, 500
FLOOD = 60_000


def _heard(socket: Socket, count: int) -> list[Said]:
    return [socket.next() for _ in range(count)]


def _reset(socket: Socket) -> None:
    """Leave as a process does that is killed: the connection is reset."""
    raw = socket.connection.socket
    raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


def test_a_socket_dropped_after_each_frame_hears_every_event_once(data_dir: Path):
    with InThread(data_dir) as server:
        staff = Staff(server)
        with staff.open() as socket:
            heard = socket.ask("slow 12 0.01")
        whole = heard
        for count in range(1, len(whole)):
            with staff.open(f"s{count}") as first:
                first.send(type="chat", message="slow 12 0.01")
                got = _heard(first, count)
                first.drop()
            with staff.open(f"s{count}") as second:
                second.send(type="resume", turn_id=got[0]["turn_id"], after=got[-1]["seq"])
                got += second.until("done")
            assert [each["type"] for each in got] == [each["type"] for each in whole]
            assert [each["seq"] for each in got] == [each["seq"] for each in whole]
            assert words(got) == words(whole)


def test_one_turn_dropped_again_and_again_is_heard_whole_and_at_last_on_a_new_server(
    data_dir: Path,
):
    with InThread(data_dir) as server:
        staff = Staff(server)
        got: list[Said] = []
        with staff.open() as socket:
            socket.send(type="chat", message="slow 30 0.02")
            got += _heard(socket, 1)
            _reset(socket)
        while got[-1]["type"] != "done":
            with staff.open() as socket:
                place = {"turn_id": got[0]["turn_id"], "after": got[-1]["seq"]}
                socket.send(type="resume", **place)
                got.append(socket.next())
                _reset(socket)
    numbers = [each["seq"] for each in got]
    assert numbers == sorted(set(numbers))
    assert words(got) == "".join(f"w{number} " for number in range(30))
    with InThread(data_dir) as server, Staff(server).open() as socket:
        socket.send(type="resume", turn_id=got[0]["turn_id"])
        assert socket.until("done") == got


def test_who_does_not_read_is_closed_with_1013_and_hears_the_rest_later(data_dir: Path):
    with InThread(data_dir, socket_patience_seconds=0.5) as server:
        staff = Staff(server)
        other = staff.open("other")
        with closing(sockets.socket()) as raw:
            raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, NEVER_READ)
            raw.settimeout(10)
            raw.connect(server.address)
            conn = WSConnection(ConnectionType.CLIENT)
            raw.sendall(conn.send(events.Request("test", f"/ws/s1?token={staff.token()}")))
            conn.receive_data(raw.recv(4096))
            asked = json.dumps({"type": "chat", "message": f"flood {FLOOD}"})
            list(conn.events())
            raw.sendall(conn.send(events.TextMessage(asked)))
            eventually(lambda: _open(server) == "2.0")
            eventually(lambda: _open(server) == "1.0")
            begun, code = _rest(raw, conn)
        assert code == 1013
        assert words(other.ask("say hi")) == "hi"
        with other:
            other.send(type="resume", turn_id=begun[0]["turn_id"], after=begun[-1]["seq"])
            rest = other.until("done", within=60)
        said = words([*begun, *rest]).split()
        assert said == [f"{number:09d}" for number in range(FLOOD)]


def _rest(raw: sockets.socket, conn: WSConnection) -> tuple[list[Said], int]:
    """Read what still comes; return the turn's frames, and the code of the close."""
    said: list[Said] = []
    text = ""
    while True:
        conn.receive_data(raw.recv(65_536))
        for each in conn.events():
            if isinstance(each, events.CloseConnection):
                return [frame for frame in said if "seq" in frame], each.code
            if isinstance(each, events.TextMessage):
                text += each.data
                if each.message_finished:
                    said.append(json.loads(text))
                    text = ""


def _open(server: InThread) -> str:
    """Return how many sockets are open, as the metrics say."""
    text = server.api("admin").http.get("/metrics").text
    return next(
        each.split()[1] for each in text.splitlines() if each.startswith("turnwire_sockets_open ")
    )


def test_a_graph_that_blocks_for_five_seconds_stops_nobodys_pongs(data_dir: Path):
    with InThread(data_dir) as server, ExitStack() as stack:
        staff = Staff(server)
        opened = [stack.enter_context(staff.open(f"s{number}")) for number in range(10)]
        blocked = opened.pop()
        blocked.send(type="chat", message="block 5")
        blocked.until("node_start")
        slowest, until = 0.0, time.monotonic() + 4.5
        while time.monotonic() < until:
            began = time.monotonic()
            for each in (*opened, blocked):
                each.send(type="ping")
                assert each.next() == {"type": "pong"}
            slowest = max(slowest, time.monotonic() - began)
            assert opened[0].connection.ping().wait(1.0)
        assert slowest < 1.0
        assert blocked.until("done")[-1]["finish_reason"] == "stop"


def test_five_hundred_drops_leave_tasks_and_memory_as_they_were(data_dir: Path):
    with Process(data_dir, disconnect_grace_seconds=0, staff_messages_per_minute=5000) as server:
        staff = Staff(server)
        users = [Staff(server, f"u{number}") for number in range(20)]
        tokens = [users[number % 20].token() for number in range(WARM + MANY)]

        def drops(number: int) -> None:
            socket = Socket(opened_with(server, f"s{number}", tokens[number]))
            socket.next()
            if number % 5:
                socket.send(type="chat", message="slow 500 0.01")
                if number % 3:
                    socket.until("token")
            (_reset if number % 2 else Socket.drop)(socket)

        with ThreadPoolExecutor(20) as pool:
            list(pool.map(drops, range(WARM)))
            before = eventually(lambda: _settled(staff))
            list(pool.map(drops, range(WARM, WARM + MANY)))
            after = eventually(lambda: _settled(staff))
        assert after[0] <= before[0] + 2
        assert after[1] <= before[1] + 40, "MiB"
        assert "Traceback" not in server.log
        assert "never retrieved" not in server.log


def _settled(staff: Staff) -> tuple[int, int] | None:
    """Return the number of tasks and the memory in MiB, once every dropped turn has ended."""
    text = staff.server.api("admin").http.get("/metrics").text
    gauges = dict(each.rsplit(" ", 1) for each in text.splitlines() if not each.startswith("#"))
    if float(gauges["turnwire_sockets_open"]) or float(gauges["turnwire_turns_running"]):
        return None
    with staff.open("count") as socket:
        tasks, _, memory = words(socket.ask("count")).split()
    return int(tasks), int(memory)


def test_who_leaves_ends_the_turn_after_the_grace_and_who_comes_back_in_time_keeps_it(
    data_dir: Path,
):
    with InThread(data_dir, disconnect_grace_seconds=0.5) as server:
        staff = Staff(server)
        with staff.open("left") as socket:
            socket.send(type="chat", message="slow 500 0.02")
            socket.until("token")
        eventually(lambda: "500 0.02" in cleaned)
        with staff.open("kept") as socket:
            socket.send(type="chat", message="slow 60 0.02")
            turn_id = socket.until("token")[0]["turn_id"]
        with staff.open("kept") as socket:
            socket.send(type="resume", turn_id=turn_id)
            assert socket.until("done")[-1]["finish_reason"] == "stop"


def test_a_deploy_lets_the_turn_end_and_closes_with_1012(data_dir: Path):
    with Process(data_dir, drain_seconds=10) as server:
        staff = Staff(server)
        with staff.open("busy") as busy, staff.open("idle") as idle:
            busy.send(type="chat", message="slow 40 0.03")
            busy.until("token")
            server.terminate()
            assert idle.closed(within=5) == 1012
            assert busy.until("done")[-1]["finish_reason"] == "stop"
            assert busy.closed(within=5) == 1012
        server.process.wait(15)
        assert "Traceback" not in server.log


def test_a_worker_that_is_killed_gives_its_turn_an_ending_elsewhere(data_dir: Path):
    with Process(data_dir) as server, Staff(server).open() as socket:
        socket.send(type="chat", message="slow 500 0.02")
        got = socket.until("token")
        server.kill()
    with Process(data_dir) as server, Staff(server).open() as socket:
        socket.send(type="resume", turn_id=got[0]["turn_id"], after=got[-1]["seq"])
        end = socket.until("error")[-1]
        assert (end["code"], end["turn_id"]) == ("stream_interrupted", got[0]["turn_id"])
        assert words(socket.ask("say hi")) == "hi"


def test_a_pause_survives_the_server_and_is_answered_on_the_next(data_dir: Path):
    with InThread(data_dir) as server, Staff(server).open() as socket:
        asked = socket.ask("ask")[-1]
    with InThread(data_dir) as server, Staff(server).open() as socket:
        socket.send(
            type="approval_response",
            approval_id=asked["approval_id"],
            approved=True,
            edited_params={"amount": 5},
        )
        assert words(socket.until("done")) == "You gave 5."


def test_fifty_users_hear_only_their_own(data_dir: Path):
    with InThread(data_dir) as server, ExitStack() as stack:
        chance = random.Random(6)
        users = [Staff(server, f"u{number}") for number in range(50)]
        opened = [stack.enter_context(each.open("same")) for each in users]

        def talks(number: int) -> None:
            for turn in range(8):
                canary = f"canary-{number}-{turn}"
                opened[number].send(type="chat", message=f"say {canary} " + "x " * 5)
                if chance.random() < 0.2:
                    opened[number].send(type="ping")
                said = opened[number].until("done")
                text = json.dumps(said)
                assert text.count("canary-") == text.count(canary) == 1

        with ThreadPoolExecutor(50) as pool:
            list(pool.map(talks, range(50)))


def test_a_key_that_is_revoked_closes_its_socket(data_dir: Path):
    with InThread(data_dir) as server:
        staff = Staff(server, None, "studio")
        with staff.open() as socket:
            arguments = ["keys", "revoke", staff.key.split("_")[2], "--data-dir", str(data_dir)]
            assert CliRunner().invoke(command_line, arguments).exit_code == 0
            assert socket.closed(within=8) == 1008


def test_what_fails_within_says_nothing_of_the_inside_and_ends_once(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    with InThread(data_dir) as server, Staff(server).open() as socket:
        for question in ("raise", "raise-nothing", "die", "unstorable"):
            said = socket.ask(question)
            assert said[-1]["type"] == "error", question
            assert said[-1]["message"]
            assert CANARY not in json.dumps(said)
            turn_id, last = said[0]["turn_id"], said[-1]
            socket.send(type="resume", turn_id=turn_id)
            assert socket.until("error", "done")[-1] == last
            socket.send(type="ping")
            assert socket.next() == {"type": "pong"}, "nothing comes after the end"
            assert last["error_id"] in str([each.__dict__ for each in caplog.records])


@pytest.mark.anyio
async def test_an_outbox_is_bounded_and_answers_go_ahead():
    outbox = Outbox(patience=0.05)
    await outbox.put(["t" * 300_000])
    outbox.answer("pong")
    assert list(await outbox.next()) == ["pong"]
    with pytest.raises(TooSlow):
        await outbox.put(["more"])
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(outbox.put(["more"]))
        await asyncio.sleep(0)
        assert len((await outbox.next())[0]) == 300_000
    assert list(await outbox.next()) == ["more"]
    with pytest.raises(TooSlow):  # noqa: PT012 - one of many
        for _ in range(1000):
            outbox.answer("pong")
