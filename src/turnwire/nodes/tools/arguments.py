"""What a tool is called with: judged by its schema, named by a hash, and never quoted in errors."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import JsonValue
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

MOST: Final = 16_384
"""Characters of a call's arguments as JSON."""
_REASONS: Final = 5
_QUOTED: Final = 120


class Judge:
    """Tells what is wrong with the arguments of one tool's calls.

    Args:
        schema: JSON Schema, draft 2020-12. Nothing that it points at is fetched.

    Raises:
        ValueError: it is not a schema, or points at something that it does not hold.
    """

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"is no JSON Schema at {error.json_path}: {error.message}") from None
        self._validator = Draft202012Validator(dict(schema), registry=Registry())
        self._names = frozenset(_declared(schema))
        try:
            _resolve(schema)
        except Unresolvable:
            raise ValueError("points with $ref at something that it does not hold") from None

    def reasons(self, arguments: Mapping[str, JsonValue]) -> Sequence[str]:
        """Return what is wrong: names and rules of the schema, and no value; none if it is fine."""
        try:
            written = canonical(arguments)
        except (TypeError, ValueError, RecursionError):
            return ["arguments: have to be JSON"]
        if len(written) > MOST:
            return [f"arguments: have to be at most {MOST} characters of JSON"]
        errors = self._validator.iter_errors(json.loads(written))
        found = sorted({self._reason(each) for each in errors})
        return found[:_REASONS]

    def _reason(self, error: ValidationError) -> str:
        path = "arguments" + "".join(self._step(each) for each in error.absolute_path)
        given, rule = cast("Any", error.instance), cast("Any", error.validator_value)
        match error.validator:
            case "required":
                missing = [str(each) for each in rule if each not in given]
                return f"{path}: {', '.join(missing)} required"
            case "additionalProperties" | "unevaluatedProperties":
                return f"{path}: has members that are not allowed"
            case _:
                written = json.dumps(rule, default=str)[:_QUOTED]
                return f"{path}: has to pass {error.validator}: {written}"

    def _step(self, step: str | int) -> str:
        """Return a step of a path; a name that is not the schema's was made up by a model."""
        if isinstance(step, int):
            return f"[{step}]"
        return f".{step}" if step in self._names else ".?"


def canonical(value: object) -> str:
    """Return the one way to write a value as JSON: keys in order, no spaces, ASCII, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return the SHA-256 of a tool's name and its arguments in canonical JSON."""
    return hashlib.sha256(canonical([tool, dict(arguments)]).encode()).hexdigest()


def _resolve(schema: Mapping[str, JsonValue]) -> None:
    """Return if all that a schema points at is in it, or raise ``Unresolvable``."""
    resource: Resource[Any] = DRAFT202012.create_resource(dict(schema))
    base = resource.id() or ""
    resolver = Registry[Any]().with_resource(base, resource).resolver(base)
    for each in _references(schema):
        resolver.lookup(each)


def _declared(schema: object) -> Iterator[str]:
    """Yield the names of all properties, at any depth."""
    if isinstance(schema, Mapping):
        members = cast("Mapping[str, object]", schema)
        properties = members.get("properties")
        if isinstance(properties, Mapping):
            yield from cast("Mapping[str, object]", properties)
        for each in members.values():
            yield from _declared(each)
    elif isinstance(schema, list):
        for each in cast("list[object]", schema):
            yield from _declared(each)


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        members = cast("Mapping[str, object]", schema)
        pointed = members.get("$ref")
        if isinstance(pointed, str):
            yield pointed
        for each in members.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in cast("list[object]", schema):
            yield from _references(each)
