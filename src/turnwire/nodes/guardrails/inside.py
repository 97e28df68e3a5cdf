"""Texts inside a message: a text, JSON in a text, or blocks."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from turnwire.graph.plain import change

Change = Callable[[str], str]

_AS_IT_IS: Final = frozenset(
    {"type", "id", "index", "data", "base64", "mime_type", "file_id", "signature"}
)
"""Members of a content block that are for machines; ``data`` and ``base64`` are files."""


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
