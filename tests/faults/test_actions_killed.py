"""The server is killed around an approved action: it happened once, or nobody is told it did."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.confirming import GRAPH, Waiting, ended, propose, steps
from tests.server.reading import Frame, Reader
from tests.server.running import Api, Process
from tests.server.upstream import Upstream

MOMENTS = 30
TOGETHER = 10
"""Actions around which one kill happens, each at a moment of its own."""
TOLD = {"ok": "ok", "tool_failed": "error", "unknown": "error"}


def test_killed_at_any_moment_an_action_happens_once_or_is_told_as_an_error(tmp_path: Path):
    chance = random.Random(5)
    ends: Counter[str] = Counter()
    with Upstream() as upstream:
        for number in range(MOMENTS // TOGETHER):
            ends += _killed(tmp_path / str(number), upstream, chance, number)
    assert sum(ends.values()) == MOMENTS
    assert len(ends) >= 2, f"the moments are all of one kind: {ends}"


def _killed(data_dir: Path, upstream: Upstream, chance: random.Random, number: int) -> Counter[str]:
    """Kill a server around some actions; return what the audit says became of each."""
    with Process(data_dir, GRAPH) as server:
        key = server.key("chat")
        waiting = [
            propose(server.api(key=key).be_member(), upstream.url, f"paced {number}-{each}")
            for each in range(TOGETHER)
        ]
        with ThreadPoolExecutor(TOGETHER) as pool:
            heard = [pool.submit(_approve, each, chance.uniform(0, 0.25)) for each in waiting]
            time.sleep(0.12 + chance.uniform(0, 0.1))  # the moment
            server.kill()
    with Process(data_dir, GRAPH) as server:
        ends: Counter[str] = Counter()
        for each, frames in zip(waiting, heard, strict=True):
            api = server.api(key=key).be(each.api)
            ends[_checked(api, each, frames.result(), upstream, data_dir)] += 1
    return ends


def _approve(waiting: Waiting, after: float) -> list[Frame]:
    """Approve after a while; return what was heard until the server died."""
    [reason] = waiting.ids
    time.sleep(after)
    frames: list[Frame] = []
    try:
        body = waiting.body(reason)
        with waiting.api.http.stream("POST", "/chat/confirm", json=body) as response:
            frames.extend(_frames(response))
    except (httpx.HTTPError, AssertionError):
        pass
    return frames


def _frames(response: httpx.Response) -> list[Frame]:
    reader = Reader(response)
    found: list[Frame] = []
    try:
        while True:
            found.append(reader.next())
    except (httpx.HTTPError, AssertionError, StopIteration):
        return found


def _checked(
    api: Api, waiting: Waiting, heard: list[Frame], upstream: Upstream, data_dir: Path
) -> str:
    """Compare what happened with what is told now; return the audit's last word."""
    [(reason, named)] = waiting.ids.items()
    turn_id = waiting.frames[0].data["message_id"]
    happened = upstream.booked.count(reason)
    assert upstream.asked[named] <= 1, "the upstream was asked twice"
    assert happened <= 1
    with api.message(waiting.conversation_id, turn_id) as reader:
        told = reader.rest()
    audited = steps(data_dir, named)
    for each in (*ended(heard), *ended(told)):
        assert each[1] == TOLD.get(audited[-1], "unknown"), (each, audited)
        if each[1] == "ok":
            assert happened == 1, "a success that did not happen"
    if audited[-1] == "proposed":  # the answer did not arrive: it can still be given
        assert happened == 0
        assert ended(_given_again(api, waiting, reason)) == [(named, "ok", None)]
        assert upstream.booked.count(reason) == 1
        return "proposed"
    assert audited[-1] in ("ok", "unknown", "not_run")
    assert audited[-1] != "not_run" or happened == 0
    ending = told[-1]
    if ending.event == "error":
        assert ending.data["code"] == "stream_interrupted"
    else:
        assert ended(told), "the turn ended well without a word on its action"
    refused = api.http.post("/chat/confirm", json=waiting.body(reason))
    assert refused.status_code == 403
    return audited[-1]


def _given_again(api: Api, waiting: Waiting, reason: str) -> list[Frame]:
    return api.post("/chat/confirm", **waiting.body(reason))


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/Los_Angeles"])
def test_a_deadline_is_the_same_in_every_time_zone(zone: str, tmp_path: Path):
    with Upstream() as upstream, Process(tmp_path, GRAPH, variables={"TZ": zone}) as server:
        api = server.api("chat").be_member()
        soon = propose(api, upstream.url, "soon", tool="soon_call")
        kept = propose(api, upstream.url, "kept")
        time.sleep(0.6)
        assert soon.decide("soon").status_code == 403
        assert kept.decide("kept").status_code == 200
        assert upstream.booked == ["kept"]
        assert steps(tmp_path, soon.ids["soon"]) == ["proposed", "expired"]
