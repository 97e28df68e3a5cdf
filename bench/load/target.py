"""What is asked, again and again, as it goes over the wire."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

HEAD_END: Final = b"\r\n\r\n"
# The chunked body's last chunk (RFC 9112, section 7.1); no frame of ours has a line "0".
BODY_END: Final = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, a request, and what its answer looks like."""

    host: str
    port: int
    request: bytes
    marker: bytes
    """The bytes that start a token's frame; longer than ``BODY_END``."""
    frames: int
    """How many such frames a whole turn has."""


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
