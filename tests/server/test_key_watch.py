"""A key that opens nothing any more holds no stream open; its use is noted and never in the way."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Request
from typer.testing import CliRunner

from tests.server.raw import NEVER_READ, RawClient
from tests.server.reading import Reader
from tests.server.running import InThread, Process, eventually
from turnwire.admission.api_keys import digest
from turnwire.cli.main import app as command_line
from turnwire.errors import InvalidApiKey, StorageUnavailable
from turnwire.server.key_watch import HeldKey, KeyWatch
from turnwire.storage.base import KeyRecord
from turnwire.storage.memory import MemoryStore

SOON = 5.0
"""Within how many seconds a stream of a key that is gone has to end."""


def _keys(data_dir: Path, *arguments: str) -> str:
    done = CliRunner().invoke(command_line, ["keys", *arguments, "--data-dir", str(data_dir)])
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def _id(key: str) -> str:
    return key.split("_")[2]


def _ends_without_terminator(reader: Reader) -> None:
    assert [each.event for each in reader.rest() if each.event in ("turn_completed", "error")] == []


def test_a_revoked_keys_streams_end_though_they_are_idle_and_the_turn_goes_on(data_dir: Path):
    with InThread(data_dir, heartbeat_seconds=0.2) as server, ExitStack() as stack:
        key, other = server.key("chat", "review"), server.stranger("chat")
        live = stack.enter_context(server.api(key=key).stream("silent 8"))
        head = live.next().data
        again = stack.enter_context(server.api(key=key).events(head["thread_id"], head["turn_id"]))
        again.next()
        words = stack.enter_context(server.api(key=key).stream("slow 900 0.01"))
        words.until("token")
        theirs = stack.enter_context(other.stream("slow 400 0.02"))
        theirs.until("token")
        pool = stack.enter_context(ThreadPoolExecutor())
        waiting = pool.submit(server.api(key=key).chat, "silent 8")
        eventually(lambda: again.comments or again.next())

        began = time.monotonic()
        _keys(data_dir, "revoke", _id(key))
        for each in (live, again, words):
            _ends_without_terminator(each)
        answer = waiting.result()
        assert time.monotonic() - began < SOON
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
        assert live.comments
        assert server.api(key=key).http.get("/conversations").status_code == 401
        assert theirs.rest()[-1].event == "turn_completed"


def test_a_turn_whose_key_was_rotated_is_followed_to_its_end_with_the_new_secret(data_dir: Path):
    with InThread(data_dir) as server:
        old = server.key("chat")
        with server.api(key=old).stream("slow 60 0.1") as reader:
            head = reader.next().data
            new = _keys(data_dir, "rotate", _id(old))
            assert (_id(new), new != old) == (_id(old), True)
            assert server.api(key=new).http.get("/agents").status_code == 200
            _ends_without_terminator(reader)
        with server.api(key=new).events(head["thread_id"], head["turn_id"]) as reader:
            assert reader.rest()[-1].event == "turn_completed"
        refused = server.api(key=old).http.get("/agents")
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")


def test_with_a_grace_both_secrets_open_and_a_stream_ends_when_the_grace_does(data_dir: Path):
    with InThread(data_dir) as server:
        old = server.key("chat")
        new = _keys(data_dir, "rotate", _id(old), "--grace", "4")
        until = time.monotonic() + 4
        for each in (old, new):
            assert server.api(key=each).chat("say hi").json()["content"] == "hi"
        with server.api(key=old).stream("slow 150 0.1") as reader:
            _ends_without_terminator(reader)
        assert until - 0.1 < time.monotonic() < until + SOON
        assert server.api(key=old).http.get("/agents").status_code == 401


def test_a_client_that_does_not_read_is_cut_off_too(data_dir: Path):
    with InThread(data_dir) as server:
        key = server.key("chat")
        client = RawClient(server.address, key, "huge 3000000", buffer=NEVER_READ)
        metrics = server.nobody().http
        open_ = "turnwire_streams_open 1.0"
        eventually(lambda: open_ in metrics.get("/metrics").text)
        _keys(data_dir, "revoke", _id(key))
        eventually(lambda: open_ not in metrics.get("/metrics").text, within=SOON)
        client.reset()


def test_the_last_use_of_a_key_is_listed(data_dir: Path):
    with InThread(data_dir) as server:
        key, unused = server.key("chat"), server.key("review")

        def listed() -> dict[str, Any]:
            return {each["id"]: each for each in json.loads(_keys(data_dir, "list", "--json"))}

        assert listed()[_id(key)]["last_used_at"] is None
        bad = f"{key[:-4]}AAAA"
        assert server.api(key=bad).http.get("/agents").status_code == 401
        assert server.api(key=key).http.get("/agents").status_code == 200
        eventually(lambda: listed()[_id(key)]["last_used_at"], within=SOON)
        assert listed()[_id(unused)]["last_used_at"] is None


def test_what_was_not_written_is_written_when_the_server_ends(data_dir: Path):
    with Process(data_dir) as server:
        key = server.key("chat")
        assert httpx.get(f"{server.url}/agents", headers=_bearer(key)).status_code == 200
        server.terminate()
        server.process.wait(20)
    (row,) = json.loads(_keys(data_dir, "list", "--json"))
    assert row["last_used_at"] is not None


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class Broken(MemoryStore):
    """A store of keys that fails while it is told to, and counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: Exception | None = None
        self.asked = 0
        self.noted: list[dict[str, int]] = []
        self.asked_thrice, self.has_noted = asyncio.Event(), asyncio.Event()

    async def keys(self, key_ids: Collection[str] | None = None) -> list[KeyRecord]:
        self.asked += 1
        if self.asked == 3:
            self.asked_thrice.set()
        if self.fails is not None:
            raise self.fails
        return await super().keys(key_ids)

    async def keys_used(self, used_ms: Mapping[str, int]) -> None:
        if self.fails is not None:
            raise self.fails
        self.noted.append(dict(used_ms))
        self.has_noted.set()
        await super().keys_used(used_ms)


HASH = digest("x")


@asynccontextmanager
async def watched(now: list[int]) -> AsyncGenerator[tuple[Broken, KeyWatch]]:
    store = Broken()
    record = KeyRecord(
        key_id="a", name="a", environment="test", scopes=(), secret_hash=HASH, created_ms=0
    )
    await store.add_key(record)
    watch = KeyWatch(store, now=lambda: now[0], seconds=0.01)
    async with watch.watching():
        yield store, watch


def _let_in(watch: KeyWatch, key_id: str = "a") -> dict[str, Any]:
    scope: dict[str, Any] = {"type": "http", "state": {}}
    watch.let_in(Request(scope), HeldKey(key_id, HASH))
    return scope


@pytest.mark.anyio
@pytest.mark.parametrize("fault", [StorageUnavailable("away"), RuntimeError("a bug")])
async def test_a_store_that_fails_ends_no_stream_and_is_asked_again(fault: Exception):
    async with watched([1_000_000]) as (store, watch):
        store.fails = fault
        scope = _let_in(watch)

        async def stream() -> None:
            async with watch.holding(scope), asyncio.timeout(5):
                await store.asked_thrice.wait()
                store.fails = None
                await store.revoke_key("a", now=1)
                await asyncio.sleep(5)

        with pytest.raises(InvalidApiKey):
            await stream()
        with pytest.raises(InvalidApiKey):
            _let_in(watch)
    assert store.noted == [{"a": 1_000_000}]


@pytest.mark.anyio
async def test_many_streams_are_one_question():
    async with watched([1]) as (store, watch), asyncio.TaskGroup() as tasks:
        scopes = [_let_in(watch) for _ in range(500)]

        async def stream(scope: dict[str, Any]) -> None:
            async with watch.holding(scope):
                await asyncio.sleep(0.2)

        for each in scopes:
            tasks.create_task(stream(each))
        await asyncio.sleep(0.2)
        assert 1 <= store.asked <= 20


@pytest.mark.anyio
async def test_without_streams_the_store_is_not_asked():
    async with watched([1]) as (store, _):
        await asyncio.sleep(0.1)
    assert (store.asked, store.noted) == (0, [])


@pytest.mark.anyio
async def test_the_use_of_a_key_is_written_at_most_once_a_minute():
    now = [1_000_000]
    async with watched(now) as (store, watch):
        for _ in range(50):
            now[0] += 1000
            _let_in(watch)
            async with asyncio.timeout(5):
                await store.has_noted.wait()
            await asyncio.sleep(0.02)  # a chance to write again, which is not to be taken
    at = [each["a"] for each in store.noted]
    assert at[0] == 1_001_000
    assert at[-1] == 1_050_000
    assert len(at) == 2  # the first, and what was left at the end


@pytest.mark.anyio
async def test_a_timeout_of_ones_own_inside_is_left_alone():
    async with watched([1]) as (_, watch):
        with pytest.raises(TimeoutError):
            async with watch.holding(_let_in(watch)), asyncio.timeout(0.02):
                await asyncio.sleep(1)


@pytest.mark.anyio
async def test_a_request_without_a_key_goes_on():
    async with watched([1]) as (store, watch), watch.holding({"state": {}}), watch.holding({}):
        await asyncio.sleep(0.05)
    assert store.asked == 0
