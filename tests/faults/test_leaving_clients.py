"""Clients go at every moment; nothing of them stays, and nobody works for them."""

import asyncio
import os
import random
import socket
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.server import graphs
from tests.server.raw import NEVER_READ, RawClient, SilenceCutter, Wire, request
from tests.server.reading import Frame
from tests.server.running import Api, InThread, Process, eventually
from turnwire.events import Envelope, unpack
from turnwire.ids import TurnId
from turnwire.storage.projection import ends_run


def test_a_client_that_leaves_while_it_sends_its_question_is_no_error(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    with InThread(data_dir) as server:
        whole = request(server.key("chat"), "say hi")
        for cut in (len(whole) - 1, len(whole) - 20, 30):
            with socket.create_connection(server.address, timeout=5) as raw:
                raw.sendall(whole[:cut])
        assert server.api("chat").http.get("/conversations").json() == {"conversations": []}
    assert "unexpected" not in caplog.text
    assert "Exception in ASGI" not in caplog.text


@pytest.mark.parametrize("leave", ["finish", "reset"])
def test_a_client_that_leaves_ends_its_turn_and_the_node_cleans_up(data_dir: Path, leave: str):
    graphs.cleaned.clear()
    with InThread(data_dir, disconnect_grace_seconds=0) as server:
        client = RawClient(server.address, server.key("chat"), "slow 500 0.02")
        client.read_until("w3 ")
        getattr(client, leave)()
        eventually(lambda: graphs.cleaned == ["500 0.02"], within=2)
        (turn,) = eventually(lambda: _turns(server.api("chat"), "completed"), within=2)
    assert (turn["finish_reason"], turn["partial"]) == ("cancelled", True)
    assert turn["content"].startswith("w0 w1 w2 w3 ")


def _turns(api: Api, status: str) -> list[dict[str, Any]]:
    ((thread),) = api.http.get("/conversations").json()["conversations"]
    turns = api.http.get(f"/conversations/{thread['conversation_id']}").json()["turns"]
    return [each for each in turns if each["status"] == status]


def test_a_client_that_leaves_a_paused_turn_leaves_it_waiting(data_dir: Path):
    with InThread(data_dir, disconnect_grace_seconds=0) as server:
        client = RawClient(server.address, server.key("chat", "review"), "review 60")
        client.read_until("event: paused")
        client.reset()
        api = server.api()
        (review,) = api.http.get("/reviews").json()["reviews"]
        done = api.resume(thread_id=review["thread_id"], decision="approve").json()
        assert done["content"] == "the draft"


def test_a_client_that_leaves_after_approving_does_not_undo_what_it_approved(
    data_dir: Path, tmp_path: Path
):
    with InThread(data_dir, disconnect_grace_seconds=5) as server:
        api = server.api()
        ledger = tmp_path / "ledger"
        paused = api.paused(f"act {ledger}")
        answers = {paused["pauses"][0]["pause_id"]: "yes"}
        with api.resume_stream(thread_id=paused["thread_id"], answers=answers) as reader:
            reader.next()
        eventually(ledger.exists, within=3)
        told = eventually(lambda: _turns(api, "completed"), within=3)
        assert told[0]["finish_reason"] == "stop"


def test_nobody_leaves_while_somebody_else_still_follows(data_dir: Path):
    with InThread(data_dir, disconnect_grace_seconds=0) as server:
        api = server.api()
        with api.stream("slow 30 0.03") as first:
            begun = first.next()
            with api.events(begun.data["thread_id"], begun.turn_id) as second:
                second.next()
                first.response.close()
                assert second.rest()[-1].data["finish_reason"] == "stop"


@pytest.mark.parametrize("wire", ["execution", "answer"])
def test_five_hundred_clients_that_drop_at_random_leave_nothing_behind(data_dir: Path, wire: Wire):
    with Process(data_dir, disconnect_grace_seconds=0) as server:
        api = server.api("chat")
        quiet = _load(api)[0]
        # A first crowd: the store opens each of its readers when so many are needed.
        asyncio.run(_drop_many(server.address, server.key("chat"), 100, wire))
        eventually(lambda: _load(api)[0] <= quiet + 3)
        tasks, threads, mib = _load(api)
        files = psutil.Process(server.process.pid).num_fds()
        asyncio.run(_drop_many(server.address, server.key("chat"), 500, wire))
        eventually(lambda: _load(api)[0] <= tasks + 3)
        after = _load(api)
        assert after[1] <= threads + 6, "threads are kept for nobody"
        assert after[2] <= mib + 60, (mib, after[2])
        eventually(lambda: psutil.Process(server.process.pid).num_fds() <= files + 3)
        at_rest = {"turnwire_turns_running": 0, "turnwire_streams_open": 0}
        eventually(lambda: _gauges(api) == at_rest)
        assert "unexpected error" not in server.log
        assert "never retrieved" not in server.log
    endings = _endings(data_dir / "turnwire.db")
    assert set(endings.values()) == {1}, Counter(endings.values())
    assert len(endings) > 200, "most of them were let in"


def _gauges(api: Api) -> dict[str, float]:
    lines = api.http.get("/metrics").text.splitlines()
    named = ("turnwire_turns_running", "turnwire_streams_open")
    return {
        name: float(value) for name, _, value in (s.partition(" ") for s in lines) if name in named
    }


def _load(api: Api) -> tuple[int, int, int]:
    tasks, threads, mib = api.chat("count").json()["content"].split()
    return int(tasks), int(threads), int(mib)


async def _drop_many(address: tuple[str, int], key: str, count: int, wire: Wire) -> None:
    chance = random.Random(7)

    async def drop(delay: float, reset: bool) -> None:
        _, writer = await asyncio.open_connection(*address)
        writer.write(request(key, "slow 100 0.02", wire=wire))
        with suppress(TimeoutError, ConnectionError):
            await asyncio.sleep(delay)
        if reset:
            writer.transport.abort()
        writer.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(drop(chance.uniform(0, 1.0), chance.random() < 0.5))
            await asyncio.sleep(0.005)


def _endings(path: Path) -> dict[str, int]:
    """Return how many terminators the log of each turn has."""
    logs: dict[str, list[Envelope]] = {}
    with closing(sqlite3.connect(path)) as db:
        for turn_id, packed in db.execute("SELECT turn_id, packed FROM events ORDER BY first_seq"):
            logs.setdefault(turn_id, []).extend(unpack(TurnId(turn_id), packed))
    for log in logs.values():
        assert [each.seq for each in log] == list(range(1, len(log) + 1))
        assert ends_run(log)
    return {turn_id: sum(ends_run((each,)) for each in log) for turn_id, log in logs.items()}


def test_readers_that_never_read_neither_stall_their_turns_nor_grow_the_server(data_dir: Path):
    with Process(data_dir, disconnect_grace_seconds=0, drain_seconds=1) as server:
        api = server.api("chat")
        api.chat("flood 2000")
        rest, _, mib = _load(api)
        key = server.key("chat")
        clients = [
            RawClient(server.address, key, "flood 60000", buffer=NEVER_READ) for _ in range(4)
        ]
        peak = mib

        def all_done() -> bool:
            nonlocal peak
            peak = max(peak, _load(api)[2])
            threads = api.http.get("/conversations").json()["conversations"]
            got = [api.http.get(f"/conversations/{each['conversation_id']}") for each in threads]
            floods = [each.json()["turns"][0] for each in got if "flood 60000" in each.text]
            return [each["finish_reason"] for each in floods] == ["stop"] * 4

        eventually(all_done, within=40)
        assert peak <= mib + 150, (mib, peak)
        each_holds = (_load(api)[0] - rest) // len(clients)
        clients.pop().reset()
        eventually(lambda: _load(api)[0] <= rest + each_holds * len(clients))
        # Nor do they hold up a deploy; uvicorn gives writes that are stuck ten seconds more.
        server.terminate()
        assert server.process.wait(1 + 10 + 3) in (0, -15)
        for each in clients:
            each.reset()


@pytest.mark.parametrize("wire", ["execution", "answer"])
def test_heartbeats_keep_silent_streams_alive_through_a_proxy_that_cuts(data_dir: Path, wire: Wire):
    with (
        InThread(data_dir, heartbeat_seconds=1) as server,
        SilenceCutter(server.address, seconds=3) as proxy,
    ):
        api = Api(proxy.url, server.key("chat"))

        ask = api.stream if wire == "execution" else api.be_member().ask

        def heard(question: str) -> tuple[list[Frame], int]:
            with ask(question) as reader:
                return reader.rest(), len(reader.comments)

        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(heard, ["silent 4.5", "block 4.5"]))
        last = "turn_completed" if wire == "execution" else "message.completed"
        assert [frames[-1].event for frames, _ in said] == [last, last]
        assert [count for _, count in said] == [4, 4]
        assert proxy.cut == 0
        for frames, _ in said:
            assert all(each.id for each in frames)
            opened = frames[0].data
            names = opened.get("thread_id") or opened["conversation_id"], frames[0].turn_id
            follow = api.events if wire == "execution" else api.message
            with follow(*names) as reader:
                assert (reader.rest(), reader.comments) == (frames, [])
        api.http.close()


def test_without_heartbeats_the_same_proxy_would_have_cut(data_dir: Path):
    with (
        InThread(data_dir, heartbeat_seconds=60) as server,
        SilenceCutter(server.address, seconds=0.5) as proxy,
    ):
        api = Api(proxy.url, server.key("chat"))
        with api.stream("silent 2") as reader, pytest.raises(httpx.HTTPError):
            reader.rest()
        api.http.close()
        assert proxy.cut == 1


def test_blocking_nodes_stall_no_other_stream(data_dir: Path):
    with InThread(data_dir, heartbeat_seconds=0.2) as server:
        api = server.api("chat")
        with ThreadPoolExecutor(12) as pool:
            blocked = [pool.submit(api.chat, "block 1.5") for _ in range(10)]
            with api.stream("silent 1.2") as reader:
                reader.next()
                begun = time.monotonic()
                assert api.chat("say meanwhile").json()["content"] == "meanwhile"
                assert time.monotonic() - begun < 1.0
                reader.rest()
                assert len(reader.comments) >= 4
            assert {each.result().json()["content"] for each in blocked} == {"unblocked"}


def test_blocking_nodes_do_not_make_another_turns_sync_node_wait(data_dir: Path):
    pool_size = min(32, (os.cpu_count() or 1) + 4)
    with InThread(data_dir) as server, ExitStack() as streams:
        api = server.api("chat")
        blocked = [streams.enter_context(api.stream("block 2")) for _ in range(pool_size)]
        for each in blocked:
            each.until("node_started")
        begun = time.monotonic()
        assert api.chat("block 0.01").json()["content"] == "unblocked"
        took = time.monotonic() - begun
        assert {each.rest()[-1].data["content"] for each in blocked} == {"unblocked"}
        assert took < 1.0


def test_a_node_that_does_not_let_go_is_given_its_ending_all_the_same(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("turnwire.engine.supervisor._LET_GO_SECONDS", 0.3)
    with InThread(data_dir) as server:
        api = server.api("chat")
        with api.stream("block 3") as reader:
            thread_id = reader.next().data["thread_id"]
            reader.until("node_started")
            begun = time.monotonic()
            stopped = api.http.post(f"/conversations/{thread_id}/cancel").json()
            assert time.monotonic() - begun < 2
            assert stopped["cancelled"] is True
            assert reader.rest()[-1].data["finish_reason"] == "cancelled"
        assert api.chat("say next", thread_id=thread_id).json()["content"] == "next"
    assert threading.active_count() < 50
