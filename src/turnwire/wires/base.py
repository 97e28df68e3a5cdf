"""What every wire is made of. All of it is pure: no await, no clock, no socket."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol, cast

import orjson
from pydantic import JsonValue

from turnwire.events import Envelope, Pause

CONFIRMATION: Final = ("tool_call_id", "name", "summary", "arguments_preview", "risk")
"""What a member is told of an action that waits for their word."""

FRAME_BYTES: Final = 60_000
"""A frame's data at most: many clients read lines of up to 64 KiB."""


class WireMessage(NamedTuple):
    """One message in some client's words, not yet framed."""

    id: str
    name: str
    data: str
    """JSON in one line, without any character at which a careless reader breaks lines."""


class Wire(Protocol):
    """Says events in some client's words; one instance a stream."""

    def say(self, envelope: Envelope, /) -> Iterable[WireMessage]:
        """Return the messages, none or several, that say this event."""
        ...

    def hear(self, envelope: Envelope, /) -> None:
        """Take note of an event that the client knows already, and say nothing."""
        ...

    def end(self, *, error_id: str) -> Iterable[WireMessage]:
        """Return what is owed to the client when the log has no more for it.

        A stream whose last run has no ending gets the error ``stream_interrupted``, under the
        ``error_id`` by which the operators find the cause.
        """
        ...


# Python's str.splitlines and some clients break lines here; JSON and SSE do not.
_BREAKS: Final = re.compile("[\u2028\u2029\u0085]")


def to_json(value: object) -> str:
    """Return ``value`` as JSON in one line; valid whatever the value holds.

    NaN is ``null`` (RFC 8259 has no other word for it); the line separators U+2028, U+2029 and
    U+0085 are escaped, so that a client that splits lines the Unicode way sees the same events.
    """
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, or an integer over 64 bits: rare, and slower
        return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if text.isascii():
        return text
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:  # noqa: ANN401 - walks whatever JSON it is given
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            members = cast("Mapping[str, Any]", value)
            return {name: _finite(each) for name, each in members.items()}
        case list() | tuple():
            return [_finite(each) for each in cast("list[Any]", value)]
        case _:
            return value


def iso(ms: int) -> str:
    """Return milliseconds since 1970 as an RFC 3339 time in UTC."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat(timespec="milliseconds")


def shown_payload(pause: Pause) -> JsonValue:
    """Return what clients read of a question: of a confirmation what the member is asked.

    The hash of an action's arguments is the server's own.
    """
    payload = pause.payload
    if pause.kind == "approval" and isinstance(payload, dict):
        return {name: each for name, each in payload.items() if name != "arguments_hash"}
    if pause.kind != "confirmation" or not isinstance(payload, dict):
        return payload
    return {name: payload[name] for name in CONFIRMATION if name in payload}
