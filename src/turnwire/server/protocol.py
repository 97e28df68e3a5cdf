"""HTTP/1.1 as uvicorn speaks it, with bounds on a request's head, and refusals in our envelope."""

import asyncio
import json
import socket
from asyncio import TimerHandle
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from turnwire.errors import AdmissionRefused, HeadTooLarge, InvalidRequest, RequestTimeout
from turnwire.ids import new_id

MAX_HEAD: Final = 2 * 1_048_576
"""Bytes of a request's line and headers. A header of a megabyte is still refused for what it is."""
MAX_HEAD_SECONDS: Final = 30.0
"""How long a head may take to come, from its first byte or the connection's beginning."""
UNHEARD_SECONDS: Final = 60.0
"""A client that acknowledges nothing for so long, although something is sent, has left."""

# RFC 5482. The system's own patience is a quarter of an hour; not every system has the option.
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)


class BoundedProtocol(HttpToolsProtocol):
    """Refuses heads that are too large or too slow, and leaves clients that are not there.

    The parser keeps a header in memory until it ends, whatever its length: uvicorn bounds neither
    the bytes nor the time. Bodies are bounded where they are read, see :mod:`.bodies`.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_bytes: int | None = 0
        """What has come of a head; none while a body or nothing at all is awaited."""
        self._head_due: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """See :class:`asyncio.Protocol`."""
        super().connection_made(transport)
        raw = transport.get_extra_info("socket")
        if raw is not None and _USER_TIMEOUT is not None:
            with suppress(OSError):  # no TCP
                raw.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, round(UNHEARD_SECONDS * 1000))
        self._head_due = self.loop.call_later(MAX_HEAD_SECONDS, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._end_of_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        if self.transport.is_closing():  # refused; what was under way is not read
            return
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > MAX_HEAD:
            self._refuse(HeadTooLarge(f"The headers are over their limit of {MAX_HEAD} bytes."))

    def on_message_begin(self) -> None:
        """A head begins; one that follows a body in the same bytes is counted from the next."""
        super().on_message_begin()
        if self._head_due is None:
            self._head_due = self.loop.call_later(MAX_HEAD_SECONDS, self._too_slow)
        if self._head_bytes is None:
            self._head_bytes = 1

    def on_headers_complete(self) -> None:
        """The head has come."""
        self._end_of_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(InvalidRequest(msg))

    def _end_of_head(self) -> None:
        self._head_bytes = None
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _too_slow(self) -> None:
        self._head_due = None
        if not self._head_bytes:  # a connection on which nothing was said
            self.transport.close()
            return
        self._refuse(RequestTimeout(f"The headers took longer than {MAX_HEAD_SECONDS:g} seconds."))

    def _refuse(self, error: AdmissionRefused) -> None:
        self._end_of_head()
        if self.transport.is_closing():
            return
        if self.cycle and not self.cycle.response_complete:  # it would stand in that answer
            self.transport.close()
            return
        request_id = new_id("req")
        facts = {"code": error.code, "message": str(error), "retryable": error.retryable}
        body = json.dumps({"error": {**facts, "request_id": request_id}}).encode()
        phrase = HTTPStatus(error.status).phrase
        head = (
            f"HTTP/1.1 {error.status} {phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\n"
            "cache-control: no-store\r\nx-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
