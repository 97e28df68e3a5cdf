"""Open many streams, let the server come to rest, and look at what each costs in memory."""

import asyncio
import time
from typing import Any, Final

from bench import meter
from bench.load.crowd import Streams
from bench.load.target import Target

OPENING: Final = 64
"""Connections that are being opened at the same time."""
FIRST: Final = 50
"""Streams opened and closed before: what they load is not theirs."""
OPEN_WITHIN_S: Final = 60.0


async def idle(target: Target, streams: int, *, pid: int) -> dict[str, Any]:
    """Return how many opened, and what the server holds for each."""
    async with asyncio.TaskGroup() as tasks:
        first = Streams(target, tasks)
        await _open(first, min(FIRST, streams))
        await _rest(pid)
        first.hang_up()
        await asyncio.sleep(0.5)
        await _rest(pid)
        before = meter.rss_kib(pid)
        crowd = Streams(target, tasks)
        opening = await _open(crowd, streams)
        await _rest(pid)
        still_open, rss = len(crowd.open_streams), meter.rss_kib(pid)
        crowd.hang_up()
    errors = crowd.tally.errors + first.tally.errors
    return {
        "asked": streams,
        "opened": crowd.opened,
        "still_open": still_open,
        "opening_s": round(opening, 2),
        "rss_before_kib": round(before),
        "rss_kib": round(rss),
        "kib_per_stream": round((rss - before) / max(1, crowd.opened), 1),
        "errors": max(errors.total(), streams - still_open),
        "error_kinds": dict(errors.most_common(5)),
    }


async def _open(crowd: Streams, streams: int) -> float:
    """Open so many streams and return the seconds that it took."""
    began, started = time.perf_counter(), 0
    while (done := crowd.opened + crowd.tally.errors.total()) < streams:
        for _ in range(min(OPENING - (started - done), streams - started)):
            crowd.open()
            started += 1
        await asyncio.sleep(0.002)
        if time.perf_counter() - began > OPEN_WITHIN_S:
            crowd.error(f"not open after {OPEN_WITHIN_S:.0f} s")
            break
    return time.perf_counter() - began


async def _rest(pid: int) -> None:
    # At rest is less than a twentieth of a core for half a second; ten seconds at most.
    for _ in range(20):
        used = meter.cpu_s(pid)
        await asyncio.sleep(0.5)
        if meter.cpu_s(pid) - used < 0.025:
            return
