"""Dates and times of day in English and Spanish, so that two spellings of one can be compared."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnwire.nodes.evidence.units import folded

_MONTHS_LISTED: Final = """
    january february march april may june july august september october november december
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    jan feb mar apr - jun jul aug sep oct nov dec
    ene - - abr - - - ago sept - - dic
"""
_MONTHS: Final = {
    name: at % 12 + 1 for at, name in enumerate(_MONTHS_LISTED.split()) if name != "-"
}
_MONTH: Final = rf"({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_YEAR: Final = r"((?:1[5-9]|20|21)\d\d)\b"
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "primero": 1, "uno": 1}
_DAY: Final = rf"\b(\d{{1,2}}|{'|'.join(_ORDINALS)})(?:st|nd|rd|th|º|\.)?"

_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_NUMERIC: Final = re.compile(r"(?<![\d/.])(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/])")
_DAY_FIRST: Final = re.compile(
    rf"{_DAY}\s+(?:of\s+|de\s+)?{_MONTH}(?:,?\s+(?:del?\s+)?{_YEAR})?", re.IGNORECASE
)
_MONTH_FIRST: Final = re.compile(
    rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*%)(?:,?\s+{_YEAR})?", re.IGNORECASE
)
_MONTH_YEAR: Final = re.compile(rf"\b{_MONTH}\s+(?:del?\s+|of\s+)?{_YEAR}", re.IGNORECASE)
_CLOCK: Final = re.compile(
    r"\b(?:(\d{1,2}):(\d{2})|(\d{1,2}))(?:\s?([ap])\.?\s?m\b\.?|\s?h\b)?", re.IGNORECASE
)


class Date(NamedTuple):
    """A date at its place; 0 where a part is not said. The clock is in ``year``, as -1."""

    start: int
    end: int
    readings: frozenset[tuple[int, int, int]]
    """Year, month and day; 03/04/2026 has two. Of a time of day: -1, the hour, the minute."""

    @property
    def is_day(self) -> bool:
        """Whether it is of the calendar, and not a time of day."""
        return all(year != -1 for year, _, _ in self.readings)


def dates(text: str) -> list[Date]:
    """Return the dates and times of day of a text, in order; none lies within another."""
    found: list[Date] = []
    for each in sorted(_all(text), key=lambda each: (each.start, -each.end)):
        if not found or each.start >= found[-1].end:
            found.append(each)
    return found


def is_said(claim: Date, sources: list[Date]) -> bool:
    """Whether a source says all that the claim says of a date; it may say more."""
    return any(
        _covers(said, wanted)
        for each in sources
        for said in each.readings
        for wanted in claim.readings
    )


def _covers(said: tuple[int, int, int], wanted: tuple[int, int, int]) -> bool:
    if (said[0] == -1) != (wanted[0] == -1):
        return False
    if said[0] == -1:
        return said == wanted
    return all(want in (0, has) for has, want in zip(said, wanted, strict=True))


def _all(text: str) -> Iterator[Date]:
    for each in _ISO.finditer(text):
        yield from _date(each, (int(each[1]), int(each[2]), int(each[3] or 0)))
    for each in _NUMERIC.finditer(text):
        year = int(each[4]) + (2000 if len(each[4]) == 2 else 0)
        one, two = int(each[1]), int(each[3])
        yield from _date(each, (year, two, one), (year, one, two))
    for each in _DAY_FIRST.finditer(text):
        yield from _date(each, (int(each[3] or 0), _month(each[2]), _day(each[1])))
    for each in _MONTH_FIRST.finditer(text):
        yield from _date(each, (int(each[3] or 0), _month(each[1]), int(each[2])))
    for each in _MONTH_YEAR.finditer(text):
        yield from _date(each, (int(each[2]), _month(each[1]), 0))
    yield from _clocks(text)


def _clocks(text: str) -> Iterator[Date]:
    for each in _CLOCK.finditer(text):
        if each[3] is not None and each[4] is None:
            continue  # a bare number, or so many hours
        hour, minute = int(each[1] or each[3]), int(each[2] or 0)
        half = (each[4] or "").lower()
        hour = hour % 12 + 12 * (half == "p") if half else hour
        if hour < 25 and minute < 60:
            yield Date(*each.span(), frozenset({(-1, hour, minute)}))


def _date(found: re.Match[str], *readings: tuple[int, int, int]) -> Iterator[Date]:
    real = frozenset(each for each in readings if each[1] in range(13) and each[2] in range(32))
    if real:
        yield Date(*found.span(), real)


def _month(name: str) -> int:
    return _MONTHS[folded(name)]


def _day(written: str) -> int:
    return _ORDINALS.get(written.lower()) or int(written)
