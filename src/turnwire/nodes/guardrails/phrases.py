"""A small language for phrases that cannot be slow to find.

    chest pain              these words, next to each other, whatever stands between them
    chest (pain|is tight)   one of several
    (really)? tight         may be left out
    pain .. chest           up to three words between; ``..6`` up to six; within one sentence
    suicid*                 every word that begins so
    take NUMBER mg          any number; ``NUMBER>14`` one that is larger

Groups may be nested. Nothing repeats without bound, so that finding a phrase (see
:mod:`turnwire.nodes.guardrails.matching`) is linear in the text.
Phrases and texts meet in the form of :func:`turnwire.nodes.guardrails.normalise.canonical`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from turnwire.nodes.guardrails.normalise import canonical

_TOKEN: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|[.!?。…,;:()]")
_WORD: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_SENTENCE_END: Final = frozenset(".!?。…")
_LEXEME: Final = re.compile(r"\.\.\d*|\(|\)\??|\||[^\s()|]+")
_ENDS: Final = frozenset(("", "|", ")", ")?"))
_NUMBER: Final = re.compile(r"NUMBER(?:>([0-9]{1,6}))?")
_DIGITS: Final = re.compile(r"\d{1,9}")
# English and Spanish write it the other way round; read as a decimal, 1,000 pills would be one.
_THOUSANDS: Final = re.compile(r"[.,](?=\d{3}(?!\d))")
_DEFAULT_GAP: Final = 3
_MAX_GAP: Final = 12
_MAX_VARIANTS: Final = 400
_MIN_PREFIX: Final = 3
_REMEMBERED: Final = 4096
"""Phrases; the largest policy that ships has some 2,400."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text as words, each with the sentence and the clause that it stands in."""

    words: tuple[str, ...]
    sentences: tuple[int, ...]
    clauses: tuple[int, ...]
    seam: tuple[int, int] | None = None
    """The first and the last word of what a find has to hold; none: it may stand anywhere."""


@dataclass(frozen=True, slots=True)
class Element:
    """One place in a phrase: what may stand there, and how many words may come before it."""

    words: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    above: int | None = None
    """A number may stand here if it is larger than this; none: no number may."""
    gap: int = 0

    def fits(self, word: str) -> bool:
        """Whether ``word`` may stand here."""
        if word in self.words or word.startswith(self.prefixes):
            return True
        return self.above is not None and word[0].isdigit() and _value(word) > self.above


def _value(number: str) -> int:
    digits = _DIGITS.match(_THOUSANDS.sub("", number))
    return int(digits[0]) if digits else 0


Wording: TypeAlias = tuple[Element, ...]


def split(text: str, *, seam: tuple[int, int] | None = None) -> Words:
    """Return the words of a canonical text; see :attr:`Words.seam`."""
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
    return Words(tuple(words), tuple(sentences), tuple(clauses), seam)


# A policy's phrase is read where it is checked, where it is used, and in each list it is shared by.
@lru_cache(maxsize=_REMEMBERED)
def parse(phrase: str) -> tuple[Wording, ...]:
    """Return every way to say ``phrase``; ``ValueError`` says what is wrong with it."""
    reader = _Reader(_LEXEME.findall(phrase))
    wordings = reader.alternatives()
    _require(reader.at_end(), "it has a ')' without a '('")
    return tuple(dict.fromkeys(wordings))


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


class _Reader:
    """Recursive descent over the lexemes of one phrase."""

    def __init__(self, lexemes: Sequence[str]) -> None:
        self._lexemes = lexemes
        self._at = 0

    def at_end(self) -> bool:
        """Whether everything was read."""
        return self._at == len(self._lexemes)

    def alternatives(self) -> list[Wording]:
        """Read ``a|b|c`` up to a closing bracket or the end."""
        found = self._sequence()
        while self._peek() == "|":
            self._at += 1
            found += self._sequence()
        return _merged(found)

    def _sequence(self) -> list[Wording]:
        variants: list[tuple[Wording, int]] = [((), 0)]
        while (lexeme := self._peek()) not in _ENDS:
            self._at += 1
            if lexeme.startswith(".."):
                gap = int(lexeme[2:] or _DEFAULT_GAP)
                _require(gap <= _MAX_GAP, f"'{lexeme}' is too wide; at most ..{_MAX_GAP}")
                _require(all(done for done, _ in variants), "'..' has to stand between two words")
                variants = [(done, gap) for done, _ in variants]
                continue
            optional, choices = self._item(lexeme)
            variants = _extended(variants, choices, optional=optional)
        _require(all(done for done, _ in variants), "a part of it has no word that must be there")
        _require(not any(gap for _, gap in variants), "'..' has to stand between two words")
        return [done for done, _ in variants]

    def _item(self, lexeme: str) -> tuple[bool, list[Wording]]:
        if lexeme != "(":
            return False, [_spelt(lexeme)]
        choices = self.alternatives()
        closing = self._peek()
        _require(closing.startswith(")"), "it has a '(' without a ')'")
        self._at += 1
        return closing == ")?", choices

    def _peek(self) -> str:
        return "" if self.at_end() else self._lexemes[self._at]


def _extended(
    variants: Sequence[tuple[Wording, int]], choices: Sequence[Wording], *, optional: bool
) -> list[tuple[Wording, int]]:
    longer = [
        ((*done, replace(first, gap=gap) if gap else first, *rest), 0)
        for done, gap in variants
        for first, *rest in choices
    ]
    found = [*variants, *longer] if optional else longer
    _require(len(found) <= _MAX_VARIANTS, "it has too many variants; make two phrases of it")
    return found


def _merged(wordings: Sequence[Wording]) -> list[Wording]:
    """Return ``wordings`` with those of one word made one, so that variants stay few."""
    singles = [each[0] for each in wordings if len(each) == 1]
    merged = Element(
        frozenset(word for each in singles for word in each.words),
        tuple(prefix for each in singles for prefix in each.prefixes),
        min((each.above for each in singles if each.above is not None), default=None),
    )
    longer = [each for each in wordings if len(each) > 1]
    return [(merged,), *longer] if singles else longer


def _spelt(lexeme: str) -> Wording:
    number = _NUMBER.fullmatch(lexeme)
    if number is not None:
        return (Element(above=int(number[1] or -1)),)
    _require(not lexeme.endswith("?"), f"'{lexeme}' needs brackets to be left out: (word)?")
    words: list[str] = _WORD.findall(canonical(lexeme))
    _require(bool(words), f"'{lexeme}' has no letters")
    *before, last = (Element(words=frozenset((each,))) for each in words)
    if not lexeme.endswith("*"):
        return (*before, last)
    _require(len(words[-1]) >= _MIN_PREFIX, f"'{lexeme}' is too short to begin a word")
    return (*before, Element(prefixes=(words[-1],)))
