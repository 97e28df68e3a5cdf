"""A small language for phrases that cannot be slow, and its matcher.

    chest pain              these words, next to each other, whatever stands between them
    chest (pain|is tight)   one of several
    (really)? tight         may be left out
    pain .. chest           up to three words between; ``..6`` up to six; within one sentence
    suicid*                 every word that begins so
    take NUMBER mg          any number

There are no nested groups and no unbounded repeats, so that matching is linear in the text.
Phrases and texts meet in the form of :func:`turnwire.nodes.guardrails.normalise.canonical`.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from turnwire.nodes.guardrails.normalise import canonical

_TOKEN: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|[.!?。…,;:()]")
_WORD: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_SENTENCE_END: Final = frozenset(".!?。…")
_ITEM: Final = re.compile(r"\.\.\d*|\([^()]*\)\??|\S+")
_NUMBER: Final = "NUMBER"
_DEFAULT_GAP: Final = 3
_MAX_GAP: Final = 12
_MAX_VARIANTS: Final = 400
_MIN_PREFIX: Final = 3


@dataclass(frozen=True, slots=True)
class Words:
    """A text as words, each with the sentence and the clause that it stands in."""

    words: tuple[str, ...]
    sentences: tuple[int, ...]
    clauses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One place in a phrase: what may stand there, and how many words may come before it."""

    words: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    number: bool = False
    gap: int = 0

    def fits(self, word: str) -> bool:
        """Whether ``word`` may stand here."""
        if word in self.words or word.startswith(self.prefixes):
            return True
        return self.number and word[0].isdigit()


Wording: TypeAlias = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a phrase was found: words ``start`` to ``end`` (exclusive)."""

    label: int
    start: int
    end: int


def split(text: str) -> Words:
    """Return the words of a canonical text."""
    words: list[str] = []
    sentences: list[int] = []
    clauses: list[int] = []
    sentence = clause = 0
    for token in _TOKEN.findall(text):
        if token[0].isalnum():
            words.append(token)
            sentences.append(sentence)
            clauses.append(clause)
            continue
        clause += 1
        sentence += token in _SENTENCE_END
    return Words(tuple(words), tuple(sentences), tuple(clauses))


def parse(phrase: str) -> tuple[Wording, ...]:
    """Return every way to say ``phrase``; ``ValueError`` says what is wrong with it."""
    variants: list[tuple[Wording, int]] = [((), 0)]
    for item in _ITEM.findall(phrase):
        if item.startswith(".."):
            gap = int(item[2:] or _DEFAULT_GAP)
            _require(gap <= _MAX_GAP, f"'{item}' spans too much; {_MAX_GAP} words are the most")
            variants = [(done, gap) for done, _ in variants]
            continue
        variants = list(_extend(variants, item))
        _require(len(variants) <= _MAX_VARIANTS, "it has too many variants; make two phrases of it")
    _require(all(done for done, _ in variants), "it has no word that must be there")
    _require(not any(gap for _, gap in variants), "'..' has to stand between two words")
    _require(not any(done[0].number for done, _ in variants), "it may not begin with NUMBER")
    return tuple(dict.fromkeys(done for done, _ in variants))


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _extend(
    variants: Iterable[tuple[Wording, int]], item: str
) -> Iterator[tuple[Wording, int]]:
    optional = item.endswith("?")
    body = item.removesuffix("?")
    grouped = body.startswith("(") and body.endswith(")")
    body = body[1:-1] if grouped else body
    _require(not set(body) & set("()") and (grouped or "|" not in body), f"'{item}' is unbalanced")
    choices = list(_choices(body))
    for done, gap in variants:
        if optional:
            yield done, gap
        for first, *rest in choices:
            opening = Element(first.words, first.prefixes, first.number, gap if done else 0)
            yield (*done, opening, *rest), 0


def _choices(body: str) -> Iterator[list[Element]]:
    singles: list[Element] = []
    for alternative in body.split("|"):
        elements = [_element(word) for word in _spelt(alternative)]
        _require(bool(elements), f"'{alternative}' has no letters")
        if len(elements) == 1:
            singles += elements
        else:
            yield elements
    if singles:
        yield [
            Element(
                frozenset().union(*(each.words for each in singles)),
                tuple(prefix for each in singles for prefix in each.prefixes),
                any(each.number for each in singles),
            )
        ]


def _spelt(alternative: str) -> Iterator[str]:
    for part in alternative.split():
        if part == _NUMBER:
            yield part
            continue
        words: list[str] = _WORD.findall(canonical(part))
        yield from words[:-1]
        for last in words[-1:]:
            yield last + "*" * part.endswith("*")


def _element(word: str) -> Element:
    if word == _NUMBER:
        return Element(number=True)
    if word.endswith("*"):
        _require(len(word) > _MIN_PREFIX, f"'{word}' is too short to begin a word")
        return Element(prefixes=(word[:-1],))
    return Element(words=frozenset((word,)))


class Index:
    """Phrases, found by their first words; ``labels`` says whose each phrase is."""

    def __init__(self, phrases: Iterable[tuple[int, Wording]]) -> None:
        self._by_word: defaultdict[str, list[tuple[int, Wording]]] = defaultdict(list)
        self._by_prefix: defaultdict[str, list[tuple[int, Wording]]] = defaultdict(list)
        words: set[str] = set()
        prefixes: set[str] = set()
        for label, sequence in phrases:
            for word in sequence[0].words:
                self._by_word[word].append((label, sequence))
            for prefix in sequence[0].prefixes:
                self._by_prefix[prefix].append((label, sequence))
            for element in sequence:
                words |= element.words
                prefixes |= set(element.prefixes)
        self._lengths = sorted({len(each) for each in self._by_prefix})
        self._words = frozenset(words)
        self._prefixes = tuple(prefixes)

    def knows(self, word: str) -> bool:
        """Whether any phrase has a place for ``word``."""
        return word in self._words or word.startswith(self._prefixes)

    def hits(self, text: Words) -> Iterator[Hit]:
        """Yield every phrase that begins at each word of ``text``, in order."""
        candidates: dict[str, list[tuple[int, Wording]]] = {}
        for start, word in enumerate(text.words):
            if word not in candidates:
                candidates[word] = self._beginning_with(word)
            for label, sequence in candidates[word]:
                end = _match(sequence, text, start)
                if end:
                    yield Hit(label, start, end)

    def _beginning_with(self, word: str) -> list[tuple[int, Wording]]:
        found = list(self._by_word.get(word, ()))
        for length in self._lengths:
            found += self._by_prefix.get(word[:length], ())
        return found


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
