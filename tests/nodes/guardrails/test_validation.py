"""What cannot be read is refused before any rule reads it."""

from collections.abc import Sequence

import pytest

from turnwire.nodes.guardrails.validation import find_fault


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
    assert find_fault(messages, max_characters=10, max_total_characters=15) == fault
