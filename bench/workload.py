"""One turn of the benchmark: how many tokens, which, and how long the model thinks over each.

Only the standard library, so that the bare peers do not carry LangGraph's memory.
"""

import os
from typing import Final

TOKENS: Final = 200
"""Tokens of one answer."""

TURNS: Final = 10
"""Turns of one socket, and so of its conversation, which a graph reads anew for each turn."""

DELAY_VARIABLE: Final = "BENCH_DELAY_MS"

_SENTENCE: Final = "The claim was filed on Monday and the adjuster will call you before noon ."


def words() -> tuple[str, ...]:
    """Return the answer's tokens, ``TOKENS`` of them, each with its leading space."""
    sentence = _SENTENCE.split()
    return tuple(" " + sentence[index % len(sentence)] for index in range(TOKENS))


def delay_s() -> float:
    """Return the seconds the model takes for each token, the first one included."""
    return float(os.environ.get(DELAY_VARIABLE, "0")) / 1000  # noqa: TID251 - not the product
