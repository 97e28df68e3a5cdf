"""What the model calls of one turn may take together, in tokens and in money.

Tokens are estimated where a provider has not reported them yet: four characters each, which is
OpenAI's rule of thumb for English.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import BaseMessage

from turnwire.graph.heard import estimated
from turnwire.models.roles import Price

_TURNS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls took."""

    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.usd + other.usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one turn may take; none is without limit."""

    tokens: int | None = None
    """Read and written together."""
    usd: float | None = None
    """US dollars."""

    def room(self, spent: Spent, price: Price, *, tokens_in: int) -> float:
        """Return how many tokens a model may still write after it has read ``tokens_in``.

        Infinity where nothing limits it; zero or less where it may not be called at all.
        """
        room = float("inf")
        if self.tokens is not None:
            room = self.tokens - spent.tokens_in - spent.tokens_out - tokens_in
        if self.usd is not None:
            left = self.usd - spent.usd - price.of(tokens_in, 0)
            each = price.of(0, 1)
            affordable = left / each if each else float("inf")
            room = min(room, affordable if left > 0 else 0)
        return room


UNLIMITED: Final = Budget()


class Ledger:
    """What each turn has spent; it remembers the newest turns."""

    def __init__(self, turns: int = _TURNS) -> None:
        self._turns = turns
        self._spent: dict[str, Spent] = {}

    def spent(self, turn_id: str) -> Spent:
        """Return what the turn has spent so far."""
        return self._spent.get(turn_id, Spent())

    def add(self, turn_id: str, spent: Spent) -> None:
        """Count what a call of the turn took."""
        self._spent[turn_id] = self._spent.pop(turn_id, Spent()) + spent
        if len(self._spent) > self._turns:
            del self._spent[next(iter(self._spent))]


def estimated_prompt(messages: Iterable[BaseMessage]) -> int:
    """Return about how many tokens a prompt is."""
    return estimated(sum(len(str(each.text)) for each in messages))
