"""A WebSocket that stays open: one turn after the other, or none.

No WebSocket library: the frames of a server are not masked, so that markers are counted in what
was read as it is (RFC 6455, section 5.2).
"""

import time
from typing import Final

from bench.load.connection import Connection
from bench.load.target import HEAD_END, masked
from bench.workload import TURNS

OPEN: Final = b"HTTP/1.1 101"
DONE: Final = b'"type":"done"'
FAILED: Final = b'"type":"error"'
_PING: Final = 0x89
_PONG: Final = 0x8A


class Socket(Connection):
    """One socket; one whose target asks for nothing only answers pings."""

    __slots__ = ("_turns",)

    def _begin(self) -> None:
        handshake = self._crowd.target.handshake
        assert handshake is not None
        self._head, self._turns = True, 0
        self._write(handshake())

    def data_received(self, data: bytes) -> None:
        """Count the frames of this read."""
        now = time.perf_counter()
        if self._asked:
            self._hear(self._tail + data, now)
        elif self._head:
            self._open(self._tail + data)
        elif data[0] == _PING:  # nothing else comes while nothing is asked
            self._write(masked(data[2 : 2 + data[1]], first=_PONG))

    def _open(self, data: bytes) -> None:
        if HEAD_END not in data:
            self._tail = data
            return
        if not data.startswith(OPEN):
            self._refused(data)
            return
        self._head = False
        self._crowd.on_open()
        if self._crowd.target.request:
            self._ask()

    def _hear(self, data: bytes, now: float) -> None:
        marker = self._crowd.target.marker
        found = data.count(marker)
        if found:
            self._count(found, now)
        if FAILED in data:
            self._fail(data)
        elif DONE in data:
            self._end()
        else:
            self._tail = data[1 - len(marker) :]

    def _ask(self) -> None:
        if self._turns == TURNS:  # a new one, in a session of its own
            self.close()
            self._crowd.open()
            return
        self._turns += 1
        super()._ask()

    def _fail(self, data: bytes) -> None:
        said = data[data.index(FAILED) :][:200].decode("utf-8", "replace")
        self._crowd.error(f"a turn failed: {said}")
        self._asked = False
        self.close()
        self._crowd.reconnect()
