"""The server is killed around actions of the member agent: each happened once or nobody says so."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.faults.membership import (
    DemoPortal,
    actions,
    ask,
    cards,
    conversation,
    decide,
    finish,
    member,
    said,
    settings_for,
)
from tests.server.answering import told_again
from tests.server.confirming import audit
from tests.server.reading import Frame, Reader
from tests.server.running import Api, Process, eventually
from tests.wires.order import check_order

ROUNDS, TOGETHER = 2, 15
"""Kills, and the actions around which one happens, each at a moment of its own."""
DELAY_MS = 60
GRAPH = "tests.faults.portal_graph:member"
DONE = "an adviser will call you back"


@dataclass
class Waiting:
    """One member's action, and what they heard of it until the server died."""

    api: Api
    reason: str
    frames: list[Frame]
    heard: "Future[list[Frame]] | None" = None

    @property
    def confirmation_id(self) -> str:
        return cards(self.frames)["request_callback"]

    @property
    def body(self) -> dict[str, str]:
        at = conversation(self.frames)
        return {"conversation_id": at, "confirmation_id": self.confirmation_id}


def test_killed_at_any_moment_a_members_action_happens_once_or_is_told_as_an_error(
    portal: DemoPortal, tmp_path: Path
):
    chance = random.Random(5)
    ends: Counter[str] = Counter()
    waiting: list[Waiting] = []
    # A call that were made twice would be done twice: the portal does not look at its key.
    portal.switch(delay_ms=DELAY_MS, idempotency=False)
    apis: list[Api] = []
    for number in range(ROUNDS + 1):
        with Process(tmp_path, GRAPH, **settings_for(portal)) as server:
            apis = [_again(server, each) for each in apis] or _members(server)
            audited = audit(tmp_path) if waiting else []
            ends.update(
                _checked(each, api, portal, [e for e in audited if _is_of(each, e)])
                for each, api in zip(waiting, apis, strict=bool(waiting))
            )
            if number < ROUNDS:
                waiting = [_asked(api, f"letter {number}{at}") for at, api in enumerate(apis)]
                _killed(server, waiting, portal, chance)
    assert sum(ends.values()) == ROUNDS * TOGETHER
    assert len(ends) >= 2, f"the moments are all of one kind: {ends}"


def _members(server: Process) -> list[Api]:
    return [member(server) for _ in range(TOGETHER)]


def _again(server: Process, api: Api) -> Api:
    """Return the same member at the server that has started again."""
    key = api.http.headers["Authorization"].removeprefix("Bearer ")
    return server.api(key=key).be(api)


def _asked(api: Api, reason: str) -> Waiting:
    return Waiting(api, reason, ask(api, f"Please call me back about my {reason}"))


def _killed(
    server: Process, waiting: list[Waiting], portal: DemoPortal, chance: random.Random
) -> None:
    """Let all members approve, and kill the server when some of the actions have happened."""
    before, most = len(portal.acted()), chance.randrange(TOGETHER)
    with ThreadPoolExecutor(TOGETHER) as pool:
        for each in waiting:
            each.heard = pool.submit(_approve, each, chance.uniform(0, 0.4))
        eventually(lambda: len(portal.acted()) >= before + most)
        time.sleep(chance.uniform(0, 0.1))
        server.kill()
    time.sleep(2 * DELAY_MS / 1000)  # what was on its way arrives


def _approve(waiting: Waiting, after: float) -> list[Frame]:
    """Approve after a while; return what was heard until the server died."""
    time.sleep(after)
    frames: list[Frame] = []
    try:
        body = {**waiting.body, "decision": "approve"}
        with waiting.api.http.stream("POST", "/chat/confirm", json=body) as response:
            reader = Reader(response)
            while True:
                frames.append(reader.next())
    except (httpx.HTTPError, AssertionError, StopIteration):
        return frames


def _is_of(waiting: Waiting, entry: Mapping[str, str]) -> bool:
    return entry["confirmation_id"] == waiting.confirmation_id


def _checked(
    waiting: Waiting, api: Api, portal: DemoPortal, audited: Sequence[Mapping[str, str]]
) -> str:
    """Compare what happened with what is told now; return the audit's last word."""
    happened = [e for e in portal.acted() if e["body"]["reason"] == f"my {waiting.reason}"]
    assert len(happened) <= 1, "it was done twice"
    assert waiting.heard is not None
    last = audited[-1]["result"]
    told = told_again(api, waiting.frames)
    check_order(told)
    for each in (waiting.heard.result(), told):
        _check_words(each, last, happened=bool(happened))
    if last == "proposed":  # the answer did not arrive: it can still be given
        assert not happened
        assert actions(decide(api, waiting.frames)) == ["ok"]
    else:
        assert last in ("ok", "unknown", "not_run")
        assert last != "not_run" or not happened
        if last == "ok":
            assert audited[-1]["receipt"] == happened[0]["answer"]["callback_id"]
        assert finish(told) in ("stop", "stream_interrupted")
        again = api.http.post("/chat/confirm", json={**waiting.body, "decision": "approve"})
        assert again.status_code == 403
    follows = ask(api, "Which plan am I on?", conversation_id=conversation(waiting.frames))
    assert (finish(follows), "Family" in said(follows)) == ("stop", True)
    assert DONE not in said(follows)
    return last


def _check_words(frames: list[Frame], last: str, *, happened: bool) -> None:
    if "ok" in actions(frames) or DONE in said(frames):
        assert happened, "a success that did not happen"
        assert last == "ok"
    if frames and frames[-1].event == "message.completed" and finish(frames) == "stop":
        assert actions(frames), "the turn ended well without a word on its action"
