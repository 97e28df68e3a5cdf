"""A deploy: running turns get their ending, waiting ones stay, and the process goes in time."""

import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.server.reading import Frame, Reader
from tests.server.running import InThread, Process, eventually
from turnwire.app import composition as app
from turnwire.engine.supervisor import Supervisor

GRACE = 3


def test_a_deploy_ends_idle_streams_lets_running_ones_finish_and_keeps_what_waits(
    data_dir: Path,
):
    with Process(data_dir, drain_seconds=GRACE) as server, ExitStack() as streams:
        key = server.key("chat", "review")
        api = server.api(key=key)
        review = api.paused("review 600")
        idle = [streams.enter_context(api.stream("silent 60")) for _ in range(20)]
        for each in idle:
            each.until("node_started")
        running = [streams.enter_context(api.stream("slow 20 0.05")) for _ in range(3)]
        for each in running:
            each.until("token")
        begun = time.monotonic()
        server.terminate()
        during = list(_attempts(server.url, key))
        server.terminate()  # a second signal does no harm
        with ThreadPoolExecutor(23) as pool:
            idle_ends = list(pool.map(_last, idle))
            running_ends = list(pool.map(_last, running))
        assert server.process.wait(GRACE + 5) in (0, -15)
        took = time.monotonic() - begun
        log = server.log
    assert took < GRACE + 3
    assert {each.data["finish_reason"] for each in running_ends} == {"stop"}
    assert {(each.event, each.data["code"]) for each in idle_ends} == {
        ("error", "stream_interrupted")
    }
    assert {each.data["retryable"] for each in idle_ends} == {True}
    assert set(during) <= {"draining", "no connection"}, during
    assert "Application shutdown complete" in log, "the lifespan's cleanup ran"
    assert "never retrieved" not in log
    assert "Traceback" not in log.replace("CancelledError", "")
    with InThread(data_dir) as server:
        api = server.api(key=key)
        listed = api.http.get("/conversations").json()["conversations"]
        assert len(listed) == 24
        done = api.resume(thread_id=review["thread_id"], decision="approve").json()
        assert done["content"] == "the draft"


def _last(reader: Reader) -> Frame:
    return reader.rest()[-1]


def _attempts(url: str, key: str) -> Generator[str]:
    """Try to begin turns for a second after the signal; say what each came to."""
    body = {"messages": [{"role": "user", "content": "say hi"}]}
    headers = {"Authorization": f"Bearer {key}"}
    eventually(lambda: not _is_ready(url))  # the signal has arrived
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        try:
            answer = httpx.post(f"{url}/chat", json=body, headers=headers, timeout=5)
        except httpx.TransportError:
            yield "no connection"
            return
        error = answer.json().get("error", {})
        yield error.get("code", f"answered {answer.status_code}")


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_while_draining_new_turns_are_503_and_history_is_still_read(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    made: list[Supervisor] = []

    class Remembered(Supervisor):
        async def recover(self) -> int:
            made.append(self)
            return await super().recover()

    monkeypatch.setattr(app, "Supervisor", Remembered)
    with InThread(data_dir) as server:
        api = server.api()
        paused = api.paused("review 60")
        made[0].draining.set()
        refusals = [
            api.chat("say hi"),
            api.resume(thread_id=paused["thread_id"], decision="approve"),
        ]
        for each in refusals:
            assert each.status_code == 503
            assert each.json()["error"]["code"] == "draining"
            assert each.json()["error"]["retryable"] is True
            assert int(each.headers["retry-after"]) >= 1
        assert api.http.get("/readyz").status_code == 503
        assert api.http.get("/healthz").status_code == 200
        assert api.turn(paused["thread_id"], paused["turn_id"])["status"] == "paused"
