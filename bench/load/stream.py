"""One connection that asks for one turn after the other and counts the tokens' frames.

It does as little as possible for each read: no HTTP library and no SSE parser, only a count of the
marker that starts a token's frame.
"""

import asyncio
import time
from typing import Final, Protocol, cast

from bench.load.tally import Tally
from bench.load.target import BODY_END, HEAD_END, Target

OK: Final = b"HTTP/1.1 200"


class Crowd(Protocol):
    """What a stream needs of the crowd that it belongs to."""

    target: Target
    tally: Tally
    measuring: bool
    window_began: float
    closing: bool
    open_streams: "set[Stream]"

    def on_open(self) -> None:
        """Note that a turn was accepted."""

    def error(self, what: str) -> None:
        """Count an error."""

    def goes_on(self) -> bool:
        """Whether a stream that ended a turn should ask for another."""
        ...

    def reconnect(self) -> None:
        """Open another stream in place of a lost one."""


class Stream(asyncio.Protocol):
    """One keep-alive connection."""

    __slots__ = ("_asked", "_began", "_crowd", "_head", "_last", "_seen", "_tail", "_transport")

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self._head = False
        self._tail: bytes = b""
        self._seen = 0
        self._began = 0.0
        self._last = 0.0
        self._asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first turn."""
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._crowd.open_streams.add(self)
        self._ask()

    def _ask(self) -> None:
        assert self._transport is not None
        self._head, self._tail, self._seen, self._asked = True, b"", 0, True
        self._began = self._last = time.perf_counter()
        self._transport.write(self._crowd.target.request)

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
            self._crowd.on_open()
        marker = self._crowd.target.marker
        found = data.count(marker)
        if found:
            self._count(found, now)
        if data.endswith(BODY_END):
            self._end()
        else:
            self._tail = data[1 - len(marker) :]

    def _count(self, found: int, now: float) -> None:
        crowd = self._crowd
        tally = crowd.tally
        if crowd.measuring:
            tally.tokens += found
            tally.together += found - 1
            if self._seen:
                tally.gaps.append(now - self._last)
            elif self._began >= crowd.window_began:
                tally.first.append(now - self._began)
        self._seen += found
        self._last = now

    def _end(self) -> None:
        crowd = self._crowd
        self._asked = False
        if self._seen != crowd.target.frames:
            crowd.error(f"a turn of {self._seen} token frames")
        elif crowd.measuring:
            crowd.tally.turns += 1
        if crowd.goes_on():
            self._ask()

    def _refused(self, data: bytes) -> None:
        head, _, body = data.partition(HEAD_END)
        status = head.partition(b"\r\n")[0].decode("latin-1")
        self._crowd.error(f"{status}: {body[:200].decode('utf-8', 'replace')}")
        self._asked = False
        self.close()
        self._crowd.reconnect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count a turn that was cut off, and try again."""
        self._crowd.open_streams.discard(self)
        if self._asked and not self._crowd.closing:
            self._asked = False
            self._crowd.error(f"connection lost in a turn: {exc or 'closed by the server'}")
            self._crowd.reconnect()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()
