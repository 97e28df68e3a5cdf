"""An answer that leaves sentence by sentence, each after its check."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from turnwire.nodes.answer.gate_sentences import Sentences


@dataclass(frozen=True, slots=True)
class Trip:
    """Why a sentence may not leave."""

    check: Literal["persona_stability", "pii", "hitl_review"]
    """``hitl_review``: a person decides about the draft; else it is not to be said at all."""
    reasons: tuple[str, ...]
    """Reason codes; never the words."""


SentenceCheck: TypeAlias = Callable[[str], Trip | None]
"""Looks at a sentence, with the sentences before it in front."""


def unchanged(sentence: str) -> str:
    """Return the sentence."""
    return sentence


class Gate:
    """Lets sentences pass until one trips the check; from that one on all is withheld.

    Args:
        check: called with each sentence and so much of the text before it.
        reach: how many words before a sentence the check has to see.
        edit: returns a sentence as it may be said; the check sees what it returns.
    """

    def __init__(
        self, check: SentenceCheck, *, reach: int, edit: Callable[[str], str] = unchanged
    ) -> None:
        self._check = check
        self._reach = reach
        self._edit = edit
        self._sentences = Sentences()
        self._before: deque[tuple[str, int]] = deque()
        self._words = 0
        self.passed: list[str] = []
        """The sentences that may be said."""
        self.withheld: list[str] = []
        """The one that tripped the check, and all behind it."""
        self.trip: Trip | None = None

    def feed(self, text: str) -> str:
        """Return the sentences that ``text`` makes whole and that may be said."""
        return "".join(
            passed for each in self._sentences.feed(text) if (passed := self._pass(each))
        )

    def flush(self) -> str:
        """Return what may still be said at the end of the text."""
        return "".join([self._pass(each) for each in self._sentences.flush()])

    def _pass(self, sentence: str) -> str:
        sentence = self._edit(sentence)
        if self.trip is None and not sentence.isspace():
            seen = "".join(each for each, _ in self._before) + sentence
            self.trip = self._check(seen)
        if self.trip is not None:
            self.withheld.append(sentence)
            return ""
        self.passed.append(sentence)
        self._remember(sentence)
        return sentence

    def _remember(self, sentence: str) -> None:
        words = len(sentence.split())
        self._before.append((sentence, words))
        self._words += words
        while self._words - self._before[0][1] >= self._reach:
            self._words -= self._before.popleft()[1]
