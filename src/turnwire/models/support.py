"""Whether the sentences that came closest answer the question at all.

Two signals, measured on the shipped health corpus with the embedded encoder:

- how near the best sentence is to the question (answerable ones reach 0.33 and more);
- what the question names that the best sentences do not. A word counts as much as the question
  changes its meaning without it, times how far it is from the nearest word of the sentences: the
  leg of ``a broken leg`` is there, and what makes it another question, ``broken``, is not.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from turnwire.models.language import language_of
from turnwire.models.vectors import Matrix

Words = Callable[[str], Iterable[str]]
"""Returns the words of a text that carry meaning, in a form that can be compared."""

Encode = Callable[[Sequence[str]], Matrix]
"""Returns a row of length 1 a text, whose dot product says how near the meanings are."""

NEAR_ENOUGH: Final = 0.275
"""The least nearness that is left after the deduction."""
_DEDUCTION: Final = 2.0
"""What a missing word of weight 1 takes away from the nearness."""
_MEANS_THE_SAME: Final = 0.75
"""From this cosine on, two words are one."""
_BEST: Final = 3
"""Sentences whose words are looked at."""
_MOST_WORDS: Final = 16
"""Words of a question that are looked at."""
_WORD: Final = re.compile(r"[^\W_]{2,}")


class Quoted(Protocol):
    """A sentence of a passage."""

    @property
    def text(self) -> str:
        """Its words."""
        ...

    @property
    def title(self) -> str:
        """The passage's."""
        ...

    @property
    def language(self) -> str:
        """The passage's, or "" where it is not known."""
        ...


def is_answered(question: str, among: Sequence[Quoted], *, encode: Encode, words: Words) -> bool:
    """Whether the nearest of the sentences speak of what is asked.

    What is missing tells nothing between two languages, whose words are never near enough.
    """
    nearness = encode([each.text for each in among]) @ encode([question])[0]
    mine = language_of(question)
    own = [at for at, each in enumerate(among) if mine and each.language in ("", mine)]
    if not own:
        return float(nearness.max()) >= NEAR_ENOUGH
    best = sorted(own, key=lambda at: -float(nearness[at]))[:_BEST]
    near = float(nearness[best[0]])
    if near < NEAR_ENOUGH:
        return False
    texts = [f"{among[at].text} {among[at].title}" for at in best]
    return near - _DEDUCTION * missing(question, texts, encode=encode, words=words) >= NEAR_ENOUGH


def missing(question: str, texts: Sequence[str], *, encode: Encode, words: Words) -> float:
    """Return how much the question's least supported word weighs, from 0 to 1."""
    asked = [each for each in _spoken(question) if any(words(each))][:_MOST_WORDS]
    there = [each for text in texts for each in _spoken(text) if any(words(each))]
    if not asked or not there:
        return 0.0
    stems = {stem for text in texts for stem in words(text)}
    absent = [each for each in asked if stems.isdisjoint(words(each))]
    if not absent:
        return 0.0
    nearest = (encode(absent) @ encode(list(dict.fromkeys(there))).T).max(axis=1)
    without = encode([_without(question, each) for each in absent]) @ encode([question])[0]
    return max(
        0.0 if near >= _MEANS_THE_SAME else (1.0 - float(whole)) * (1.0 - float(near))
        for whole, near in zip(without, nearest, strict=True)
    )


def _spoken(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def _without(question: str, word: str) -> str:
    return re.sub(rf"\b{re.escape(word)}\b", "", question, flags=re.IGNORECASE)
