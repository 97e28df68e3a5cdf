"""Two workers with one Redis: what they share, and what holds while it is away."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis
from websockets.exceptions import InvalidStatus

from tests.server.running import InThread, Server, eventually
from tests.server.sockets import Socket, Staff, opened_with, refused

SECRET = "a secret that both of the workers know of"
KEY = "turnwire:rate:chat:staff:ana"

pytestmark = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="there is no redis-server here"
)


class Redis:
    """A server of the tests' own, which can be killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client: Any = redis.Redis(port=self.port)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        eventually(self._answers)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


@pytest.fixture
def shared_redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    yield server
    server.client.close()
    server.kill()


@pytest.fixture
def workers(shared_redis: Redis, tmp_path: Path) -> Iterator[list[InThread]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                InThread(
                    tmp_path / name,
                    ws_secret=SECRET,
                    redis_url=shared_redis.url,
                    staff_messages_per_minute=4,
                )
            )
            for name in ("one", "two")
        ]


def _metric(server: Server, operation: str) -> float:
    text = server.api("admin").http.get("/metrics").text
    name = f'turnwire_redis_failures_total{{operation="{operation}"}} '
    return sum(float(each.removeprefix(name)) for each in text.splitlines() if name in each)


def _codes(said: Socket, count: int) -> list[str]:
    """Send so many messages, one after another; return how each was answered."""
    return [said.ask("say hi")[-1].get("code", "done") for _ in range(count)]


def test_of_two_workers_one_takes_a_token(workers: list[InThread]):
    token = Staff(workers[0]).token()

    def opens(number: int) -> bool:
        try:
            opened_with(workers[number % 2], "s1", token).close()
        except InvalidStatus:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(opens, range(20))) == 1


def test_two_workers_count_the_messages_of_one_user_together(
    workers: list[InThread], shared_redis: Redis
):
    one, two = Staff(workers[0]), Staff(workers[1])
    with one.open() as first, two.open() as second:
        assert _codes(first, 2) == ["done"] * 2
        assert _codes(second, 3) == ["done", "done", "rate_limited"]
        said = first.ask("say hi")
        assert said[-1]["code"] == "rate_limited"
        assert 50 < said[-1]["retry_after"] <= 60
    with Staff(workers[0], "ben").open() as other:
        assert _codes(other, 1) == ["done"]
    keys = [each.decode() for each in shared_redis.client.keys("turnwire:*")]
    assert KEY in keys
    assert all(shared_redis.client.pttl(each) > 0 for each in keys), keys


@pytest.mark.parametrize("stuck", ["counter", "list"])
def test_a_key_without_an_expiry_heals(workers: list[InThread], shared_redis: Redis, stuck: str):
    if stuck == "counter":
        shared_redis.client.set(KEY, "1000")
    else:
        earlier = int(time.time() * 1000) - 61_000  # noqa: TID251 - as Redis' clock has it
        shared_redis.client.rpush(KEY, *[earlier] * 4)
    assert shared_redis.client.ttl(KEY) == -1
    with Staff(workers[0]).open() as opened:
        assert _codes(opened, 1) == ["done"]
    assert 0 < shared_redis.client.pttl(KEY) <= 60_000


def test_without_redis_tokens_and_messages_are_taken_on_a_workers_word_and_counted(
    workers: list[InThread], shared_redis: Redis, caplog: pytest.LogCaptureFixture
):
    staff = Staff(workers[0])
    with staff.open() as before:
        assert _codes(before, 1) == ["done"]
        shared_redis.kill()
        began = time.monotonic()
        token = staff.token()
        opened_with(workers[0], "s2", token).close()
        assert time.monotonic() - began < 1.0
        assert refused(lambda: opened_with(workers[0], "s2", token))[0] == 401
        assert _codes(before, 4) == ["done", "done", "done", "rate_limited"]
    assert _metric(workers[0], "ws_token") == 2  # given, and shown
    assert _metric(workers[0], "rate") == 4
    warned = [each for each in caplog.records if "redis does not answer" in each.message]
    assert len(warned) == 6
    shared_redis.start()
    with Staff(workers[1]).open() as again:
        assert _codes(again, 1) == ["done"]
    assert _metric(workers[1], "rate") == 0


def test_a_redis_that_is_slow_holds_a_handshake_up_for_less_than_a_second(
    workers: list[InThread], shared_redis: Redis
):
    staff = Staff(workers[0])
    token = staff.token()
    shared_redis.client.execute_command("CLIENT", "PAUSE", "5000", "ALL")
    began = time.monotonic()
    opened_with(workers[0], "s1", token).close()
    assert time.monotonic() - began < 1.5
    assert _metric(workers[0], "ws_token") == 1
