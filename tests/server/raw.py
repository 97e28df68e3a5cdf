"""A client made of a socket, so that it can leave as real ones do; and a proxy that cuts."""

import asyncio
import json
import socket
import struct
import threading
from types import TracebackType
from typing import Final, Literal, Self

from tests.needs import TCP_REPAIR

NEVER_READ: Final = 2048
"""Bytes of receive buffer of a client that does not read."""


Wire = Literal["execution", "answer"]


def request(
    key: str, question: str, *, accept: str = "text/event-stream", wire: Wire = "execution"
) -> bytes:
    """Return the bytes of ``POST /chat``, or of ``POST /chat/stream``."""
    asked: object = {"messages": [{"role": "user", "content": question}]}
    path, body = "/chat?tokens=true", json.dumps(asked).encode()
    if wire == "answer":
        path, body = "/chat/stream", json.dumps({"message": question}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: test\r\nAccept: {accept}\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class RawClient:
    """Asks one question and reads as much as it is told."""

    def __init__(
        self,
        address: tuple[str, int],
        key: str,
        question: str,
        *,
        accept: str = "text/event-stream",
        wire: Wire = "execution",
        buffer: int | None = None,
    ) -> None:
        self._socket = socket.socket()
        if buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.settimeout(10)
        self._socket.connect(address)
        self._socket.sendall(request(key, question, accept=accept, wire=wire))

    def read_until(self, text: str) -> str:
        """Read until ``text`` has come; return all."""
        got = b""
        while text.encode() not in got:
            more = self._socket.recv(65_536)
            assert more, f"the stream ended without {text!r}: {got!r}"
            got += more
        return got.decode()

    def vanish(self) -> None:
        """Leave without a word, as a machine that loses its power: later bytes get an RST."""
        self._socket.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        self._socket.close()

    def finish(self) -> None:
        """Leave in good order: FIN."""
        self._socket.close()

    def reset(self) -> None:
        """Leave at once: RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


class SilenceCutter:
    """A proxy that closes a connection on which the server says nothing for ``seconds``."""

    def __init__(self, target: tuple[str, int], *, seconds: float) -> None:
        self._target = target
        self._seconds = seconds
        self._ready = threading.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self.cut = 0
        self.url = ""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"
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
        forth: asyncio.StreamWriter | None = None
        try:
            server, forth = await asyncio.open_connection(*self._target)
            await self._relay(client, back, server, forth)
        finally:
            for each in (back, forth):
                if each is not None:
                    each.transport.abort()
            self._connections.discard(task)

    async def _relay(
        self,
        client: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        forth: asyncio.StreamWriter,
    ) -> None:
        async with asyncio.TaskGroup() as both:
            up = both.create_task(self._pump(client, forth))
            try:
                while True:
                    async with asyncio.timeout(self._seconds):
                        got = await server.read(65_536)
                    if not got:
                        break
                    back.write(got)
                    await back.drain()
                await back.drain()
                back.close()
                await back.wait_closed()
            except TimeoutError:
                self.cut += 1
            except ConnectionError:
                pass
            up.cancel()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while got := await source.read(65_536):
            sink.write(got)
            await sink.drain()
        # A client that has gone takes its connection along.
        sink.close()
