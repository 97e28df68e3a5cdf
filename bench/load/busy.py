"""Keep N streams busy, and look at a window of it.

The server's CPU time is read here too, so that both are measured over exactly the same window.
"""

import asyncio
import contextlib
import gc
import time
from dataclasses import dataclass
from typing import Any, Self

from bench import meter
from bench.load.crowd import Streams
from bench.load.tally import Tally, percentiles
from bench.load.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """How much is asked, and when it is looked at."""

    streams: int
    seconds: float
    warmup: float
    """Seconds before the window begins."""
    spread: float
    """Seconds that the first requests are spread over; streams that start together stay so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    """The counters of the machine at one moment, in seconds."""

    wall: float
    client: float
    server: float
    core: float

    @classmethod
    def now(cls, pid: int) -> Self:
        return cls(
            wall=time.perf_counter(),
            client=time.process_time(),
            server=meter.cpu_s(pid),
            core=meter.busy_s(meter.SERVER_CORE),
        )

    def since(self, before: Self) -> "_Used":
        return _Used(
            wall=self.wall - before.wall,
            client=self.client - before.client,
            server=self.server - before.server,
            core=self.core - before.core,
        )


async def busy(target: Target, plan: Busy, *, pid: int) -> dict[str, Any]:
    """Return what the window showed."""
    rss_before = meter.rss_kib(pid)
    async with asyncio.TaskGroup() as tasks:
        crowd = Streams(target, tasks)
        await _begin(crowd, plan)
        await asyncio.sleep(plan.warmup)
        # Our own collector must not pause what we time; the lists hold no cycles.
        gc.collect()
        gc.freeze()
        gc.disable()
        before = _Used.now(pid)
        crowd.measuring, crowd.window_began = True, time.perf_counter()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(plan.seconds):
                await crowd.broken.wait()
        crowd.measuring = False
        used = _Used.now(pid).since(before)
        rss = meter.rss_kib(pid)
        crowd.hang_up()
    memory = {"rss_before_kib": round(rss_before), "rss_kib": round(rss)}
    return _seen(crowd.tally, used) | memory


async def _begin(crowd: Streams, plan: Busy) -> None:
    for index in range(plan.streams):
        crowd.open()
        if plan.spread and index + 1 < plan.streams:
            await asyncio.sleep(plan.spread / plan.streams)


def _seen(tally: Tally, used: _Used) -> dict[str, Any]:
    tokens, wall = tally.tokens, used.wall
    others = max(0.0, used.core - used.server)
    return {
        "seconds": round(wall, 3),
        "turns": tally.turns,
        "tokens": tokens,
        "tokens_per_s": round(tokens / wall, 1),
        "cpu_us_per_token": round(used.server / tokens * 1e6, 2) if tokens else None,
        "server_utilisation": round(used.server / wall, 3),
        "client_utilisation": round(used.client / wall, 3),
        "others_on_server_core": round(others / wall, 3),
        "first_token_ms": percentiles(tally.first),
        "gap_ms": percentiles(tally.gaps, zeros=tally.together),
        "errors": tally.errors.total(),
        "error_kinds": dict(tally.errors.most_common(5)),
    }
