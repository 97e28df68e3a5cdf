"""Texts inside a value: what tools are called with, what they return, blocks of a message."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

Change = Callable[[str], str]

_AS_IT_IS: Final = frozenset(
    {"type", "id", "index", "data", "base64", "mime_type", "file_id", "signature"}
)
"""Members of a content block that are for machines; ``data`` and ``base64`` are files."""
_LEAST_DIGITS: Final = 7
"""A number with fewer is nobody's."""


def change(value: Any, by: Change) -> Any:  # noqa: ANN401 - JSON, and whatever else a tool is given
    """Return ``value`` with each text in it changed: keys, members, and numbers of many digits."""
    match value:
        case str():
            return by(value)
        case bool():
            return value
        case int() if len(str(abs(value))) >= _LEAST_DIGITS:
            text = str(value)
            changed = by(text)
            return value if changed == text else changed
        case dict():
            members = cast("Mapping[Any, Any]", value)
            return {change(key, by): change(each, by) for key, each in members.items()}
        case list() | tuple():
            return [change(each, by) for each in cast("list[Any]", value)]
        case _:
            return value


def change_content(content: Any, by: Change) -> Any:  # noqa: ANN401 - a message's content
    """Return a message's content with its texts changed: a text, JSON in a text, or blocks."""
    if isinstance(content, str):
        return _change_text(content, by)
    if isinstance(content, list):
        return [_change_block(each, by) for each in cast("list[Any]", content)]
    return content


def _change_text(text: str, by: Change) -> str:
    if text[:1] not in ("{", "["):
        return by(text)
    try:
        value = json.loads(text)
    except ValueError:
        return by(text)
    changed = change(value, by)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)


def _change_block(block: Any, by: Change) -> Any:  # noqa: ANN401
    match block:
        case str():
            return block if block.startswith("data:") else _change_text(block, by)
        case dict():
            members = cast("Mapping[str, Any]", block)
            return {
                key: each if key in _AS_IT_IS else _change_block(each, by)
                for key, each in members.items()
            }
        case list():
            return [_change_block(each, by) for each in cast("list[Any]", block)]
        case _:
            return change(block, by)
