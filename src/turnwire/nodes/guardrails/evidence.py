"""Instructions that stand in what was found for the model to read."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from turnwire.events.guardrail import GuardrailDecision
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.pre import Clock
from turnwire.nodes.guardrails.reading import read

PREFIX: Final = "evidence_"
"""Begins the reason code, so that it is not taken for something that the member wrote."""
_REMEMBERED: Final = 2048


@dataclass(frozen=True, slots=True)
class Screening:
    """Which of the passages hold instructions."""

    decision: GuardrailDecision
    trips: tuple[bool, ...]
    """One a passage."""


class Screen:
    """Looks at passages; those that come up again are remembered. Ask from any thread."""

    def __init__(self, policy: Policy, *, clock: Clock = time.perf_counter) -> None:
        self._book = policy.injection_book
        self._clock = clock
        self._rule = lru_cache(maxsize=_REMEMBERED)(self._tripped)

    def look(self, passages: Sequence[str]) -> Screening | None:
        """Return which passages the policy's injection rules trip on, or none if none does.

        ``passages`` are whole: all that the model would read of each.
        """
        started = self._clock()
        rules = [self._rule(each) for each in passages]
        first = next((each for each in rules if each), None)
        if first is None:
            return None
        decision = GuardrailDecision(
            stage="pre",
            check="scope_rules",
            outcome="flag",
            reason=f"{PREFIX}{first}",
            duration_ms=round((self._clock() - started) * 1000),
        )
        return Screening(decision, tuple(each is not None for each in rules))

    def _tripped(self, passage: str) -> str | None:
        rules = self._book.tripped(read((passage,), known=self._book.knows))
        return rules[0].id if rules else None
