"""One connection that asks for one turn after the other and counts the tokens' frames."""

import asyncio
import time
from typing import Protocol, cast

from bench.load.tally import Tally
from bench.load.target import HEAD_END, Target


class Crowd(Protocol):
    """What a connection needs of the crowd that it belongs to."""

    target: Target
    tally: Tally
    measuring: bool
    window_began: float
    closing: bool
    open_streams: "set[Connection]"

    def open(self) -> None:
        """Begin to open one more."""

    def on_open(self) -> None:
        """Note that a turn, or a socket, was accepted."""

    def error(self, what: str) -> None:
        """Count an error."""

    def goes_on(self) -> bool:
        """Whether a stream that ended a turn should ask for another."""
        ...

    def reconnect(self) -> None:
        """Open another stream in place of a lost one."""


class Connection(asyncio.Protocol):
    """What streams and sockets have in common: asking, counting, ending and being cut off."""

    __slots__ = ("_asked", "_began", "_crowd", "_head", "_last", "_seen", "_tail", "_transport")

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self._head = False
        """Whether the head of an answer is still to come."""
        self._tail: bytes = b""
        self._seen = 0
        self._began = 0.0
        self._last = 0.0
        self._asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._crowd.open_streams.add(self)
        self._begin()

    def _begin(self) -> None:
        """Send what is sent first."""
        raise NotImplementedError

    def _ask(self) -> None:
        self._tail, self._seen, self._asked = b"", 0, True
        self._began = self._last = time.perf_counter()
        self._write(self._crowd.target.request)

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

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
