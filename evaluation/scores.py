"""Scoring: pure functions from what was seen to numbers."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final, TypeAlias

_Z: Final = 1.959964
"""The normal distribution's 97.5 % point: two-sided 95 %."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``hits`` of ``of``; hits are a fraction where single cases score between 0 and 1."""

    hits: float
    of: int

    @property
    def value(self) -> float | None:
        """The share, or none of nothing."""
        return self.hits / self.of if self.of else None

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of Wilson (1927), without continuity correction.

        For scores between 0 and 1 it is too wide and never too narrow, because no such score
        varies more than a yes or no of the same mean.
        """
        if not self.of:
            return 0.0, 1.0
        share, squared = self.hits / self.of, _Z * _Z
        middle = (share + squared / (2 * self.of)) / (1 + squared / self.of)
        spread = sqrt(share * (1 - share) / self.of + squared / (4 * self.of * self.of))
        spread *= _Z / (1 + squared / self.of)
        return max(0.0, middle - spread), min(1.0, middle + spread)


def rate(answers: Iterable[bool]) -> Rate:
    """Return how many of ``answers`` are yes."""
    listed = list(answers)
    return Rate(sum(listed), len(listed))


def hit_at(k: int, ranked: Sequence[str], right: Iterable[str]) -> bool:
    """Whether one of ``right`` is among the first ``k``."""
    return not set(right).isdisjoint(ranked[:k])


def reciprocal_rank(ranked: Sequence[str], right: Iterable[str]) -> float:
    """Return 1 over the place of the first that is right, or 0 where none is."""
    wanted = set(right)
    return next((1 / place for place, each in enumerate(ranked, 1) if each in wanted), 0.0)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the least value that at least ``share`` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def squash(text: str) -> str:
    """Return the letters and digits of ``text`` in one spelling."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(each for each in folded if each.isalnum())


def words(text: str) -> list[str]:
    """Return the words and numbers of ``text`` in one spelling."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def holds(text: str, part: str) -> bool:
    """Whether the words of ``part`` stand in ``text`` in a row; case, marks and blanks aside."""
    return f" {' '.join(words(part))} " in f" {' '.join(words(text))} "


def is_gone(value: str, text: str) -> bool:
    """Whether no word of ``value`` is left in ``text``."""
    return set(words(value)).isdisjoint(words(text))


_MARKERS: Final = re.compile(r"\s*((?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\]\s*)+)([.,;:!?]*)")
_NUMBER: Final = re.compile(r"\d+")
Supports: TypeAlias = Callable[[str, str], bool]
"""Whether a sentence (first) is supported by a passage (second)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that was sent, and for each of its markers whether that passage supports it."""

    text: str
    supported: tuple[bool, ...] = ()


def claims(
    answer: str,
    passages: Mapping[int, str],
    *,
    supports: Supports,
    sentences: Callable[[str], Sequence[str]],
) -> tuple[Claim, ...]:
    """Return the sentences of ``answer``; a marker belongs to the sentence right before it.

    As in ALCE (Gao et al. 2023): precision counts markers, recall counts sentences. A marker
    that points at no passage supports nothing.
    """
    found: list[Claim] = []
    last = 0
    for marker in _MARKERS.finditer(answer):
        said = sentences(answer[last : marker.start()] + marker[2])
        last = marker.end()
        found += [Claim(each) for each in said[:-1]]
        numbers = [int(each) for each in _NUMBER.findall(marker[1])]
        text = said[-1] if said else ""
        found.append(Claim(text, tuple(supports(text, passages.get(n, "")) for n in numbers)))
    return (*found, *(Claim(each) for each in sentences(answer[last:])))


_MOST: Final = 0.7


def mostly_in(sentence: str, passage: str) -> bool:
    """Whether a passage has every number and seven of ten longer words of a sentence.

    A stand-in for entailment where a model writes freely: it misses a turned meaning.
    """
    said, there = words(sentence), set(words(passage))
    if any(each not in there for each in said if each.isdigit()):
        return False
    longer = [each for each in said if len(each) > 3]
    return bool(longer) and sum(each in there for each in longer) >= _MOST * len(longer)
