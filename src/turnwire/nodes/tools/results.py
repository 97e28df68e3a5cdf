"""What a tool returned, as JSON by one stated rule.

Texts, numbers, booleans, none, lists and objects are what they are. Tuples and sets become lists;
models, data classes and other mappings objects; numpy's numbers and arrays Python's; dates,
decimals, UUIDs, paths and enumerations their usual text or value; bytes base64; NaN and infinities
null. Anything else is refused, and named by its path: a tool says what it means.
"""

import dataclasses
import re
from collections import deque
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final, cast

import numpy as np
from pydantic import BaseModel, JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from turnwire.errors import TurnwireError
from turnwire.graph.plain import mend, to_json

_DEEPEST: Final = 50
_STEP: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", re.ASCII)


class NotPlain(TurnwireError):
    """A tool returned what JSON can't say; the text names where, and never what."""


def plain(result: object) -> JsonValue:
    """Return a tool's result as JSON, or raise :class:`NotPlain`."""
    return to_json(_plain(result, "result", 0))


def _plain(value: Any, path: str, depth: int) -> Any:  # noqa: ANN401 - a tool may return anything
    if depth > _DEEPEST:
        raise NotPlain(f"the tool returned something too deep: {path}")
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic() | np.ndarray():
            return _plain(cast("Any", value).tolist(), path, depth + 1)
        case BaseModel():
            return _plain(dict(value), path, depth + 1)
        case Mapping():
            members = cast("Mapping[Any, Any]", value)
            return {
                _key(key): _plain(each, f"{path}.{_step(key)}", depth + 1)
                for key, each in members.items()
            }
        case list() | tuple() | Set() | deque():
            items = cast("Iterator[Any]", value)
            return [_plain(each, f"{path}[{n}]", depth + 1) for n, each in enumerate(items)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
            return _plain(fields, path, depth + 1)
        case _:
            return _usual(value, path)


def _usual(value: object, path: str) -> Any:  # noqa: ANN401 - pydantic's own type
    if isinstance(value, type) or hasattr(value, "__next__") or hasattr(value, "read"):
        raise NotPlain(f"the tool returned a {type(value).__name__} at {path}")
    try:
        return to_jsonable_python(value, bytes_mode="base64")
    except (PydanticSerializationError, ValueError):
        raise NotPlain(f"the tool returned a {type(value).__name__} at {path}") from None


def _key(key: object) -> str:
    return mend(str(to_json(key)))


def _step(key: object) -> str:
    return key if isinstance(key, str) and _STEP.fullmatch(key) else "?"
