"""Whether a question is like the examples of what is in scope."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from turnwire.nodes.guardrails.sections import ScopeRules, spoken

Matrix = npt.NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into vectors whose dot product says how near their meanings are."""

    def encode(self, texts: Sequence[str], /) -> Matrix:
        """Return float32 of shape ``(len(texts), dims)``, each row of length 1. Thread-safe."""
        ...


@dataclass(frozen=True, slots=True)
class Likeness:
    """The examples that are nearest to a question, and how near they are (cosine)."""

    example: str
    nearness: float
    counterexample: str | None
    counter_nearness: float
    """-1 where there is no counterexample."""
    needed: float
    """How near an example has to be."""

    @property
    def holds(self) -> bool:
        """Whether the question is like an example: near one, and nearer than to the others."""
        return self.nearness >= max(self.needed, self.counter_nearness)


class Examples:
    """The examples of a policy's scope, encoded once; ask from any thread."""

    def __init__(self, rules: ScopeRules, encoder: Encoder) -> None:
        self._fair = tuple(spoken(rules.examples))
        self._other = tuple(spoken(rules.counterexamples))
        self._needed = rules.similarity
        self._encoder = encoder
        self._encoding = threading.Lock()
        self._rows: Matrix | None = None

    def likeness(self, question: str) -> Likeness:
        """Return what ``question`` is like; the time is that of encoding it."""
        nearness = self._encoded() @ self._encoder.encode([question])[0]
        fair, other = nearness[: len(self._fair)], nearness[len(self._fair) :]
        return Likeness(
            example=self._fair[int(fair.argmax())],
            nearness=float(fair.max()),
            counterexample=self._other[int(other.argmax())] if self._other else None,
            counter_nearness=float(other.max(initial=-1.0)),
            needed=self._needed,
        )

    def warm(self) -> None:
        """Encode the examples now, and not in a member's turn."""
        self._encoded()

    def _encoded(self) -> Matrix:
        with self._encoding:
            if self._rows is None:
                self._rows = self._encoder.encode([*self._fair, *self._other])
            return self._rows
