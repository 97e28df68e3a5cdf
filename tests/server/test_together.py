"""What is ready together leaves a socket together, where the server can."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.server import ServerState

from turnwire.server.socket_protocol import BoundedSocket
from turnwire.server.together import TEXTS, send_together

pytestmark = pytest.mark.anyio


async def _sent(extensions: Mapping[str, Any]) -> list[Message]:
    """Return what a server is given to send for two texts."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "websocket", "headers": [], "extensions": extensions}
    websocket = WebSocket(scope, receive, send)
    await websocket.accept()
    await send_together(websocket, ["one", "two"])
    return sent[1:]


async def test_a_server_that_takes_several_texts_is_given_them_at_once():
    assert await _sent({TEXTS: {}}) == [{"type": "websocket.send", "texts": ["one", "two"]}]


async def test_any_other_server_is_given_one_text_after_the_other():
    assert await _sent({}) == [
        {"type": "websocket.send", "text": "one"},
        {"type": "websocket.send", "text": "two"},
    ]


class _Writes:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def close(self) -> None:
        self.closed.set()


_HANDSHAKE = (
    b"GET /ws/a HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def test_our_server_writes_texts_that_it_is_given_at_once_in_one_write():
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        websocket = WebSocket(scope, receive, send)
        await websocket.accept()
        await send_together(websocket, ["one", "two"])

    transport = _Writes()
    config = uvicorn.Config(app, ws=BoundedSocket, ws_ping_interval=None, log_config=None)
    config.load()
    socket = BoundedSocket(config, ServerState(), {})
    socket.connection_made(cast("asyncio.Transport", transport))
    socket.data_received(_HANDSHAKE)
    async with asyncio.timeout(10):
        await transport.closed.wait()
    _, texts, *_ = transport.writes
    assert texts == b"\x81\x03one\x81\x03two"
