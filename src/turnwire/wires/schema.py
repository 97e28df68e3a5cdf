"""A wire's frames as one JSON Schema."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema


def schema(wire: str, frames: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """Return the schema of a frame, ``{"id", "event", "data"}``, whichever it is.

    It is open: a later version may say more, so clients have to ignore what they do not know.
    """
    return _schema(wire, frames, _frame)


def message_schema(wire: str, frames: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """Return the schema of a message of a socket, ``{"type", "turn_id", "seq", …}``; as open."""
    return _schema(wire, frames, _message)


def _schema(
    wire: str,
    frames: Mapping[str, type[BaseModel]],
    shape: Callable[[str, Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    bodies = dict.fromkeys(frames.values())
    places, shared = models_json_schema(
        [(each, "validation") for each in bodies], ref_template="#/$defs/{model}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A frame of the {wire} wire",
        "oneOf": [shape(name, places[body, "validation"]) for name, body in frames.items()],
        "$defs": _opened(shared.get("$defs", {})),
    }


def _message(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "allOf": [dict(body)],
        "properties": {
            "type": {"const": name},
            "turn_id": {"type": "string"},
            "seq": {"type": "integer", "minimum": 1},
        },
        "required": ["type"],
    }


def _frame(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"id": {"type": "string"}, "event": {"const": name}, "data": dict(data)},
        "required": ["event", "data"],
    }


def _opened(node: Any) -> Any:  # noqa: ANN401 - a JSON Schema is any JSON
    if isinstance(node, dict):
        members = cast("Mapping[str, Any]", node).items()
        return {
            name: _opened(value)
            for name, value in members
            if not (name == "additionalProperties" and value is False)
        }
    if isinstance(node, list):
        return [_opened(each) for each in cast("list[Any]", node)]
    return node
