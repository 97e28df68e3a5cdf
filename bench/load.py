"""The load generator: keeps N streams busy, counts the tokens' frames, prints JSON, stops itself.

It runs as its own process on its own core and does as little as possible for each read: no HTTP
library and no SSE parser, only a count of the marker that starts a token's frame. It also reads
the server's CPU time, so that both are measured over exactly the same window.

    python -m bench.load --url http://127.0.0.1:8000/chat --streams 50 --seconds 3
"""

import argparse
import asyncio
import contextlib
import gc
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

import uvloop

from bench import meter
from bench.workload import TOKENS

OK: Final = b"HTTP/1.1 200"
HEAD_END: Final = b"\r\n\r\n"
# The chunked body's last chunk (RFC 9112, section 7.1); no frame of ours has a line "0".
BODY_END: Final = b"\r\n0\r\n\r\n"
RETRY_S: Final = 0.05
MOST_ERRORS: Final = 2_000
OPENING: Final = 64
"""Connections that are being opened at the same time in the idle test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is asked, again and again."""

    host: str
    port: int
    request: bytes
    marker: bytes
    """The bytes that start a token's frame; longer than ``BODY_END``."""
    frames: int
    """How many such frames a whole turn has."""


@dataclass(slots=True)
class Tally:
    """What was seen in the window."""

    tokens: int = 0
    turns: int = 0
    together: int = 0
    """Tokens that came in one read with the token before them: a gap of nothing."""
    gaps: list[float] = field(default_factory=list[float])
    first: list[float] = field(default_factory=list[float])
    errors: Counter[str] = field(default_factory=Counter[str])


class Stream(asyncio.Protocol):
    """One keep-alive connection that asks for one turn after the other."""

    __slots__ = ("_asked", "_began", "_head", "_last", "_run", "_seen", "_tail", "_transport")

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._transport: asyncio.Transport | None = None
        self._head = False
        self._tail = b""
        self._seen = 0
        self._began = 0.0
        self._last = 0.0
        self._asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first turn."""
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._run.open_streams.add(self)
        self._ask()

    def _ask(self) -> None:
        assert self._transport is not None
        self._head, self._tail, self._seen, self._asked = True, b"", 0, True
        self._began = self._last = time.perf_counter()
        self._transport.write(self._run.target.request)

    def data_received(self, data: bytes) -> None:
        """Count the frames of this read."""
        now = time.perf_counter()
        data = self._tail + data
        if self._head:
            if HEAD_END not in data:
                self._tail = data
                return
            if not data.startswith(OK):
                self._refused(data)
                return
            self._head = False
            self._run.on_open()
        marker = self._run.target.marker
        found = data.count(marker)
        if found:
            self._count(found, now)
        if data.endswith(BODY_END):
            self._end()
        else:
            self._tail = data[1 - len(marker) :]

    def _count(self, found: int, now: float) -> None:
        run = self._run
        tally = run.tally
        if run.measuring:
            tally.tokens += found
            tally.together += found - 1
            if self._seen:
                tally.gaps.append(now - self._last)
            elif self._began >= run.window_began:
                tally.first.append(now - self._began)
        self._seen += found
        self._last = now

    def _end(self) -> None:
        run = self._run
        self._asked = False
        if self._seen != run.target.frames:
            run.error(f"a turn of {self._seen} token frames")
        elif run.measuring:
            run.tally.turns += 1
        if run.goes_on():
            self._ask()

    def _refused(self, data: bytes) -> None:
        head, _, body = data.partition(HEAD_END)
        status = head.partition(b"\r\n")[0].decode("latin-1")
        self._run.error(f"{status}: {body[:200].decode('utf-8', 'replace')}")
        self._asked = False
        self.close()
        self._run.reconnect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count a turn that was cut off, and try again."""
        self._run.open_streams.discard(self)
        if self._asked and not self._run.closing:
            self._asked = False
            self._run.error(f"connection lost in a turn: {exc or 'closed by the server'}")
            self._run.reconnect()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()


class Run:
    """One measurement: the streams, the window and what was seen in it."""

    def __init__(self, target: Target, *, pid: int | None) -> None:
        self.target = target
        self.tally = Tally()
        self.open_streams: set[Stream] = set()
        self.measuring = False
        self.closing = False
        self.window_began = float("inf")
        self.opened = 0
        self._pid = pid
        self._most_turns: int | None = None
        self._done = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def on_open(self) -> None:
        """Note that a turn was accepted."""
        self.opened += 1

    def error(self, what: str) -> None:
        """Count an error; too many end the run."""
        self.tally.errors[what] += 1
        if self.tally.errors.total() >= MOST_ERRORS:
            self._done.set()

    def goes_on(self) -> bool:
        """Whether a stream that ended a turn should ask for another."""
        if self._most_turns is not None and self.tally.turns >= self._most_turns:
            self._done.set()
        return not self.closing and not self._done.is_set()

    def reconnect(self) -> None:
        """Open another stream in place of a lost one, a little later."""
        if self.goes_on():
            self._loop.call_later(RETRY_S, self._connect_later)

    def _connect_later(self) -> None:
        if not self.closing:
            self._tasks.create_task(self.connect())

    async def connect(self) -> None:
        """Open one stream."""
        try:
            await self._loop.create_connection(
                lambda: Stream(self), self.target.host, self.target.port
            )
        except OSError as failure:
            self.error(f"no connection: {failure}")

    async def _begin(self, streams: int, spread: float) -> None:
        # Spread over one turn: streams that start together would stay together.
        for index in range(streams):
            self._tasks.create_task(self.connect())
            if spread and index + 1 < streams:
                await asyncio.sleep(spread / streams)

    def _server_cpu(self) -> float:
        return meter.cpu_s(self._pid) if self._pid else 0.0

    def _server_rss(self) -> float:
        return meter.rss_kib(self._pid) if self._pid else 0.0

    async def busy(self, plan: argparse.Namespace) -> dict[str, Any]:
        """Keep the streams busy and return what the window showed."""
        rss_before = self._server_rss()
        async with asyncio.TaskGroup() as self._tasks:
            await self._begin(plan.streams, plan.spread)
            await asyncio.sleep(plan.warmup)
            self._most_turns = plan.turns
            # Our own collector must not pause what we time; the lists hold no cycles.
            gc.collect()
            gc.freeze()
            gc.disable()
            core = meter.busy_s(meter.SERVER_CORE)
            server, client = self._server_cpu(), time.process_time()
            self.measuring, self.window_began = True, time.perf_counter()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(plan.seconds):
                    await self._done.wait()
            self.measuring = False
            wall = time.perf_counter() - self.window_began
            client, server = time.process_time() - client, self._server_cpu() - server
            others = meter.busy_s(meter.SERVER_CORE) - core - server
            rss = self._server_rss()
            self.hang_up()
        return self._seen(wall, client, server) | {
            "others_on_server_core": round(max(0.0, others / wall), 3),
            "rss_before_kib": round(rss_before),
            "rss_kib": round(rss),
        }

    def _seen(self, wall: float, client: float, server: float) -> dict[str, Any]:
        tally = self.tally
        tokens = tally.tokens
        return {
            "seconds": round(wall, 3),
            "turns": tally.turns,
            "tokens": tokens,
            "tokens_per_s": round(tokens / wall, 1),
            "cpu_us_per_token": round(server / tokens * 1e6, 2) if tokens else None,
            "server_utilisation": round(server / wall, 3),
            "client_utilisation": round(client / wall, 3),
            "first_token_ms": percentiles(tally.first),
            "gap_ms": percentiles(tally.gaps, zeros=tally.together),
            "errors": tally.errors.total(),
            "error_kinds": dict(tally.errors.most_common(5)),
        }

    async def idle(self, plan: argparse.Namespace) -> dict[str, Any]:
        """Open every stream, let the server come to rest, and return what each costs."""
        await self._open(min(50, plan.streams))  # what the first streams load is not theirs
        await self._rest()
        self.hang_up()
        await asyncio.sleep(0.5)
        await self._rest()
        self.closing, self.opened = False, 0
        before = self._server_rss()
        began = time.perf_counter()
        await self._open(plan.streams)
        opening = time.perf_counter() - began
        await self._rest()
        still_open, rss = len(self.open_streams), self._server_rss()
        self.hang_up()
        return {
            "asked": plan.streams,
            "opened": self.opened,
            "still_open": still_open,
            "opening_s": round(opening, 2),
            "rss_before_kib": round(before),
            "rss_kib": round(rss),
            "kib_per_stream": round((rss - before) / max(1, self.opened), 1),
            "errors": max(self.tally.errors.total(), plan.streams - still_open),
            "error_kinds": dict(self.tally.errors.most_common(5)),
        }

    async def _open(self, streams: int) -> None:
        self._most_turns = 0
        goal = self.opened + streams
        started = self.opened
        deadline = time.perf_counter() + 60
        async with asyncio.TaskGroup() as self._tasks:
            while self.opened + self.tally.errors.total() < goal:
                underway = started - self.opened - self.tally.errors.total()
                for _ in range(min(OPENING - underway, goal - started)):
                    self._tasks.create_task(self.connect())
                    started += 1
                await asyncio.sleep(0.002)
                if time.perf_counter() > deadline:
                    self.error("not open after 60 s")
                    return

    async def _rest(self) -> None:
        # At rest is less than a twentieth of a core for half a second; ten seconds at most.
        for _ in range(20):
            used = self._server_cpu()
            await asyncio.sleep(0.5)
            if self._server_cpu() - used < 0.025:
                return

    def hang_up(self) -> None:
        """Close every stream."""
        self.closing = True
        for stream in tuple(self.open_streams):
            stream.close()


def percentiles(seconds: list[float], *, zeros: int = 0) -> dict[str, float | int | None]:
    """Return p50 and p99 in milliseconds (nearest rank) of the values and as many zeros."""
    count = len(seconds) + zeros
    if not count:
        return {"p50": None, "p99": None, "max": None, "count": 0}
    ordered = sorted(seconds)

    def rank(share: float) -> float:
        index = min(count - 1, int(share * count)) - zeros
        return round(ordered[index] * 1000, 3) if index >= 0 else 0.0

    most = round(ordered[-1] * 1000, 3) if ordered else 0.0
    return {"p50": rank(0.5), "p99": rank(0.99), "max": most, "count": count}


def request_bytes(url: str, headers: Sequence[str], body: str) -> bytes:
    """Return the request as it goes over the wire (RFC 9112)."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    data = body.encode()
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Content-Type: application/json",
        "Accept: text/event-stream",
        f"Content-Length: {len(data)}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + HEAD_END + data


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="bench.load", description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--header", action="append", default=[], help="'Name: value'")
    parser.add_argument("--body", default='{"messages":[{"role":"user","content":"go"}]}')
    parser.add_argument("--marker", default="event: token", help="starts a token's frame")
    parser.add_argument("--frames", type=int, default=TOKENS, help="token frames of a whole turn")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3.0, help="longest window")
    parser.add_argument("--turns", type=int, help="end the window after so many turns")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds before the window")
    parser.add_argument("--spread", type=float, default=0.0, help="seconds to spread starts over")
    parser.add_argument("--pid", type=int, help="the server, to read its CPU time and memory")
    parser.add_argument("--idle", action="store_true", help="open the streams and only hold them")
    plan = parser.parse_args()
    if len(plan.marker) < len(BODY_END):
        parser.error(f"the marker needs {len(BODY_END)} bytes or more")
    return plan


async def measure(plan: argparse.Namespace) -> dict[str, Any]:
    """Return the measurement that the command line asks for."""
    parts = urlsplit(plan.url)
    target = Target(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 80,
        request=request_bytes(plan.url, plan.header, plan.body),
        marker=plan.marker.encode(),
        frames=plan.frames,
    )
    run = Run(target, pid=plan.pid)
    return await (run.idle(plan) if plan.idle else run.busy(plan))


def main() -> None:
    """Measure and print one JSON object."""
    plan = arguments()
    meter.allow_many_files()
    print(json.dumps(uvloop.run(measure(plan))))


if __name__ == "__main__":
    main()
