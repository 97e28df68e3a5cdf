"""Values that travel: text without broken characters, JSON without surprises, no huge pieces."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

PIECE: Final = 8192
"""Characters in one delta at most, so that no frame outgrows a client's line buffer."""

VALUE_CHARS: Final = 16_384
"""Characters of a tool's arguments or result that travel in an event."""

_EDGE: Final = 512
"""More than any private detail has."""
_MANY_DIGITS: Final = 1_000_000
"""Smaller numbers are nobody's."""

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_PAIR: Final = re.compile(r"([\ud800-\udbff])([\udc00-\udfff])")


class Joiner:
    """Mends characters that a provider cut in two: a surrogate pair over two chunks.

    A half that never gets its partner becomes U+FFFD, once.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held = ""
        """The first half of a character, which waits for the second."""

    def feed(self, text: str) -> str:
        """Return what can be said now of ``text`` and what was held back."""
        if not self.held and text.isascii():
            return text
        text = self.held + text
        self.held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self.held = text[:-1], text[-1]
        return mend(text)

    def flush(self) -> str:
        """Return what is still held back, at the end of the text."""
        held, self.held = self.held, ""
        return mend(held)


def is_whole(text: str) -> bool:
    """Whether ``text`` has no surrogates."""
    return text.isascii() or not _SURROGATE.search(text)


def mend(text: str) -> str:
    """Return ``text`` without surrogates: pairs joined, halves replaced by U+FFFD."""
    if is_whole(text):
        return text
    joined = _PAIR.sub(_join, text)
    return _SURROGATE.sub("\ufffd", joined)


def _join(pair: re.Match[str]) -> str:
    high, low = ord(pair[1]), ord(pair[2])
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def root_task(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Return the root graph's node and task id of a call, also from within a subgraph."""
    path = str(metadata.get("langgraph_checkpoint_ns") or metadata.get("langgraph_node") or "")
    node, _, task = path.partition("|")[0].partition(":")
    return node, task


def pieces(text: str) -> Iterator[str]:
    """Yield ``text`` in pieces that fit a frame."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def to_json(value: object) -> JsonValue:
    """Return ``value`` as JSON by one stated rule: what JSON can't say is said as its text.

    Sets and tuples become lists, models and dataclasses objects, NaN and infinities ``null``,
    bytes and unknown objects their text.
    """
    try:
        plain = to_jsonable_python(value, fallback=_as_text, bytes_mode="base64", by_alias=True)
    except UnicodeEncodeError:  # half a character in a key
        whole = _whole_keys(value)
        plain = to_jsonable_python(whole, fallback=_as_text, bytes_mode="base64", by_alias=True)
    return _tidy(plain)


def _whole_keys(value: Any) -> Any:  # noqa: ANN401 - anything at all may be in a graph's state
    match value:
        case dict():
            members = cast("Mapping[Any, Any]", value)
            return {
                mend(key) if isinstance(key, str) else key: _whole_keys(each)
                for key, each in members.items()
            }
        case list() | tuple():
            return [_whole_keys(each) for each in cast("list[Any]", value)]
        case _:
            return value


def unchanged(text: str) -> str:
    """Return the text."""
    return text


def preview(value: object, *, text: Callable[[str], str] = unchanged) -> JsonValue:
    """Return ``value`` as JSON, each text in it as ``text`` returns it.

    A value that is too large is cut, and says so. A private detail may be cut in two there, so
    the edge is left out where texts are changed.
    """
    plain = to_json(value)
    whole = plain if isinstance(plain, str) else str(plain)
    if len(whole) <= VALUE_CHARS:
        return plain if text is unchanged else change(plain, text)
    shown = whole[:VALUE_CHARS]
    if text is not unchanged:
        shown = text(shown)[:-_EDGE]
    return {"truncated": True, "characters": len(whole), "preview": shown}


def preview_arguments(given: object, *, text: Callable[[str], str]) -> dict[str, JsonValue]:
    """Return what a tool is called with, as an object; see :func:`preview`."""
    shown = preview(given, text=text)
    return shown if isinstance(shown, dict) else {"input": shown}


def change(value: Any, by: Callable[[str], str]) -> Any:  # noqa: ANN401 - JSON, and the like
    """Return ``value`` with each text in it changed: keys, members, and numbers of many digits."""
    match value:
        case str():
            return by(value)
        case int() | float() if not isinstance(value, bool) and abs(value) >= _MANY_DIGITS:
            written = str(value)
            changed = by(written)
            return value if changed == written else changed
        case dict():
            members = cast("Mapping[Any, Any]", value)
            return {change(key, by): change(each, by) for key, each in members.items()}
        case list() | tuple():
            return [change(each, by) for each in cast("list[Any]", value)]
        case _:
            return value


def _as_text(value: Any) -> str:  # noqa: ANN401 - anything at all may be in a graph's state
    return f"<{type(value).__name__}>"


def _tidy(plain: Any) -> JsonValue:  # noqa: ANN401 - walks whatever JSON it is given
    match plain:
        case float():
            return plain if math.isfinite(plain) else None
        case str():
            return mend(plain)
        case dict():
            members = cast("Mapping[str, Any]", plain)
            return {mend(str(key)): _tidy(each) for key, each in members.items()}
        case list() | tuple():
            return [_tidy(each) for each in cast("list[Any]", plain)]
        case _:
            return plain
