"""A stream of server-sent events: one turn after the other on a keep-alive connection.

It does as little as possible for each read: no HTTP library and no SSE parser, only a count of the
marker that starts a token's frame.
"""

import time
from typing import Final

from bench.load.connection import Connection
from bench.load.target import BODY_END, HEAD_END

OK: Final = b"HTTP/1.1 200"


class Stream(Connection):
    """One keep-alive connection."""

    __slots__ = ()

    def _begin(self) -> None:
        self._ask()

    def _ask(self) -> None:
        self._head = True
        super()._ask()

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
