"""WebSockets as uvicorn speaks them with wsproto, which end also where nobody reads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypedDict, cast

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto import events
from wsproto.utilities import LocalProtocolError

from turnwire.server.messages import MAX_WHOLE_BYTES
from turnwire.server.together import TEXTS

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

_PONG_SECONDS: Final = 20.0
"""How long a client may take to answer a ping of ours."""
_LAST_SECONDS: Final = 10.0
"""How long a client may take to read the last that it was sent, and to answer the close."""

_TOO_BIG: Final = 1009


class BoundedSocket(WSProtocol):
    """Ends a connection within seconds of its close, whether or not its client reads.

    uvicorn sends a close when there is room, and closes a transport when all has left: neither
    happens where nobody reads. And while a client still sends, a connection that is closed at once
    is reset, and the client never learns why.
    """

    async def run_asgi(self) -> None:
        """Serve the connection, and say that several texts are taken at once."""
        self.scope.setdefault("extensions", {})[TEXTS] = {}
        await super().run_asgi()

    async def send(self, message: "ASGISendEvent") -> None:
        """See the ASGI specification; a close does not wait for room."""
        if "texts" in message:
            await self._send_together(cast("Sequence[str]", message["texts"]))
            return
        if message["type"] != "websocket.close" or not self.handshake_complete:
            await super().send(message)
            return
        self.writable.set()
        await super().send(message)
        self._leave()

    async def _send_together(self, texts: Sequence[str]) -> None:
        await self.writable.wait()
        if self.disconnected or self.close_sent:
            raise ClientDisconnected
        try:
            frames = [self.conn.send(events.TextMessage(data=each)) for each in texts]
        except LocalProtocolError as left:
            raise ClientDisconnected from left
        if not self.transport.is_closing():
            self.transport.write(b"".join(frames))

    def shutdown(self) -> None:
        """The server ends; an open socket closes itself when what it tells has ended."""
        if not self.handshake_complete or self.close_sent:
            super().shutdown()

    def handle_message(self, event: events.TextMessage | events.BytesMessage) -> None:
        """Take a part of a message; one that is too big is read on and dropped."""
        size = len(event.data.encode() if isinstance(event.data, str) else event.data)
        if self.buffer.length + size <= self.buffer.max_length:
            super().handle_message(event)
            return
        self.buffer.clear()
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _TOO_BIG})
        reason = f"over {self.buffer.max_length} bytes"
        close = events.CloseConnection(code=_TOO_BIG, reason=reason)
        self.transport.write(self.conn.send(close))
        self._leave()

    def keepalive_timeout(self) -> None:
        """The client has answered no ping."""
        super().keepalive_timeout()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006})
        self._leave()

    def _leave(self) -> None:
        """Wait for the client's close, but not for long; the timer ends with the connection."""
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(_LAST_SECONDS, self.transport.abort)


class SocketOptions(TypedDict):
    """What uvicorn's configuration says of sockets."""

    ws: type[BoundedSocket]
    ws_max_size: int
    ws_ping_interval: float
    ws_ping_timeout: float
    ws_per_message_deflate: bool


def socket_options(*, heartbeat_seconds: float) -> SocketOptions:
    """Return how sockets are served; a silent one is pinged every ``heartbeat_seconds``."""
    return SocketOptions(
        ws=BoundedSocket,
        ws_max_size=MAX_WHOLE_BYTES,
        ws_ping_interval=heartbeat_seconds,
        ws_ping_timeout=_PONG_SECONDS,
        ws_per_message_deflate=False,  # a third of a megabyte a socket, and bombs
    )
