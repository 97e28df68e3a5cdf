"""Personal data with a strict written form: mail addresses, IBANs, national numbers, addresses."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from stdnum import iban
from stdnum.es import dni, nie
from stdnum.us import ssn

Places: TypeAlias = Iterator[tuple[int, int]]
"""Start and end (exclusive) of each find."""

# RFC 5321, section 4.5.3.1: at most 64 octets before the @ and 255 after it.
_LOCAL_REVERSED: Final = re.compile(r"[\w.%+'\-]{1,64}")
_DOMAIN: Final = re.compile(r"(?:[^\W_](?:[\w\-]{0,62})\.){1,8}[^\W\d_]{2,63}(?![\w])")


def emails(text: str) -> Places:
    """Yield mail addresses: something before the @, and a domain with a dot after it."""
    at = text.find("@")
    while at != -1:
        before = _LOCAL_REVERSED.match(text[max(0, at - 64) : at][::-1])
        local = before[0][::-1].lstrip(".'-%+") if before else ""
        domain = _DOMAIN.match(text, at + 1, at + 256) if local else None
        if domain is not None:
            yield at - len(local), domain.end()
        at = text.find("@", at + 1)


_IBAN_START: Final = re.compile(r"(?<![^\W_])[A-Za-z]{2}[0-9]{2}(?=[ \-]?[A-Za-z0-9])")
_IBAN_REST: Final = re.compile(r"(?:[ \-]?[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS: Final[Mapping[str, int]] = {
    country: int(length)
    for country, length in (
        pair.split(":")
        for pair in (
            "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28 "
            "CZ:24 DE:22 DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 "
            "GR:27 GT:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 "
            "LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MR:27 MT:31 MU:30 NL:18 NO:15 "
            "PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 SC:31 SE:24 SI:19 SK:24 SM:27 ST:25 "
            "SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20"
        ).split()
    )
}


def ibans(text: str) -> Places:
    """Yield IBANs of their country's length whose check digits hold (ISO 13616)."""
    for match in _IBAN_START.finditer(text):
        wanted = _IBAN_LENGTHS.get(match[0][:2].upper())
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
_SSN: Final = re.compile(r"(?<![\w\-])[0-9]{3}([ \-])[0-9]{2}\1[0-9]{4}(?![\w\-])")
_IP: Final = re.compile(
    r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:]{6,39})(?![\w:])"
)
_MARKS: Final = re.compile(r"[ .\-]")


def national_ids(text: str) -> Places:
    """Yield Spanish DNI and NIE numbers whose letter is right."""
    for match in _NATIONAL_ID.finditer(text):
        compact = _MARKS.sub("", match[0]).upper()
        if dni.is_valid(compact) or nie.is_valid(compact):
            yield match.span()


def social_security_numbers(text: str) -> Places:
    """Yield social security numbers of the United States, written with their two marks."""
    for match in _SSN.finditer(text):
        if ssn.is_valid(match[0].replace(" ", "-")):
            yield match.span()


def addresses(text: str) -> Places:
    """Yield public IP addresses, version 4 or 6."""
    for match in _IP.finditer(text):
        try:
            public = ipaddress.ip_address(match[0]).is_global
        except ValueError:
            continue
        if public:
            yield match.span()
