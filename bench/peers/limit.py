"""The limit: a raw ASGI app that writes pre-encoded frames, one a write, and knows nothing else.

No graph, no model, no numbering, no encoding: what the web server and the kernel leave over.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from bench.workload import delay_s, words

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

DELAY: Final = delay_s()
HEADERS: Final = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]


def frame(index: int, word: str) -> bytes:
    """Return the frame that turnwire's execution wire would send for this token."""
    return b'id: %d\nevent: token\ndata: {"text":"%s"}\n\n' % (index + 3, word.encode())


FRAMES: Final = tuple(frame(index, word) for index, word in enumerate(words()))


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """``POST /chat`` streams an answer, ``POST /idle`` waits, anything else is ready."""
    if scope["type"] != "http":
        return
    status = {"type": "http.response.start", "status": 200, "headers": HEADERS}
    await send(status)
    if scope["path"] == "/chat":
        for data in FRAMES:
            await asyncio.sleep(DELAY)
            await send({"type": "http.response.body", "body": data, "more_body": True})
    elif scope["path"] == "/idle":
        while (await receive())["type"] != "http.disconnect":
            pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
