"""What cannot be read is refused before any rule reads it."""

from collections.abc import Sequence

import pytest

from turnwire.nodes.guardrails.sections import Limits
from turnwire.nodes.guardrails.validation import find_fault, tokens


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        (["hello"], None),
        (["hi\tyou\r\n\x0c"], None),
        ([], "empty"),
        ([""], "empty"),
        ([" \n\u200b\u00a0"], "empty"),
        (["", "hello"], None),
        (["a" * 10], None),
        (["a" * 11], "too_long"),
        (["a" * 9, "b" * 9], "too_long"),
        (["a\x00b"], "control_characters"),
        (["fine", "a\x1b[31m"], "control_characters"),
        (["a\x9bb"], "control_characters"),
        (["a\ud800b"], "lone_surrogate"),
        (["😀"], None),
    ],
)
def test_the_first_fault_is_named(messages: Sequence[str], fault: str | None):
    limits = Limits(max_characters=10, max_total_characters=15)
    assert find_fault(messages, limits) == fault


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("four", 1), ("five!", 2), ("ñañá", 2), ("你好吗", 3), ("😀", 1)]
)
def test_a_token_is_counted_as_four_bytes(text: str, count: int):
    assert tokens(text) == count


@pytest.mark.parametrize(
    ("messages", "fault"),
    [(["abcdefgh"], None), (["abcdefghi"], "too_long"), (["abcdefgh", "abcdefgh"], "too_long")],
)
def test_tokens_are_limited_in_one_message_and_in_all(messages: Sequence[str], fault: str | None):
    assert find_fault(messages, Limits(max_tokens=2, max_total_tokens=3)) == fault


def test_a_message_of_the_longest_length_is_not_too_long_in_any_script():
    for letter in "aд你":
        assert find_fault([letter * 8_000], Limits()) is None
