"""A model provider on this machine: real HTTP, with every fault that a stream can have."""

import asyncio
import json
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

HANG: Final = "hang"
"""A step: say nothing more, until the client leaves."""
CUT: Final = "cut"
"""A step: close the connection in the middle of the body."""

Step = bytes | float | str
"""Bytes to write at once, a pause in seconds, :data:`HANG` or :data:`CUT`."""

DONE: Final = b"data: [DONE]\n\n"


def delta(text: str, **more: object) -> bytes:
    """Return one chunk of a chat completion, its characters raw."""
    return _event({"delta": {"content": text}, "finish_reason": None, **more})


def stopped(reason: str = "stop") -> bytes:
    """Return the chunk that ends an answer, and the usage that follows it."""
    return _event({"delta": {}, "finish_reason": reason}) + _chunk(
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
    )


def answer(*texts: str) -> bytes:
    """Return a whole answer as the bytes of its stream."""
    return b"".join(delta(each) for each in texts) + stopped() + DONE


def _event(choice: dict[str, object]) -> bytes:
    return _chunk({"choices": [{"index": 0, **choice}]})


def _chunk(body: dict[str, object]) -> bytes:
    about = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-1"}
    return f"data: {json.dumps({**about, **body}, ensure_ascii=False)}\n\n".encode()


class Provider:
    """Plays ``steps`` to each request; knows what was asked and who is still connected."""

    def __init__(self) -> None:
        self.steps: Sequence[Step] = (answer("hello"),)
        self.status = 200
        self.content_type = "text/event-stream"
        self.requests: list[dict[str, Any]] = []
        self.open = 0
        """Requests whose answer has not ended and whose client is still there."""
        self.left = 0
        """Clients that left before the answer's end."""
        self.url = ""
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None

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
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.partition(b":")[2])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            self.requests.append(json.loads(await reader.readexactly(length)))
            self.open += 1
            try:
                await self._answer(reader, writer)
            finally:
                self.open -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left += 1
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {self.status} X\r\nConnection: close\r\n"
        head += f"Content-Type: {self.content_type}\r\n"
        writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        await writer.drain()
        async with asyncio.TaskGroup() as both:
            gone = both.create_task(reader.read())
            playing = both.create_task(self._play(writer))
            await asyncio.wait({gone, playing}, return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                playing.cancel()
                self.left += 1
            gone.cancel()

    async def _play(self, writer: asyncio.StreamWriter) -> None:
        for step in self.steps:
            if isinstance(step, bytes):
                writer.write(b"%x\r\n%b\r\n" % (len(step), step))
                await writer.drain()
            elif isinstance(step, float):
                await asyncio.sleep(step)
            elif step == CUT:
                return
            else:
                await asyncio.Event().wait()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
