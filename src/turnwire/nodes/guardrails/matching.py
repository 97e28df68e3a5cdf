"""Phrases found in a text, in time that is linear in it."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from turnwire.nodes.guardrails.phrases import Element, Wording, Words


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a phrase was found: words ``start`` to ``end`` (exclusive)."""

    label: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Excused:
    """Words of a text that tell of no event of now."""

    inside: frozenset[int]
    """A hit that has no other words than these is none."""
    at: frozenset[int]
    """A hit that begins at one of these is none."""

    def holds(self, hit: Hit) -> bool:
        """Whether ``hit`` is a fair wording."""
        return hit.start in self.at or self.inside.issuperset(range(hit.start, hit.end))


NOTHING_EXCUSED: Final = Excused(frozenset(), frozenset())


class Index:
    """Phrases, each with the label of its owner, found by their first words."""

    def __init__(self, phrases: Iterable[tuple[int, Wording]]) -> None:
        self._by_word: defaultdict[str, list[tuple[int, Wording]]] = defaultdict(list)
        self._by_prefix: defaultdict[str, list[tuple[int, Wording]]] = defaultdict(list)
        self._by_number: list[tuple[int, Wording]] = []
        words: set[str] = set()
        prefixes: set[str] = set()
        for label, sequence in phrases:
            for word in sequence[0].words:
                self._by_word[word].append((label, sequence))
            for prefix in sequence[0].prefixes:
                self._by_prefix[prefix].append((label, sequence))
            if sequence[0].above is not None:
                self._by_number.append((label, sequence))
            for element in sequence:
                words |= element.words
                prefixes |= set(element.prefixes)
        self._lengths = sorted({len(each) for each in self._by_prefix})
        self._words = frozenset(words)
        self._prefixes = tuple(prefixes)

    def knows(self, word: str) -> bool:
        """Whether any phrase has a place for ``word``."""
        return word in self._words or word.startswith(self._prefixes)

    @property
    def spelt(self) -> frozenset[str]:
        """The words, and the beginnings of words, that phrases have a place for."""
        return self._words.union(self._prefixes)

    def hits(self, text: Words) -> Iterator[Hit]:
        """Yield every phrase that begins at each word of ``text``, in order."""
        beginning: dict[str, list[tuple[int, Wording]]] = {}
        candidates: dict[tuple[str, str], list[tuple[int, Wording]]] = {}
        for start, pair in enumerate(pairwise((*text.words, ""))):
            if pair not in candidates:
                word, follower = pair
                if word not in beginning:
                    beginning[word] = self._beginning_with(word)
                candidates[pair] = [
                    each for each in beginning[word] if _may_follow(follower, each[1])
                ]
            for label, sequence in candidates[pair]:
                end = _match(sequence, text, start)
                if end:
                    yield Hit(label, start, end)

    def _beginning_with(self, word: str) -> list[tuple[int, Wording]]:
        found = list(self._by_word.get(word, ()))
        if word[0].isdigit():
            found += [each for each in self._by_number if each[1][0].fits(word)]
        for length in self._lengths:
            found += self._by_prefix.get(word[:length], ())
        return found


def _may_follow(word: str, sequence: Wording) -> bool:
    """Whether ``word``, or none where it is empty, may come second in ``sequence``."""
    if len(sequence) == 1:
        return True
    second = sequence[1]
    return bool(word) and (second.gap > 0 or second.fits(word))


def _match(sequence: Wording, text: Words, start: int) -> int:
    """Return where ``sequence``, begun at ``start``, ends at the latest, or 0."""
    ends = {start + 1}
    for element in sequence[1:]:
        ends = {at for end in ends for at in _next(element, text, end)}
        if not ends:
            return 0
    return max(ends)


def _next(element: Element, text: Words, end: int) -> Iterator[int]:
    words = text.words
    for at in range(end, min(end + element.gap + 1, len(words))):
        if at > end and text.sentences[at] != text.sentences[end - 1]:
            return
        if element.fits(words[at]):
            yield at + 1


def one_clause(text: Words, hit: Hit) -> bool:
    """Whether no punctuation stands inside ``hit``."""
    return text.clauses[hit.start] == text.clauses[hit.end - 1]


def near(groups: Sequence[Sequence[Hit]], within: int) -> bool:
    """Whether one hit of each group lies within so many words of a hit of the first."""
    first, *others = groups
    starts = [[each.start for each in group] for group in others]
    return any(all(_has_near(each, hit.start, within) for each in starts) for hit in first)


def _has_near(starts: Sequence[int], at: int, within: int) -> bool:
    place = bisect_left(starts, at - within)
    return place < len(starts) and starts[place] <= at + within
