"""Allowances over HTTP: exact however many come at once, settled however a turn ends."""

import asyncio
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from tests.server.running import Api, InThread, eventually
from tests.server.test_members import HEADER, member

HOUR = 3600


def usage(api: Api) -> dict[str, Any]:
    """Return the caller's only window."""
    (window,) = api.http.get("/usage").json()["windows"]
    return window


def left(api: Api) -> tuple[int, int]:
    """Return messages and tokens used."""
    window = usage(api)
    return window["messages"]["used"], window["tokens"]["used"]


async def _all_at_once(url: str, headers: dict[str, str], count: int) -> Counter[int]:
    body = {"messages": [{"role": "user", "content": "say hi"}]}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=60) as http:

        async def ask(number: int) -> int:
            accept = {"Accept": "text/event-stream"} if number % 2 else {}
            return (await http.post("/chat", json=body, headers=accept)).status_code

        return Counter(await asyncio.gather(*(ask(each) for each in range(count))))


def test_of_five_hundred_turns_at_once_exactly_a_hundred_are_admitted(data_dir: Path):
    with InThread(data_dir, member_messages=100, member_window_seconds=24 * HOUR) as server:
        mine = member(server)
        headers = {name: mine.http.headers[name] for name in ("authorization", HEADER)}
        answers = asyncio.run(_all_at_once(server.url, headers, 500))
        assert answers == {200: 100, 429: 400}
        assert usage(mine)["messages"] == {"used": 100, "limit": 100}
        assert len(mine.http.get("/conversations").json()["conversations"]) == 100
        assert member(server).chat("say hi").status_code == 200, "another member has its own"


def test_a_refusal_says_truly_when_to_come_back(data_dir: Path):
    with InThread(data_dir, member_messages=1, member_window_seconds=2) as server:
        mine = member(server)
        _at_the_beginning_of(2)
        assert mine.chat("say hi").status_code == 200
        refused = mine.chat("say hi")
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (429, "quota_exceeded")
        assert error["retryable"] is True
        wait = int(refused.headers["retry-after"])
        assert 1 <= wait <= 2
        time.sleep(wait)
        assert mine.chat("say hi").status_code == 200


def _at_the_beginning_of(seconds: int) -> None:
    """Return when a window has just begun."""
    time.sleep(seconds - time.time() % seconds)  # noqa: TID251 - the server's clock is the machine's


def test_the_usage_tells_the_window_and_its_end(data_dir: Path):
    with InThread(data_dir, key_messages=5, key_window_seconds=HOUR) as server:
        api = server.api("chat")
        api.chat("say hi")
        window = usage(api)
        assert {name: window[name] for name in ("of", "seconds", "messages")} == {
            "of": "key",
            "seconds": HOUR,
            "messages": {"used": 1, "limit": 5},
        }
        assert window["tokens"]["limit"] is None
        ends = datetime.fromisoformat(window["resets_at"]).timestamp()
        assert ends % HOUR == 0
        assert 0 < ends - time.time() <= HOUR  # noqa: TID251 - the server's clock is the machine's


def test_without_limits_nothing_is_counted_and_nobody_is_refused(shared: InThread):
    assert shared.api("chat").http.get("/usage").json() == {"windows": []}


def test_the_members_of_a_key_share_the_keys_allowance(data_dir: Path):
    with InThread(data_dir, key_messages=3) as server:
        application = server.api("chat")
        first, second = member(server, application), member(server, application)
        for each in (first, second, application):
            assert each.chat("say hi").status_code == 200
        for each in (first, second, application):
            assert each.chat("say hi").status_code == 429
        assert server.stranger("chat").chat("say hi").status_code == 200
        assert first.http.get("/usage").json() == {"windows": []}, "the key's use is the key's"


def test_a_refused_turn_costs_nothing_and_one_sent_again_costs_once(data_dir: Path):
    with InThread(data_dir, key_messages=3) as server:
        api = server.api("chat")
        headers = {"Idempotency-Key": "k"}
        turn_id = api.chat("say hi", headers=headers).json()["turn_id"]
        assert api.chat("say hi", headers=headers).json()["turn_id"] == turn_id
        for refused in (
            api.chat("say x", thread_id="unknown"),
            api.chat("say x", agent="nobody"),
            api.chat("say x", headers=headers),
            api.http.post("/chat", content=b"{"),
        ):
            assert refused.status_code in (400, 404, 422)
        assert usage(api)["messages"]["used"] == 1


def test_what_a_turn_holds_is_settled_when_it_ends_however_it_ends(data_dir: Path):
    with InThread(data_dir, key_tokens=10_000, held_tokens=5_000) as server:
        api = server.api("chat")
        spent = 0
        for ask in ("say one two three four", "raise", "die"):
            with api.stream(ask) as reader:
                reader.rest()
            now = left(api)[1]
            assert 0 < now - spent < 50, ask
            spent = now
        with api.stream("slow 100 0.05") as reader:
            frame = reader.until("token")
            assert left(api)[1] == spent + 5_000
            again = api.chat("say while it runs")
            assert again.status_code == 200
            thread_id = api.http.get("/conversations").json()["conversations"][1]["conversation_id"]
            api.http.post(f"/conversations/{thread_id}/cancel")
            reader.rest()
        eventually(lambda: spent < left(api)[1] < spent + 100)
        receipt = api.turn(thread_id, frame.turn_id)["receipt"]
        assert receipt["attempts"][-1]["outcome"] == "cancelled"
        assert receipt["usage"]["completion_tokens"] > 0
        assert left(api)[0] == 5


def test_tokens_that_running_turns_hold_are_not_given_twice(data_dir: Path):
    with InThread(data_dir, key_tokens=100, held_tokens=60) as server:
        headers = {"authorization": server.api("chat").http.headers["authorization"]}
        answers = asyncio.run(_slow_at_once(server.url, headers, 5))
        assert answers == {200: 2, 429: 3}


def test_of_five_streams_at_once_over_a_limit_of_tokens_two_pass_and_are_charged_for_what_was_used(
    data_dir: Path,
):
    with InThread(data_dir, member_tokens=100, held_tokens=60) as server:
        mine = member(server)
        headers = {name: mine.http.headers[name] for name in ("authorization", HEADER)}
        answers = asyncio.run(_slow_at_once(server.url, headers, 5, "/chat/stream"))
        assert answers == {200: 2, 429: 3}
        assert usage(mine)["messages"]["used"] == 2
        assert 0 < left(mine)[1] < 120
        refused = mine.http.post("/chat/stream", json={"message": "say hi"})
        assert refused.status_code in (200, 429)
        assert "retry-after" in refused.headers or refused.status_code == 200


async def _slow_at_once(
    url: str, headers: dict[str, str], count: int, path: str = "/chat"
) -> Counter[int]:
    body: dict[str, object] = {"messages": [{"role": "user", "content": "slow 5 0.1"}]}
    if path == "/chat/stream":
        body = {"message": "slow 5 0.1"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
        asked = (http.post(path, json=body) for _ in range(count))
        return Counter([each.status_code for each in await asyncio.gather(*asked)])


def test_a_turn_that_waits_for_a_person_holds_nothing_and_an_answer_is_no_message(data_dir: Path):
    with InThread(data_dir, key_messages=1, key_tokens=1000, held_tokens=900) as server:
        api = server.api("chat", "review")
        asked = api.paused("ask")
        assert left(api) == (1, 0)
        assert api.chat("say hi").status_code == 429
        answers = {asked["pauses"][0]["pause_id"]: {"amount": 3}}
        assert api.resume(thread_id=asked["thread_id"], answers=answers).status_code == 200
        assert left(api)[0] == 1
        assert 0 < left(api)[1] < 50


def test_a_receipt_tells_what_the_turn_took_and_none_of_its_words(shared: InThread):
    api = shared.api("chat")
    done = api.chat("say canary canary2").json()
    told = api.turn(done["thread_id"], done["turn_id"])
    receipt = told["receipt"]
    assert told["content"] == "canary canary2"
    assert "canary" not in str(receipt)
    assert receipt["runs"] == 1
    assert [each["node"] for each in receipt["latency"]["nodes"]] == ["perform"]
    assert receipt["latency"]["total_ms"] >= receipt["latency"]["first_token_ms"] >= 0
    (attempt,) = receipt["attempts"]
    assert attempt["outcome"] == "ok"
    assert receipt["usage"]["total_tokens"] == attempt["tokens_in"] + attempt["tokens_out"] > 0
    with api.stream("slow 50 0.05") as reader:
        frame = reader.until("node_started")
        thread_id = api.http.get("/conversations").json()["conversations"][0]["conversation_id"]
        assert api.turn(thread_id, frame.turn_id)["receipt"] is None
        api.http.post(f"/conversations/{thread_id}/cancel")
