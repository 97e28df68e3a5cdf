"""What is wrong with a message before any rule reads it."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from turnwire.nodes.guardrails.normalise import without_invisible
from turnwire.nodes.guardrails.sections import Limits

Fault = Literal["empty", "too_long", "control_characters", "lone_surrogate"]

# Tab, line feed, vertical tab, form feed, return and NEL come with pasted text.
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_BYTES_A_TOKEN: Final = 4
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def tokens(text: str) -> int:
    """Return about how many tokens a model reads: one for every four bytes of UTF-8, rounded up.

    That is near for prose in any script with the tokenizers of today, and less than the truth
    for strings of random characters.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)


def find_fault(messages: Sequence[str], limits: Limits) -> Fault | None:
    """Return the first reason why ``messages`` cannot be used, or none.

    Lengths are in characters (code points), as written, and in :func:`tokens`. A message that
    shows nothing counts as empty; one empty message among others does no harm.
    """
    if _is_too_long(messages, limits):
        return "too_long"
    if any(_SURROGATE.search(each) for each in messages):
        return "lone_surrogate"
    if any(_CONTROL.search(each) for each in messages):
        return "control_characters"
    if not any(without_invisible(each).strip() for each in messages):
        return "empty"
    return None


def _is_too_long(messages: Sequence[str], limits: Limits) -> bool:
    lengths = [len(each) for each in messages]
    total = sum(lengths)
    if total > limits.max_total_characters or max(lengths, default=0) > limits.max_characters:
        return True
    counts = [tokens(each) for each in messages]
    return sum(counts) > limits.max_total_tokens or max(counts, default=0) > limits.max_tokens
