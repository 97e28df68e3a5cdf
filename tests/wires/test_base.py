import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.wires.base import WireMessage, to_json
from turnwire.wires.framings.sse import CONTENT_TYPE, KEEP_ALIVE, frames

ANY_TEXT = st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def without_nan(value: Any) -> Any:  # noqa: ANN401
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [without_nan(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {name: without_nan(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


@given(VALUES)
def test_any_value_is_one_line_of_json_that_means_the_same(value: Any):  # noqa: ANN401
    text = to_json(value)

    assert len(text.splitlines()) <= 1 or text.isascii()
    assert not set(text) & set("\u2028\u2029\u0085\n\r")
    text.encode()
    assert json.loads(text, parse_constant=refuse) == without_nan(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        ([float("inf"), -float("inf")], "[null,null]"),
        ("a\u2028b\u2029c\u0085d", '"a\\u2028b\\u2029c\\u0085d"'),
        ("line\nbreak\r", '"line\\nbreak\\r"'),
        ("\ud83c", '"\\ud83c"'),
        (10**30, str(10**30)),
        ("naïve 🌦", '"naïve 🌦"'),
    ],
)
def test_what_json_finds_hard_has_a_stated_form(value: object, text: str):
    assert to_json(value) == text


@pytest.mark.parametrize(
    "value", [["\ud83c", float("nan")], [10**30, float("inf")], {"\ud83c": {"x": float("nan")}}]
)
def test_two_hard_things_at_once_are_still_json(value: object):
    json.loads(to_json(value), parse_constant=refuse)


def test_a_message_is_three_lines_and_a_blank_one():
    assert frames([WireMessage("trn_1.1", "token", '{"text":"é"}')]) == (
        'id: trn_1.1\nevent: token\ndata: {"text":"é"}\n\n'.encode()
    )


def test_a_heartbeat_is_a_comment_and_no_event():
    assert KEEP_ALIVE.startswith(b":")
    assert KEEP_ALIVE.endswith(b"\n\n")
    assert CONTENT_TYPE == "text/event-stream; charset=utf-8"
