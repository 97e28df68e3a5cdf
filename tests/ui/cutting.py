"""A proxy that cuts the streams that run through it, each connection as it was told to."""

import asyncio
import socket
import struct
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

_PIECE: Final = 4096
_PATIENCE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Cut:
    """What becomes of one connection after so many bytes of its answers."""

    after: int
    by: str = "reset"
    """``reset``, ``close``, or ``silence``, which leaves it open and passes nothing on."""


class CuttingProxy:
    """Stands before a server; connections beyond the given cuts are left alone."""

    def __init__(self, target: tuple[str, int], *cuts: Cut) -> None:
        self._target = target
        self._cuts = deque(cuts)
        self._ready = threading.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[str] = []
        """The first line of each request, and its ``Last-Event-ID``."""
        self.done = 0
        """How many connections were cut."""
        self.url = ""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(_PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_PATIENCE)
        assert not self._thread.is_alive()

    def cut(self, *cuts: Cut) -> None:
        """Cut the next connections, and close those that are open, so that there will be some."""
        self._cuts.extend(cuts)
        for each in list(self._connections):
            self._loop.call_soon_threadsafe(each.cancel)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for each in list(self._connections):
            each.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        cut = self._cuts.popleft() if self._cuts else None
        forth: asyncio.StreamWriter | None = None
        try:
            server, forth = await asyncio.open_connection(*self._target)
            async with asyncio.TaskGroup() as both:
                up = both.create_task(self._requests(client, forth))
                await self._answers(server, back, cut)
                up.cancel()
        except asyncio.CancelledError:
            pass  # the streams of asyncio report a cancelled connection as a fault
        finally:
            for each in (back, forth):
                if each is not None:
                    each.transport.abort()
            self._connections.discard(task)

    async def _requests(self, client: asyncio.StreamReader, forth: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while got := await client.read(_PIECE):
                self._note(got)
                forth.write(got)
                await forth.drain()
        forth.close()  # a client that has gone takes its connection along

    def _note(self, got: bytes) -> None:
        head = got.decode("latin-1").split("\r\n")
        if head[0].endswith(" HTTP/1.1"):
            after = [each for each in head if each.lower().startswith("last-event-id:")]
            self.requests.append(" ".join([head[0].removesuffix(" HTTP/1.1"), *after]))

    async def _answers(
        self, server: asyncio.StreamReader, back: asyncio.StreamWriter, cut: Cut | None
    ) -> None:
        passed = 0
        with suppress(ConnectionError):
            while got := await server.read(_PIECE):
                whole = cut is None or passed + len(got) <= cut.after
                back.write(got if cut is None or whole else got[: cut.after - passed])
                await back.drain()
                passed += len(got)
                if cut is not None and not whole:
                    await self._cut(back, cut.by)
                    return

    async def _cut(self, back: asyncio.StreamWriter, by: str) -> None:
        self.done += 1
        if by == "silence":
            await asyncio.Event().wait()
        elif by == "close":
            back.close()
            await back.wait_closed()
        else:
            linger = struct.pack("ii", 1, 0)
            back.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
