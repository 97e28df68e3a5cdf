"""What is wrong with a message before any rule reads it."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from turnwire.nodes.guardrails.normalise import without_invisible

Fault = Literal["empty", "too_long", "control_characters", "lone_surrogate"]

# Tab, line feed, vertical tab, form feed, return and NEL come with pasted text.
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def find_fault(
    messages: Sequence[str], *, max_characters: int, max_total_characters: int
) -> Fault | None:
    """Return the first reason why ``messages`` cannot be used, or none.

    Lengths are in characters (code points), as written. A message that shows nothing counts as
    empty; one empty message among others does no harm.
    """
    lengths = [len(each) for each in messages]
    if sum(lengths) > max_total_characters or max(lengths, default=0) > max_characters:
        return "too_long"
    if any(_SURROGATE.search(each) for each in messages):
        return "lone_surrogate"
    if any(_CONTROL.search(each) for each in messages):
        return "control_characters"
    if not any(without_invisible(each).strip() for each in messages):
        return "empty"
    return None
