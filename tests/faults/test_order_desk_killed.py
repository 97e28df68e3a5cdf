"""The server is killed around approved releases: each happened once, or nobody says that it did."""

import logging
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.membership import DemoPortal, portal_at, settings_for
from tests.server.confirming import audit
from tests.server.running import Api, Process, eventually
from tests.server.shipped import with_index

ROUNDS = 3
ORDERS = ("4500001042", "4500001043", "4500001045")
DELAY_MS = 80
SCOPES = ("chat", "studio")


def test_killed_at_any_moment_an_order_is_released_once_or_nobody_says_so(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
):
    chance = random.Random(7)
    ends: Counter[str] = Counter()
    caplog.set_level(logging.INFO, "turnwire.portal")
    for number in range(ROUNDS):
        data_dir = with_index(tmp_path_factory, tmp_path / f"server{number}")
        with portal_at(tmp_path / f"portal{number}") as portal:
            # A task that were sent twice would be refused as one, and be seen.
            portal.switch(delay_ms=DELAY_MS, idempotency=False)
            ends += _killed(data_dir, portal, chance, released=number)
    assert sum(ends.values()) == ROUNDS * len(ORDERS)
    assert len(ends) >= 2, f"the moments are all of one kind: {ends}"
    assert "POST /service/tasks 409" not in caplog.text, "an order was sent to be released twice"


def _killed(
    data_dir: Path, portal: DemoPortal, chance: random.Random, *, released: int
) -> Counter[str]:
    with Process(data_dir, None, **settings_for(portal)) as server:
        key = server.key(*SCOPES)
        paused = [_asked(server.api(key=key), order) for order in ORDERS]
        with ThreadPoolExecutor(len(ORDERS)) as pool:
            told = [
                pool.submit(_approve, server.api(key=key), each, at * 0.06, chance.random())
                for at, each in enumerate(paused)
            ]
            eventually(lambda: len(portal.acted()) >= released % len(ORDERS))
            time.sleep(chance.uniform(0, 0.12))  # the moment
            server.kill()
    time.sleep(3 * DELAY_MS / 1000)  # what was on its way arrives
    with Process(data_dir, None, **settings_for(portal)) as server:
        api = server.api(key=key)
        audited = audit(data_dir)
        return Counter(
            _checked(api, each, order, heard, portal, audited)
            for each, order, heard in zip(paused, ORDERS, told, strict=True)
        )


def _asked(api: Api, order: str) -> Mapping[str, Any]:
    return api.paused(f"Please release purchase order {order}", agent="order-desk")


def _body(paused: Mapping[str, Any]) -> dict[str, Any]:
    answers = {paused["pauses"][0]["pause_id"]: {"approved": True}}
    return {"thread_id": paused["thread_id"], "answers": answers}


def _approve(api: Api, paused: Mapping[str, Any], after: float, jitter: float) -> str:
    """Approve after a while; return what was told of it before the server died."""
    time.sleep(after + jitter * 0.05)
    try:
        response = api.http.post("/chat/resume", json=_body(paused))
        return response.json()["content"] if response.status_code == 200 else ""
    except httpx.HTTPError:
        return ""


def _checked(
    api: Api,
    paused: Mapping[str, Any],
    order: str,
    told: "Future[str]",
    portal: DemoPortal,
    audited: Sequence[Mapping[str, str]],
) -> str:
    """Compare what happened with what was told; return the audit's last word."""
    happened = [each for each in portal.acted() if each["body"]["order"] == order]
    assert len(happened) <= 1
    pause = paused["pauses"][0]["pause_id"]
    last = [each["result"] for each in audited if each["confirmation_id"] == pause][-1]
    if "status: released" in told.result():
        assert happened, "a success that did not happen"
    again = api.http.post("/chat/resume", json=_body(paused))
    if last == "proposed":  # the answer did not arrive: it can still be given
        assert not happened
        assert again.status_code == 200
        assert "status: released" in again.json()["content"]
    else:
        assert last in ("ok", "unknown", "not_run")
        assert again.status_code in (403, 409)
        assert last != "not_run" or not happened
        assert last != "ok" or happened
        now = [each for each in portal.acted() if each["body"]["order"] == order]
        assert len(now) == len(happened), "an answer that was given twice did something"
    return last
