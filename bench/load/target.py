"""What is asked, again and again, as it goes over the wire."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final
from urllib.parse import urlsplit

from turnwire.admission.ws_tokens import SECONDS, sign
from turnwire.clock import system_now

HEAD_END: Final = b"\r\n\r\n"
# The chunked body's last chunk (RFC 9112, section 7.1); no frame of ours has a line "0".
BODY_END: Final = b"\r\n0\r\n\r\n"
_SHORT: Final = 125


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, a request, and what its answer looks like."""

    host: str
    port: int
    request: bytes
    """What asks for a turn; empty: a socket that asks for none."""
    marker: bytes
    """The bytes that start a token's frame; longer than ``BODY_END``."""
    frames: int
    """How many such frames a whole turn has."""
    handshake: Callable[[], bytes] | None = None
    """What opens one more socket; none: turns are asked for over HTTP."""


def target(url: str, headers: Sequence[str], body: str, *, marker: str, frames: int) -> Target:
    """Return the target that the arguments describe."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    data = body.encode()
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Content-Type: application/json",
        "Accept: text/event-stream",
        f"Content-Length: {len(data)}",
        *headers,
    ]
    return Target(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 80,
        request="\r\n".join(lines).encode("latin-1") + HEAD_END + data,
        marker=marker.encode(),
        frames=frames,
    )


def socket_target(url: str, body: str, *, secret: str, marker: str, frames: int) -> Target:
    """Return a target whose turns are asked for over sockets.

    Each socket is another user's, in a session of its own.

    Args:
        url: where sockets are opened, without the session's id.
        body: the text message that asks for a turn; empty: none is asked for.
        secret: what turnwire's tokens are signed with; empty: none is sent.
        marker: as :class:`Target`.
        frames: as :class:`Target`.
    """
    parts = urlsplit(url)
    numbers = count()

    def handshake() -> bytes:
        name = f"bench-{os.getpid()}-{next(numbers)}"
        token = secret and sign(name, secret.encode(), expires=system_now() // 1000 + SECONDS)
        lines = [
            f"GET {parts.path}/{name}{token and f'?token={token}'} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        return "\r\n".join(lines).encode("latin-1") + HEAD_END

    return Target(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 80,
        request=masked(body.encode()) if body else b"",
        marker=marker.encode(),
        frames=frames,
        handshake=handshake,
    )


def masked(payload: bytes, *, first: int = 0x81) -> bytes:
    """Return a client's frame of at most 125 bytes (RFC 6455, section 5.2).

    Its mask is zero, which no browser may do and every server takes.
    """
    if len(payload) > _SHORT:
        raise ValueError("too long for a short frame")
    return bytes((first, 0x80 | len(payload), 0, 0, 0, 0)) + payload
