"""Numbers as people write them, in groups of digits: which are cards, and which are phones."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from phonenumbers import NumberParseException, is_valid_number, parse
from stdnum import luhn

_RUN: Final = re.compile(
    r"(?<![\w@])[0-9]+(?:(?:[ .\-/]| [\-/] |  |\)[ \-]?| ?\()[0-9]+)*(?!\w)", re.ASCII
)
_GROUP: Final = re.compile(r"[0-9]+")
# A date begins like a number: 2026-10-12 14, 12/10/2026.
_DATE: Final = re.compile(
    r"(?:(?:19|20)[0-9]{2}([\-/.])(?:0?[1-9]|1[0-2])\1[0-3]?[0-9]"
    r"|[0-3]?[0-9]([\-/.])[0-3]?[0-9]\2(?:19|20)[0-9]{2})(?![\-/.]?[0-9])"
)
_BRANDS: Final = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}"
    r"|3[0689][0-9]{12}|(?:6[0-9]|35|5[06-9])[0-9]{11,17}"
)
_CARD_DIGITS: Final = range(13, 20)
_PHONE_DIGITS: Final = range(7, 16)
_NATIONAL_DIGITS: Final = range(9, 12)
_NATIONAL_GROUPS: Final = 6
_LOOKUPS: Final = 3_000


@dataclass(frozen=True, slots=True)
class Written:
    """Groups of digits next to each other."""

    start: int
    end: int
    digits: str
    groups: int


def cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield payment cards: a network's prefix and length (ISO/IEC 7812), and a right check digit."""
    for each in _written(text, largest=_CARD_DIGITS[-1]):
        if len(each.digits) in _CARD_DIGITS and _is_card(each.digits):
            yield each.start, each.end


def phones(text: str, regions: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield phone numbers that a numbering plan knows: with country code, or of ``regions``.

    Past 3,000 candidates in one text the plans are no longer asked, and what has the form of a
    phone number counts as one: better too much redacted than a worker that stands still.
    """
    lookups = 0
    for each in _written(text, largest=_PHONE_DIGITS[-1]):
        abroad = _is_abroad(text, each)
        if not abroad and not _is_national_form(text, each):
            continue
        lookups += 1
        asked = () if abroad else regions
        if lookups > _LOOKUPS or _is_phone(each.digits, asked):
            yield (_opening(text, each.start) if abroad else each.start), each.end


def _written(text: str, *, largest: int) -> Iterator[Written]:
    for run in _RUN.finditer(text):
        groups = [each.span() for each in _GROUP.finditer(text, *run.span())]
        for first, (begin, _) in enumerate(groups):
            digits = ""
            for count, (start, end) in enumerate(groups[first : first + largest], start=1):
                digits += text[start : min(end, start + largest + 1)]
                if len(digits) > largest:
                    break
                yield Written(begin, end, digits, count)


def _is_card(digits: str) -> bool:
    return _BRANDS.fullmatch(digits) is not None and luhn.is_valid(digits)


def _opening(text: str, start: int) -> int:
    return start - 1 if text[start - 1 : start] == "+" else start


def _is_abroad(text: str, written: Written) -> bool:
    if len(written.digits) not in _PHONE_DIGITS:
        return False
    return text[max(0, written.start - 1) : written.start] == "+" or written.digits.startswith("00")


def _is_national_form(text: str, written: Written) -> bool:
    if len(written.digits) not in _NATIONAL_DIGITS or written.groups > _NATIONAL_GROUPS:
        return False
    if len(written.digits) < 2 * written.groups:
        return False
    return _DATE.match(text, written.start) is None


@lru_cache(maxsize=4096)
def _is_phone(digits: str, regions: tuple[str, ...]) -> bool:
    if not regions:
        return _is_valid("+" + digits.removeprefix("00"), None)
    return any(_is_valid(digits, region) for region in regions)


def _is_valid(number: str, region: str | None) -> bool:
    try:
        return is_valid_number(parse(number, region))
    except NumberParseException:
        return False
