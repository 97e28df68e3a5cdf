"""Numbers as people write them, in groups of digits: which are cards, and which are phones."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from phonenumbers import (
    NumberParseException,
    PhoneNumber,
    is_possible_number,
    is_valid_number,
    ndd_prefix_for_region,
    parse,
)
from stdnum import isbn, luhn

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
_PHONE_GROUPS: Final = 8
_LOOKUPS: Final = 3_000


class Written(NamedTuple):
    """Groups of digits next to each other, and where they stand in the text."""

    start: int
    end: int
    digits: str
    groups: int


def cards(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield payment cards: network prefix and length (ISO/IEC 7812), right check digit."""
    for each in _written(text, start, _CARD_DIGITS, most_groups=_CARD_DIGITS[-1]):
        if _BRANDS.fullmatch(each.digits) and luhn.is_valid(each.digits):
            yield each.start, each.end


def phones(text: str, regions: tuple[str, ...], start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield phone numbers: with a plus sign, or such as a plan knows, with 00 or of ``regions``.

    Past 3,000 candidates in one text the plans are no longer asked, and what has the form of a
    phone number counts as one: better too much redacted than a worker that stands still.
    """
    lookups = 0
    for each in _written(text, start, _PHONE_DIGITS, most_groups=_PHONE_GROUPS):
        abroad = _is_abroad(text, each)
        if not abroad and not _is_national_form(text, each):
            continue
        lookups += 1
        asked = () if abroad else regions
        has_plus = text[max(0, each.start - 1) : each.start] == "+"
        if lookups > _LOOKUPS or _is_phone(each.digits, asked, has_plus=has_plus):
            yield _opening(text, each), each.end


_BOOKLAND: Final = ("978-", "979-", "978 ", "979 ")
"""What an ISBN of 13 digits begins with; the rest has the length of a phone number."""

# Backwards: up to 19 digits, what stands between them and behind, and what opens a number.
_UNFINISHED: Final = re.compile(
    r"(?:[ .\-/()]{0,3}(?:[0-9][ .\-/()]{0,3}){1,19})?[+(]{0,2}", re.ASCII
)
_UNFINISHED_CHARACTERS: Final = 96


def unfinished(text: str) -> int:
    """Return from where on a number may still begin that goes on after the end of ``text``."""
    tail = text[: -_UNFINISHED_CHARACTERS - 1 : -1]
    match = _UNFINISHED.match(tail)
    return len(text) - (match.end() if match else 0)


def _written(text: str, begin: int, sizes: range, *, most_groups: int) -> Iterator[Written]:
    for run in _RUN.finditer(text, begin):
        groups = [each.span() for each in _GROUP.finditer(run[0])]
        digits = "".join(run[0][start:end] for start, end in groups)
        ends = list(accumulate(end - start for start, end in groups))
        for first, (start, stop) in enumerate(groups):
            before = ends[first] - (stop - start)
            for last in range(first, min(first + most_groups, len(groups))):
                size = ends[last] - before
                if size > sizes[-1]:
                    break
                if size in sizes:
                    place, end = run.start() + start, run.start() + groups[last][1]
                    yield Written(place, end, digits[before : ends[last]], last - first + 1)


def _opening(text: str, written: Written) -> int:
    """Return where the number begins with its plus sign and its bracket."""
    start = written.start
    if text[max(0, start - 1) : start] == "+":
        start -= 1
    inside = text[start : written.end]
    bracket = text[max(0, start - 1) : start] == "(" and inside.count(")") > inside.count("(")
    return start - bracket


def _is_abroad(text: str, written: Written) -> bool:
    return text[max(0, written.start - 1) : written.start] == "+" or written.digits.startswith("00")


def _is_national_form(text: str, written: Written) -> bool:
    if len(written.digits) not in _NATIONAL_DIGITS or len(written.digits) < 2 * written.groups:
        return False
    before = text[max(0, written.start - 4) : written.start]
    if before in _BOOKLAND and isbn.is_valid(before[:3] + written.digits):
        return False
    return _DATE.match(text, written.start) is None


@lru_cache(maxsize=4096)
def _is_phone(digits: str, regions: tuple[str, ...], *, has_plus: bool) -> bool:
    if (
        has_plus
    ):  # ITU-T E.164: what else is written so? Plans know no range that is kept for drama.
        return _is_valid("+" + digits, None, by=is_possible_number)
    if not regions:
        return _is_valid("+" + digits.removeprefix("00"), None)
    return any(_has_trunk(digits, region) and _is_valid(digits, region) for region in regions)


def _has_trunk(digits: str, region: str) -> bool:
    """Whether the number begins with the 0 that its country writes before an area code."""
    return ndd_prefix_for_region(region, True) != "0" or digits.startswith("0")


def _is_valid(
    number: str, region: str | None, *, by: Callable[[PhoneNumber], bool] = is_valid_number
) -> bool:
    try:
        return by(parse(number, region))
    except NumberParseException:
        return False
