"""All streams of one measurement: they are opened, replaced when lost, and closed together."""

import asyncio
from typing import Final

from bench.load.connection import Connection
from bench.load.socket import Socket
from bench.load.stream import Stream
from bench.load.tally import Tally
from bench.load.target import Target

RETRY_S: Final = 0.05
MOST_ERRORS: Final = 2_000


class Streams:
    """The crowd; ``tasks`` opens its connections."""

    def __init__(self, target: Target, tasks: asyncio.TaskGroup) -> None:
        self.target = target
        self.tally = Tally()
        self.open_streams: set[Connection] = set()
        self.measuring = False
        self.window_began = float("inf")
        self.closing = False
        self.opened = 0
        """Turns, or sockets, that were accepted so far."""
        self.broken = asyncio.Event()
        """Set after too many errors: the measurement should end."""
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()

    def on_open(self) -> None:
        """Note that a turn, or a socket, was accepted."""
        self.opened += 1

    def error(self, what: str) -> None:
        """Count an error; too many end the measurement."""
        self.tally.errors[what] += 1
        if self.tally.errors.total() >= MOST_ERRORS:
            self.broken.set()

    def goes_on(self) -> bool:
        """Whether a stream that ended a turn should ask for another."""
        return not self.closing and not self.broken.is_set()

    def reconnect(self) -> None:
        """Open another stream in place of a lost one, a little later."""
        if self.goes_on():
            self._loop.call_later(RETRY_S, self._open_later)

    def _open_later(self) -> None:
        if self.goes_on():
            self.open()

    def open(self) -> None:
        """Begin to open one stream."""
        self._tasks.create_task(self._connect())

    async def _connect(self) -> None:
        kind = Stream if self.target.handshake is None else Socket
        try:
            await self._loop.create_connection(
                lambda: kind(self), self.target.host, self.target.port
            )
        except OSError as failure:
            self.error(f"no connection: {failure}")

    def hang_up(self) -> None:
        """Close every stream and open no other."""
        self.closing = True
        for stream in tuple(self.open_streams):
            stream.close()
