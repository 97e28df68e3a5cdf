"""A proxy on loopback that cuts connections after so many bytes of what the server says."""

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

from tests.server.running import PATIENCE


class CuttingProxy:
    """Forwards to ``address``; each connection takes the next of ``cuts``, later ones are whole.

    A negative cut ends the connection with a reset, and any other in good order.
    """

    def __init__(self, address: tuple[str, int], cuts: Iterable[int] = ()) -> None:
        self.connections = 0
        self.address = address
        """Where new connections are forwarded to."""
        self._cuts = list(cuts)
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for each in self._open:
            each.transport.abort()
        await asyncio.gather(*self._open.values())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[writer] = task
        cut = self._cuts.pop(0) if self._cuts else None
        from_server, to_server = await asyncio.open_connection(*self.address)
        try:
            await asyncio.gather(_pump(reader, to_server, None), _pump(from_server, writer, cut))
        finally:
            self._open.pop(writer)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, cut: int | None) -> None:
    left = cut if cut is None else abs(cut)
    with suppress(OSError):
        while (left is None or left > 0) and (chunk := await source.read(65_536)):
            sink.write(chunk[:left])
            await sink.drain()
            if left is not None:
                left -= len(chunk)
    if cut is not None and cut < 0:
        sink.transport.abort()
    sink.close()
