"""What a statement claims that its passage does not carry: numbers, dates, names and denials.

A check of forms, not of meaning: it finds a changed figure, unit, bound, date, name or negation,
in English and Spanish, and says nothing about the rest. It reports and never edits.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from turnwire.language import language_of
from turnwire.nodes.evidence.dates import Date, dates, is_said
from turnwire.nodes.evidence.polarity import clauses, lost
from turnwire.nodes.evidence.quantities import Quantity, carried, contradicts, held, stated
from turnwire.nodes.evidence.source import Evidence
from turnwire.nodes.evidence.units import NONE, folded, unit_of

Kind = Literal["number", "comparison", "date", "name", "negation"]

_NAME: Final = re.compile(r"(?<![\w'\u2019])[^\W\d_]+(?:[-'\u2019][^\W_]+|\d[^\W_]*)*")
_INITIAL: Final = re.compile(
    r"(?:^|[.!?:;…|/\n]|[\"'“”\u2018\u2019«»¿¡([*_-])\s*[\"'“\u2018«¿¡([*_]*\s*$"
)
_WORD: Final = re.compile(r"[^\W_]+")
_NOT_NAMES_LISTED: Final = """
    i im ive id ill ok yes no not and or the a an do never only must if
    el la los las un una si nunca solo y o
"""
_NOT_NAMES: Final = frozenset(_NOT_NAMES_LISTED.split())


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A part of the answer that its passage does not carry."""

    kind: Kind
    start: int
    end: int


class Source(NamedTuple):
    """A passage, read once for all the statements that point at it."""

    text: str
    words: frozenset[str]
    quantities: list[Quantity]
    dates: list[Date]
    language: str


def read_source(evidence: Evidence) -> Source:
    """Return what a passage carries: its text, and what is said of it above the text."""
    passage = evidence.passage
    above = (passage.title, passage.document_name, passage.section, passage.date, passage.version)
    text = "\n".join([*(each for each in above if each), evidence.text])
    language = (passage.locale or "")[:2].lower() or language_of(text)
    return Source(text, frozenset(_WORD.findall(folded(text))), held(text), dates(text), language)


def unsupported(
    statement: str, sources: Sequence[Source], *, cited: bool, language: str = ""
) -> list[Unsupported]:
    """Return what the statement claims and none of ``sources`` carries, in order.

    Of a statement that cites nothing only numbers and dates are looked at: its names and denials
    may be about the talk itself, such as ``No leaflet covers this``. ``language`` is the whole
    answer's, for a statement that is too short to tell.
    """
    found = [*_times_and_numbers(statement, sources)]
    if cited:
        language = language_of(statement) or language
        same = [each for each in sources if language in ("", each.language)]
        if len(same) == len(sources):  # names are spelt otherwise in another language
            found += _names(statement, sources)
        found += _denials(statement, sources, same_language=len(same) == len(sources))
    return sorted(found, key=lambda each: each.start)


def _times_and_numbers(statement: str, sources: Sequence[Source]) -> Iterator[Unsupported]:
    said = dates(statement)
    known = [date for each in sources for date in each.dates]
    for date in said:
        if not is_said(date, known):
            yield Unsupported("date", date.start, date.end)
    quantities = [quantity for each in sources for quantity in each.quantities]
    for each in stated(statement):
        if any(date.start <= each.start < date.end for date in said):
            continue
        carriers = carried(each, quantities)
        if not carriers:
            yield Unsupported("number", each.start, each.end)
        elif contradicts(each, carriers):
            yield Unsupported("comparison", each.start, each.end)


def _names(statement: str, sources: Sequence[Source]) -> Iterator[Unsupported]:
    if statement.upper() == statement:
        return
    words = frozenset[str]().union(*(each.words for each in sources))
    beginnings = {word[:size] for word in words for size in range(4, len(word) + 1)}
    said = dates(statement)
    for each in _NAME.finditer(statement):
        if unit_of(each[0]) != NONE or any(of.start <= each.start() < of.end for of in said):
            continue  # held against the passage as a part of a quantity or a date
        if _is_name(statement, each) and not _knows(each[0], words, beginnings):
            yield Unsupported("name", *each.span())


def _is_name(statement: str, found: re.Match[str]) -> bool:
    """Whether the word is spelt as a name where a common word would not be."""
    word = found[0]
    shouts = len(word) > 1 and sum(each.isupper() for each in word) > 1
    has_digit = any(each.isdigit() for each in word)
    if folded(word).replace("'", "").replace("\u2019", "") in _NOT_NAMES:
        return False
    if shouts or (has_digit and word[0].isupper()):
        return True
    initial = _INITIAL.search(statement, max(0, found.start() - 12), found.start())
    return word[0].isupper() and initial is None and found.start() > 0


def _knows(name: str, words: frozenset[str], beginnings: set[str]) -> bool:
    return all(
        part in words
        or (len(part) > 4 and part.isalpha() and part[: max(4, len(part) - 2)] in beginnings)
        for part in _WORD.findall(folded(name))
        if len(part) > 1
    )


def _denials(
    statement: str, sources: Sequence[Source], *, same_language: bool
) -> Iterator[Unsupported]:
    texts = [each.text for each in sources]
    for each in clauses(statement):
        if lost(each, texts, same_language=same_language):
            yield Unsupported("negation", each.start, each.end)
