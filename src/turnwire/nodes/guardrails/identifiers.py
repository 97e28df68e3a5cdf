"""Personal data with a strict written form: mail addresses, IBANs, national numbers, addresses."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from stdnum import iban
from stdnum.es import dni, nie
from stdnum.mx import curp
from stdnum.us import ssn

Places: TypeAlias = Iterator[tuple[int, int]]
"""Start and end (exclusive) of each find."""

# RFC 5321, section 4.5.3.1: at most 64 octets before the @ and 255 after it.
_LOCAL_REVERSED: Final = re.compile(r"[\w.%+'\-]{1,64}")
_DOMAIN: Final = re.compile(r"(?:[^\W_](?:[\w\-]{0,62})\.){1,8}[^\W\d_]{2,63}(?![\w])")


def emails(text: str, start: int = 0) -> Places:
    """Yield mail addresses: something before the @, and a domain with a dot after it."""
    at = text.find("@", start)
    while at != -1:
        before = _LOCAL_REVERSED.match(text[max(0, at - 64) : at][::-1])
        local = before[0][::-1].lstrip(".'-%+") if before else ""
        domain = _DOMAIN.match(text, at + 1, at + 256) if local else None
        if domain is not None:
            yield at - len(local), domain.end()
        at = text.find("@", at + 1)


_IBAN_START: Final = re.compile(r"(?<![^\W_])[A-Za-z]{2}[0-9]{2}(?=[ \-]?[A-Za-z0-9])")
_IBAN_REST: Final = re.compile(r"(?:[ \-]?[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS: Final[Mapping[int, str]] = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "FR GR IT MC MR SM",
    28: "AL AZ CY DO GT HU LB PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU",
    31: "MT SC",
    32: "LC",
}
_IBAN_LENGTH: Final[Mapping[str, int]] = {
    country: length for length, listed in _IBAN_LENGTHS.items() for country in listed.split()
}


def ibans(text: str, start: int = 0) -> Places:
    """Yield IBANs of their country's length whose check digits hold (ISO 13616)."""
    for match in _IBAN_START.finditer(text, start):
        wanted = _IBAN_LENGTH.get(match[0][:2].upper())
        rest = _IBAN_REST.match(text, match.end()) if wanted else None
        if rest is None or wanted is None:
            continue
        places = [at for at in range(match.start(), rest.end()) if text[at].isalnum()]
        if len(places) < wanted:
            continue
        end = places[wanted - 1] + 1
        if _is_iban("".join(text[at] for at in places[:wanted]).upper()):
            yield match.start(), end


@lru_cache(maxsize=256)
def _is_iban(number: str) -> bool:
    return iban.is_valid(number, check_country=False)


_NATIONAL_ID: Final = re.compile(
    r"(?<!\w)(?:[0-9]{8}|[0-9]{2}\.[0-9]{3}\.[0-9]{3}|[XYZxyz][ \-]?[0-9]{7})[ \-]?[A-Za-z](?!\w)"
)
_CURP: Final = re.compile(r"(?<!\w)[A-Za-z]{4}[0-9]{6}[A-Za-z]{6}[0-9A-Za-z][0-9](?!\w)")
# HMRC, National Insurance Manual NIM39110: which letters begin and end a number.
_NINO: Final = re.compile(
    r"(?<!\w)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"([ \-]?)[0-9]{2}\1[0-9]{2}\1[0-9]{2}\1[A-D](?!\w)",
    re.IGNORECASE,
)
_SSN: Final = re.compile(r"(?<![\w\-])[0-9]{3}([ \-])[0-9]{2}\1[0-9]{4}(?![\w\-])")
_IP: Final = re.compile(r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:]{6,39})(?![\w:])")
_MARKS: Final = re.compile(r"[ .\-]")


def national_ids(text: str, start: int = 0) -> Places:
    """Yield DNI and NIE (Spain) and CURP (Mexico) that check, and numbers of the form of a NINO.

    A British National Insurance number has no check digit.
    """
    for match in _NATIONAL_ID.finditer(text, start):
        compact = _MARKS.sub("", match[0]).upper()
        if dni.is_valid(compact) or nie.is_valid(compact):
            yield match.span()
    for match in _CURP.finditer(text, start):
        if curp.is_valid(match[0]):
            yield match.span()
    yield from (match.span() for match in _NINO.finditer(text, start))


def social_security_numbers(text: str, start: int = 0) -> Places:
    """Yield social security numbers of the United States, written with their two marks."""
    for match in _SSN.finditer(text, start):
        if ssn.is_valid(match[0].replace(" ", "-")):
            yield match.span()


def addresses(text: str, start: int = 0) -> Places:
    """Yield public IP addresses, version 4 or 6."""
    for match in _IP.finditer(text, start):
        try:
            public = ipaddress.ip_address(match[0]).is_global
        except ValueError:
            continue
        if public:
            yield match.span()


# Backwards, what may still become a find. A mail address: its name, or a part of its domain
# with the name before it. An IP address. A national number, also one whose letters come first.
_UNFINISHED: Final = tuple(
    re.compile(each)
    for each in (
        r"(?:[\w.\-]{0,255}@)?[\w.%+'\-]{0,64}",
        r"[0-9A-Fa-f:.]{0,40}",
        r"[A-Za-z]?[ \-]?[0-9.]{1,10}(?:[ \-]?[XYZxyz])?",
        r"[ \-]?[XYZxyz](?!\w)",
        r"(?i:[A-D]?[ \-]?(?:[0-9][ \-]?){0,6}[A-CEGHJ-NPR-TW-Z][A-CEGHJ-PR-TW-Z])(?!\w)",
    )
)
_UNFINISHED_CHARACTERS: Final = 324
_IBAN_CHARACTERS: Final = 72
_IBAN_BEGUN: Final = re.compile(
    r"(?<![^\W_])([A-Za-z]{2})[0-9]{2}(?=((?:[ \-]?[A-Za-z0-9])*+[ \-]?)\Z)"
)


def unfinished(text: str) -> int:
    """Return from where on a find may still begin that goes on after the end of ``text``."""
    tail = text[: -_UNFINISHED_CHARACTERS - 1 : -1]
    matches = (each.match(tail) for each in _UNFINISHED)
    longest = max(each.end() for each in matches if each)
    return min(len(text) - longest, _unfinished_iban(text))


def _unfinished_iban(text: str) -> int:
    for begun in _IBAN_BEGUN.finditer(text, max(0, len(text) - _IBAN_CHARACTERS)):
        written = len(begun[0]) + sum(each.isalnum() for each in begun[2])
        if written < _IBAN_LENGTH.get(begun[1].upper(), 0):
            return begun.start()
    return len(text)
