"""Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from collections.abc import Iterable
from typing import Final

from turnwire.wires.base import WireMessage

CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"

HEADERS: Final = {
    # nginx buffers proxied responses unless it is told not to; other proxies compress them.
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}

# A comment: parsers skip it without decoding, it has no id, and it is in no replay.
KEEP_ALIVE: Final = b": keep-alive\n\n"


def frames(messages: Iterable[WireMessage]) -> bytes:
    """Return an event block for each message; data is one line, line ends are LF.

    A message without an id leaves the client where it is: an empty one would send it back.
    """
    return "".join(
        [
            f"id: {id}\nevent: {name}\ndata: {data}\n\n"
            if id
            else f"event: {name}\ndata: {data}\n\n"
            for id, name, data in messages
        ]
    ).encode()
