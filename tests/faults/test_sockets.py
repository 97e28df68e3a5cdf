"""Sockets that break, leave, do not read or never stop: nothing is lost and nobody else notices."""

import asyncio
import json
import logging
import random
import socket as sockets
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.graphs import CANARY
from tests.server.running import InThread, Process
from tests.server.sockets import Said, Socket, Staff, words
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
