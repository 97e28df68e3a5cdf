"""Kinds of values in bodies, each within what a store can keep."""

from math import isfinite
from typing import Annotated, Final

from pydantic import AfterValidator, JsonValue

from turnwire.ids import IDENTIFIER

MAX_DEPTH: Final = 64
"""How deep lists and objects of a free value may be nested; a checkpoint holds some hundreds."""
INTEGERS: Final = range(-(2**63), 2**64)
"""The whole numbers that a checkpoint can hold (MessagePack, "int format family")."""


def _clean(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains the character U+0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is not text") from None
    return text


def _identifier(text: str) -> str:
    if not IDENTIFIER.fullmatch(text):
        raise ValueError("is not an id: letters, digits, - and _, at most 128")
    return text


def _scalar(value: JsonValue) -> None:
    match value:
        case str():
            _clean(value)
        case int() if value not in INTEGERS:
            raise ValueError("has a whole number of more than 64 bits")
        case float() if not isfinite(value):
            raise ValueError("has a number that is too large")
        case _:
            pass


def _keepable(value: JsonValue, depth: int = 0) -> JsonValue:
    if depth > MAX_DEPTH:
        raise ValueError(f"is nested deeper than {MAX_DEPTH} levels")
    match value:
        case list():
            inner = value
        case dict():
            inner = [*value, *value.values()]
        case _:
            inner = ()
    _scalar(value)
    for each in inner:
        _keepable(each, depth + 1)
    return value


Text = Annotated[str, AfterValidator(_clean)]
Identifier = Annotated[str, AfterValidator(_identifier)]
Given = Annotated[JsonValue, AfterValidator(_keepable)]
"""Any JSON that a graph may be given and keep."""
