"""Quantities that a text states: a number, its unit, and whether it is a bound."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Final

from turnwire.nodes.evidence.dates import Date, dates
from turnwire.nodes.evidence.numerals import Numeral, numerals
from turnwire.nodes.evidence.units import NONE, Unit, fits, unit_of

_AFTER: Final = re.compile(
    r"(?:[ \u00a0\u202f]|-)?(?:an?\s+|de\s+|degrees?\s+(?=[cf])|grados?\s+(?=[cf]))?"
    r"([°º]\s?[cCfF]?|[%$€£µμ]?[^\W\d_]*)",
    re.IGNORECASE,
)
_PER_CENT: Final = re.compile(r"\s+(?:per\s+cent|por\s+ciento)\b", re.IGNORECASE)
_CURRENCY: Final = re.compile(r"([$€£])\s?$")
_JOINT: Final = re.compile(
    r"\s*(?:[-\u2013\u2014/]|(?:to|and|or|through|a|y|o|u|hasta)\b|,)\s*",
    re.IGNORECASE,
)
_HALF_MORE: Final = re.compile(r"\s+(?:and\s+a\s+half|y\s+medi[oa])\b", re.IGNORECASE)
_ARTICLE: Final = re.compile(
    r"\b(?:an?|un[ao]?|one|each|every|cada|per|al|por)(?=\s+([^\W\d_]+))", re.IGNORECASE
)
_DAILY: Final = re.compile(
    r"\b(?:daily|every\s+(?:day|night)|each\s+day|diari[oa](?:mente)?|cada\s+d[ií]a|al\s+d[ií]a)\b",
    re.IGNORECASE,
)
_OWN_PARTS: Final = re.compile(
    r"\s+(?:[^\W\d_]+\s+)?(?:ways?|things?|options?|steps?|points?|reasons?|tips?|kinds?|types?|main"
    r"|cosas|formas?|maneras?|opciones|pasos?|puntos?|razones|consejos|tipos?)\b",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"(?:^|\n)[\s>*_#-]*$")

_LOWER: Final = re.compile(
    r"(?:at\s+least|more\s+than|over|above|exceed(?:s|ing)?|(?:a\s+)?minimum\s+of|no\s+less\s+than"
    r"|no\s+fewer\s+than|not\s+less\s+than|higher\s+than|greater\s+than|longer\s+than|older\s+than"
    r"|at\s+minimum|al\s+menos(?:\s+de)?|por\s+lo\s+menos|como\s+m[ií]nimo|m[aá]s\s+de|m[ií]nimo(?:\s+de)?|por\s+encima\s+de"
    r"|superior(?:es)?\s+a|a\s+partir\s+de|no\s+menos\s+de|mayor(?:es)?\s+(?:de|a|que))"
    r"(?:\s+(?:about|los|las|unos|unas))?\s*[$€£]?$",
    re.IGNORECASE,
)
_UPPER: Final = re.compile(
    r"(?:at\s+most|up\s+to|less\s+than|under|below|fewer\s+than|(?:a\s+)?maximum\s+of|no\s+more\s+than"
    r"|not\s+more\s+than|lower\s+than|shorter\s+than|younger\s+than"
    r"|como\s+m[aá]ximo|menos\s+de|hasta|m[aá]ximo(?:\s+de)?|por\s+debajo\s+de"
    r"|inferior(?:es)?\s+a|no\s+m[aá]s\s+de|menor(?:es)?\s+(?:de|a|que))"
    r"(?:\s+(?:about|los|las|unos|unas))?\s*[$€£]?$",
    re.IGNORECASE,
)
_OR_MORE: Final = re.compile(
    r"\s*(?:at\s+least|as\s+a\s+minimum|como\s+m[ií]nimo|al\s+menos)\b"
    r"|\s*(?:or|and|o|u|y)\s+(?:more|higher|above|longer|over|older|greater|m[aá]s|superior(?:es)?"
    r"|mayor(?:es)?)\b",
    re.IGNORECASE,
)
_OR_LESS: Final = re.compile(
    r"\s*(?:at\s+(?:the\s+)?most|as\s+a\s+maximum|como\s+(?:mucho|m[aá]ximo))\b"
    r"|\s*(?:or|and|o|u|y)\s+(?:less|lower|below|fewer|under|younger|shorter|menos|inferior(?:es)?"
    r"|menor(?:es)?)\b",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(
    r"(?:\bnot|n['\u2019]t|\bnever|\bno)\b(?:\s+\S+){0,3}\s+$",
    re.IGNORECASE,
)
_LOOK_BACK: Final = 48
_CLOCK: Final = Unit("clock", 1.0)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, at its place."""

    start: int
    end: int
    values: frozenset[float]
    unit: Unit = NONE
    bound: int = 0
    """1 for ``at least``, -1 for ``at most``, 0 where it is neither."""


def stated(text: str) -> list[Quantity]:
    """Return the quantities that a text claims: no list numbers, and no ``two ways``."""
    found: list[Numeral] = []
    for each in numerals(text):
        if not each.is_word and _is_list_number(text, each):
            continue
        if each.is_word and (_OWN_PARTS.match(text, each.end) or _is_pronoun(text, each)):
            continue
        found.append(each)
    return _measured(text, found)


def held(text: str) -> list[Quantity]:
    """Return the quantities that a source carries: ``an hour`` and ``daily`` count as one."""
    ones = [
        Quantity(each.start(), each.end(), frozenset({1.5 if half else 1.0}), unit)
        for each in _ARTICLE.finditer(text)
        if (unit := unit_of(each[1])) != NONE
        for half in (_HALF_MORE.match(text, each.end(1)),)
    ]
    daily = [
        Quantity(*each.span(), frozenset({1.0}), unit_of("times")) for each in _DAILY.finditer(text)
    ]
    said = dates(text)
    found = [
        each
        for each in numerals(text)
        # The 15 of 15 May carries no 15 mg, and 10 am no 10 minutes.
        if not any(date.start <= each.start < date.end for date in said)
    ]
    return [*_measured(text, found), *ones, *daily, *map(_of_date, said)]


def _of_date(date: Date) -> Quantity:
    """Return a date's year, or a clock's hour, which a bare number may repeat."""
    if date.is_day:
        return Quantity(
            date.start, date.end, frozenset(float(year) for year, _, _ in date.readings)
        )
    hours = {float(hour) for _, hour, _ in date.readings}
    return Quantity(
        date.start, date.end, frozenset({*hours, *(each - 12 for each in hours)}), _CLOCK
    )


def carried(claim: Quantity, sources: Iterable[Quantity]) -> list[Quantity]:
    """Return the quantities of the sources that are the claimed one."""
    return [each for each in sources if fits(claim.unit, each.unit) and _equal(claim, each)]


def contradicts(claim: Quantity, carriers: Sequence[Quantity]) -> bool:
    """Whether every carrier bounds the number from the other side: at least, at most."""
    return bool(carriers) and all(claim.bound * each.bound == -1 for each in carriers)


def _equal(one: Quantity, other: Quantity) -> bool:
    scaled = one.unit.dimension == other.unit.dimension
    mine, its = (one.unit.factor, other.unit.factor) if scaled else (1.0, 1.0)
    return any(
        isclose(a * mine, b * its, rel_tol=1e-6) or a == b == 0
        for a in one.values
        for b in other.values
    )


def _measured(text: str, found: Sequence[Numeral]) -> list[Quantity]:
    quantities = [_quantity(text, each) for each in found]
    for at in range(len(quantities) - 2, -1, -1):
        one, other = quantities[at], quantities[at + 1]
        # Of `6 to 8 hours` and `120/80 mmHg`, the first number has the second's unit.
        if one.unit == NONE and _JOINT.fullmatch(text, one.end, other.start):
            quantities[at] = replace(one, unit=other.unit)
    return quantities


def _quantity(text: str, each: Numeral) -> Quantity:
    unit, end = (unit_of("times"), each.end) if each.counts_times else _unit_after(text, each.end)
    before = text[max(0, each.start - _LOOK_BACK) : each.start]
    money = _CURRENCY.search(before)
    if money is not None:
        unit = unit_of(money[1])
    values = each.values
    half = _HALF_MORE.match(text, end) if end > each.end else None
    if half is not None:  # two hours and a half
        values, end = frozenset(value + 0.5 for value in values), half.end()
    return Quantity(each.start, end, values, unit, _bound(text, before, end))


def _unit_after(text: str, end: int) -> tuple[Unit, int]:
    per_cent = _PER_CENT.match(text, end)
    if per_cent is not None:
        return unit_of("%"), per_cent.end()
    after = _AFTER.match(text, end)
    if after is None:
        return NONE, end
    unit = unit_of(after[1].replace(" ", ""))
    return unit, end if unit == NONE else after.end()


def _bound(text: str, before: str, end: int) -> int:
    for pattern, bound in ((_LOWER, 1), (_UPPER, -1)):
        phrase = pattern.search(before)
        if phrase is not None:
            return 0 if _NEGATED.search(before[: phrase.start()]) else bound
    if _OR_MORE.match(text, end):
        return 1
    return -1 if _OR_LESS.match(text, end) else 0


def _is_list_number(text: str, each: Numeral) -> bool:
    return text[each.end : each.end + 1] in (".", ")") and (
        text[each.end + 1 : each.end + 2].isspace()
        and _ITEM.search(text[max(0, each.start - 12) : each.start]) is not None
    )


def _is_pronoun(text: str, each: Numeral) -> bool:
    """Whether it is the word ``one`` without a unit behind it, or a half of something."""
    vague = each.values <= {0.5, 1.0} and not each.counts_times
    return vague and _unit_after(text, each.end)[0] == NONE
