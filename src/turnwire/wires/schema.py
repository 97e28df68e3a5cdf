"""A wire's frames as one JSON Schema."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema


def schema(
    wire: str, frames: Mapping[str, type[BaseModel]], *, flat: bool = False
) -> dict[str, Any]:
    """Return the schema of a frame, ``{"id", "event", "data"}``, whichever it is.

    A ``flat`` frame is one object: what it carries stands beside its ``type``, and beside
    ``turn_id`` and ``seq`` where it is of a turn.

    It is open: a later version may say more, so clients have to ignore what they do not know.
    """
    frame = _flat if flat else _frame
    bodies = dict.fromkeys(frames.values())
    places, shared = models_json_schema(
        [(each, "validation") for each in bodies], ref_template="#/$defs/{model}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A frame of the {wire} wire",
        "oneOf": [frame(name, places[body, "validation"]) for name, body in frames.items()],
        "$defs": _opened(shared.get("$defs", {})),
    }


def _frame(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"id": {"type": "string"}, "event": {"const": name}, "data": dict(data)},
        "required": ["event", "data"],
    }


def _flat(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    head = {"type": {"const": name}, "turn_id": {"type": "string"}, "seq": {"type": "integer"}}
    return {"allOf": [{"type": "object", "properties": head, "required": ["type"]}, dict(data)]}


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
