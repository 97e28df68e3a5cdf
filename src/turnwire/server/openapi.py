"""Say in OpenAPI what routes take and give that read their bodies themselves."""

from typing import Any

from pydantic import BaseModel


def takes(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the route options that describe a JSON body of one of ``models``."""
    schemas = [
        each.model_json_schema(ref_template="#/components/schemas/{model}") for each in models
    ]
    for each in schemas:
        _inline(each)
    schema = schemas[0] if len(schemas) == 1 else {"oneOf": schemas}
    return {
        "openapi_extra": {
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}
        }
    }


def answers_with(model: type[BaseModel]) -> dict[str, Any]:
    """Return the route options that describe an answer as JSON or as a stream."""
    return {
        "response_model": None,
        "responses": {
            200: {
                "model": model,
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
                "description": "The turn.",
            }
        },
    }


def streams_only() -> dict[str, Any]:
    """Return the route options that describe an answer that is always a stream."""
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "response_model": None,
        "responses": {200: {"content": content, "description": "The turn."}},
    }


def _inline(schema: dict[str, Any]) -> None:
    """Put local definitions where they are used: a body's schema stands alone."""
    definitions: dict[str, Any] = schema.pop("$defs", {})

    def walk(node: Any) -> Any:  # noqa: ANN401 - a JSON Schema is any JSON
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).rpartition("/")[2]  # pyright: ignore[reportUnknownArgumentType]
            if name in definitions:
                return walk(definitions[name])
            return {key: walk(value) for key, value in node.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(node, list):
            return [walk(each) for each in node]  # pyright: ignore[reportUnknownVariableType]
        return node

    schema.update(walk(schema))
