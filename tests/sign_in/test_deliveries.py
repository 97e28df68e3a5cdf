"""Codes on their way have an owner, who waits for them, but not for ever."""

import asyncio
from collections.abc import Awaitable

import pytest

from turnwire.sign_in import deliveries
from turnwire.sign_in.deliveries import Deliveries

pytestmark = pytest.mark.anyio


async def _until(event: asyncio.Event, done: list[str]) -> None:
    try:
        await event.wait()
        done.append("sent")
    except asyncio.CancelledError:
        done.append("ended")
        raise


async def _timed(work: Awaitable[None]) -> float:
    began = asyncio.get_running_loop().time()
    await work
    return asyncio.get_running_loop().time() - began


async def test_what_never_arrives_is_ended_when_its_owner_goes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deliveries, "_LEAVE_SECONDS", 0.05)
    owner, done = Deliveries(), list[str]()
    owner.begin(_until(asyncio.Event(), done))
    assert 0.04 < await _timed(owner.close()) < 2
    assert done == ["ended"]
    assert await _timed(owner.close()) < 0.04


async def test_too_many_at_once_are_dropped_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(deliveries, "_MOST", 2)
    owner, go, done = Deliveries(), asyncio.Event(), list[str]()
    for _ in range(3):
        owner.begin(_until(go, done))
    go.set()
    await owner.idle()
    assert done == ["sent", "sent"]
    assert caplog.messages == ["too many codes are on their way; one was dropped"]


async def test_one_that_breaks_takes_no_other_along_and_its_words_are_not_logged(
    caplog: pytest.LogCaptureFixture,
):
    async def breaks() -> None:
        raise RuntimeError("CANARY 123456")

    owner, go, done = Deliveries(), asyncio.Event(), list[str]()
    owner.begin(breaks())
    owner.begin(_until(go, done))
    go.set()
    await owner.idle()
    assert done == ["sent"]
    assert caplog.messages == ["a code was not sent: RuntimeError"]
