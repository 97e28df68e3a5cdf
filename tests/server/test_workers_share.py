"""Two workers share in Redis what may happen once, or so often; without it, each counts alone."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.redis_server import RedisServer
from tests.server.running import InThread, eventually
from tests.server.sockets import Staff, opened_with, refused, words
from turnwire.admission.rates import LocalRates
from turnwire.admission.shared import Shared
from turnwire.admission.ws_tokens import LocalUses
from turnwire.errors import StorageUnavailable
from turnwire.storage.redis import SharedCounts

SECRET = "a secret that both workers know, 32 bytes"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as server:
        yield server


@pytest.fixture
def workers(redis: RedisServer, tmp_path: Path) -> Iterator[tuple[InThread, InThread]]:
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(
                InThread(
                    tmp_path / name,
                    redis_url=redis.url,
                    ws_secret=SECRET,
                    staff_messages_per_minute=3,
                )
            )
            for name in ("one", "other")
        )
        yield one, other


def test_a_token_is_good_once_over_both_workers(workers: tuple[InThread, InThread]):
    token = Staff(workers[0]).token()
    got: list[str] = []

    def attempt(server: InThread) -> None:
        try:
            opened_with(server, "s1", token).close()
        except Exception as error:
            got.append(type(error).__name__)
        else:
            got.append("opened")

    threads = [threading.Thread(target=attempt, args=(workers[n % 2],)) for n in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(got) == sorted(["opened", *["InvalidStatus"] * 19])


def test_a_rate_counts_over_both_workers(workers: tuple[InThread, InThread]):
    one, other = (Staff(each) for each in workers)
    with one.open() as first, other.open() as second:
        for socket_ in (first, second, first):
            assert words(socket_.ask("say hi")) == "hi"
        (said,) = second.ask("say hi")
        assert said["code"] == "rate_limited"
        assert 55 < said["retry_after"] <= 60


def test_without_redis_each_worker_counts_alone_says_so_and_comes_back(
    redis: RedisServer,
    workers: tuple[InThread, InThread],
    caplog: pytest.LogCaptureFixture,
):
    server, other = workers
    staff = Staff(server)
    redis.stop()
    token = staff.token()
    opened_with(server, "s1", token).close()
    assert refused(lambda: opened_with(server, "s1", token))[0] == 401
    with staff.open() as opened:
        for _ in range(3):
            assert words(opened.ask("say hi")) == "hi"
        assert opened.ask("say hi")[0]["code"] == "rate_limited"
    away = [each for each in caplog.messages if each.startswith("Redis is away")]
    assert away == ["Redis is away; this worker counts alone"]
    metrics = server.api("admin").http.get("/metrics").text
    assert "turnwire_redis_failures_total 0.0" not in metrics
    assert "turnwire_redis_failures_total" in metrics
    redis.start()
    eventually(lambda: Staff(other, "bo").open().connection.close() or _used(redis))


def _used(redis: RedisServer) -> bool:
    return not redis.say("KEYS", "turnwire:ws_token:used:*").startswith("*0")


def test_a_counter_that_somebody_left_in_a_users_place_holds_nobody_up(redis: RedisServer):
    assert redis.say("SET", "turnwire:rate:a", "1000") == "+OK\r\n"
    waits = asyncio.run(_taken(SharedCounts(redis.url), "a", "a", "a"))
    assert waits[:2] == [0, 0]
    assert waits[2] > 59_000
    assert 0 < int(redis.say("PTTL", "turnwire:rate:a").strip(":\r\n")) <= 60_000


async def _taken(counts: SharedCounts, *names: str) -> list[int]:
    try:
        return [await counts.take(name, 2) for name in names]
    finally:
        await counts.close()


def test_every_key_has_an_expiry_and_one_that_lost_it_heals(redis: RedisServer):
    waits = asyncio.run(_taken(SharedCounts(redis.url), "a", "a", "a", "b"))
    assert waits[:2] == [0, 0]
    assert 59_000 < waits[2] <= 60_000
    assert waits[3] == 0
    assert redis.say("PERSIST", "turnwire:rate:a") == ":1\r\n"
    assert redis.say("PTTL", "turnwire:rate:a") == ":-1\r\n"
    asyncio.run(_taken(SharedCounts(redis.url), "a"))
    left = int(redis.say("PTTL", "turnwire:rate:a").strip(":\r\n"))
    assert 0 < left <= 60_000


def test_a_redis_that_does_not_answer_holds_a_message_up_for_less_than_a_second():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        counts = SharedCounts(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")

        async def ask() -> None:
            async with asyncio.timeout(1):
                with pytest.raises(StorageUnavailable):
                    await counts.use("sig", seconds=10)
            await counts.close()

        asyncio.run(ask())


class _Away:
    asked = 0

    async def use(self, signature: str, *, seconds: int) -> bool:
        self.asked += 1
        raise StorageUnavailable("away")

    async def take(self, name: str, per_minute: int) -> int:
        self.asked += 1
        raise StorageUnavailable("away")


def test_who_does_not_answer_is_left_in_peace_for_a_second():
    away, failed = _Away(), list[None]()
    shared = Shared(away, uses=LocalUses(), rates=LocalRates(), failed=lambda: failed.append(None))

    async def ask() -> list[int]:
        return [await shared.rates.take("a", 2, now=at) for at in (1_000, 1_500, 1_999, 2_000)]

    waits = asyncio.run(ask())
    assert waits[:2] == [0, 0]
    assert all(waits[2:])
    assert (away.asked, len(failed)) == (2, 4)
