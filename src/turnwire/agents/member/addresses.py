"""The parts of a postal address, found in the member's words: pure."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from babel import Locale

from turnwire.language import folded

_MARK: Final = re.compile(
    r"(?:\b(?:address|adress|dirección|direccion|domicilio|home)\b[^,\n]*?"
    r"(?:\bto\b|\bis\b|\bes\b|\ba\b|:)"
    r"|\b(?:moved|mudado|trasladado|mud[eé]|mudamos|vivo)\b(?:\s+(?:to|a|en)\b|\s*:)?)\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_BRITISH: Final = r"[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}"
_POSTCODE: Final = re.compile(rf"\b(?:{_BRITISH}|\d{{4,5}}(?:-\d{{3,4}})?)\b", re.IGNORECASE)
_IS_BRITISH: Final = re.compile(rf"\b{_BRITISH}\b", re.IGNORECASE)
_BEGINS: Final = re.compile(rf"\s*(?:{_POSTCODE.pattern})(?=\s*(?:[,\n]|$))", re.IGNORECASE)
"""A postcode in front of all else; what follows is no street's name."""
_OPENS: Final = re.compile(r"\s*\d{5}(?=\s)")
"""One in front of its town: "28013 Madrid", where the street is known."""
_WITHIN: Final = re.compile(
    r"(?:flat|apartment|apt|unit|suite|floor|room|piso|puerta|planta|esc|escalera|bajo|ático|atico"
    r"|portal)\b|\d{1,2}\s?[ºª]",
    re.IGNORECASE,
)
_COURTESY: Final = re.compile(r"(?:please|thanks|thank you|por favor|gracias)\b", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")
_LEADS: Final = re.compile(r"^\s*(?:it's|it is|its|now|es|ahora|vivo en)\s+", re.IGNORECASE)
_ISO: Final = 2
_NICKNAMES: Final = {
    **dict.fromkeys(("uk", "u.k", "england", "scotland", "wales", "great britain"), "GB"),
    **dict.fromkeys(("inglaterra", "escocia", "gran bretana"), "GB"),
    **dict.fromkeys(("usa", "u.s.a", "eeuu"), "US"),
}
_EDGES: Final = " \t\n.,;:!¡¿?"


def address(text: str) -> Mapping[str, str]:
    """Return the parts that a request names: line1, line2, city, postcode, country.

    Nothing where it has no postcode and no word such as "my new address is" with a number after it.
    """
    rest, is_marked = text, False
    while found := _MARK.search(rest):  # "we moved last week, our new address is …"
        rest, is_marked = found[1], True
    if _postcode(rest) is None and not (is_marked and _DIGIT.search(rest)):
        return {}
    return pieces(rest)


def pieces(text: str, *, known: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return the parts that an answer to our question names, which may be a few of them.

    Args:
        text: nothing but parts of an address, in their order.
        known: what was told before, such as the street.
    """
    text = _LEADS.sub("", text)
    has_street = bool((known or {}).get("line1"))
    postcode = _postcode(text) or (_OPENS.match(text) if has_street else None)
    before = text[: postcode.start()] if postcode else text
    behind = text[postcode.end() :] if postcode else ""
    first, last = _parts(before), _parts(behind)
    named = next((name for each in (*last, *first) if (name := country(each))), None)
    if named is None and postcode is not None and _IS_BRITISH.fullmatch(postcode[0].strip()):
        named = country("GB")
    lines = [each for each in first if not country(each)]
    towns = [each for each in last if not country(each)]
    if towns:  # "28013 Madrid"
        city = towns[0]
    elif (len(lines) > 1 or (has_street and lines)) and not _DIGIT.search(lines[-1]):
        city = lines.pop()
    else:
        city, lines = _in_town(lines)
    told = {
        **_lines(lines),
        "city": city,
        "postcode": postcode[0].strip().upper() if postcode else "",
        "country": named or "",
    }
    return {name: each for name, each in told.items() if each}


def country(name: str) -> str | None:
    """Return the English name of a country that is named in English or Spanish, or by its code."""
    return _countries().get(folded(name).strip(" ."))


def country_in(name: str, locale: str) -> str:
    """Return a country's name in a language; as it is where it is no English name of one."""
    codes = {each: code for code, each in _territories("en").items() if len(code) == _ISO}
    language = locale.partition("-")[0]
    return _territories(language).get(codes.get(name, ""), name)


def _postcode(text: str) -> re.Match[str] | None:
    """Return the postcode, which is no number of the street before the first comma."""
    after_street = re.search(r"[,\n]", text)
    found = _POSTCODE.search(text, after_street.end() if after_street else 0)
    return found or _BEGINS.match(text) or _IS_BRITISH.search(text)


def _in_town(lines: list[str]) -> tuple[str, list[str]]:
    """Return the town and the rest of what may be one of the two, or both in one piece."""
    if not lines:
        return "", []
    *street, city = re.split(r"\s+(?:in|en)\s+", lines[0])
    if street:
        return city, [" ".join(street)]
    return ("", lines) if _DIGIT.search(lines[0]) else (lines[0], [])


def _lines(lines: list[str]) -> Mapping[str, str]:
    """Return street and number as the first line, also where a flat is told in front of it."""
    if len(lines) > 1 and _WITHIN.match(lines[0]) and not _WITHIN.match(lines[1]):
        lines = [lines[1], lines[0], *lines[2:]]
    return {"line1": lines[0] if lines else "", "line2": ", ".join(lines[1:])}


def _parts(text: str) -> list[str]:
    tidy = (" ".join(each.split()).strip(_EDGES) for each in re.split(r"[,\n]", text))
    return [each for each in tidy if each and not _COURTESY.fullmatch(each)]


@cache
def _countries() -> Mapping[str, str]:
    english = _territories("en")
    known: dict[str, str] = {}
    for names in (english, _territories("es")):
        for code, name in names.items():
            if len(code) == _ISO and code.isalpha():
                known[folded(name)] = known[code.lower()] = english[code]
    return known | {name: english[code] for name, code in _NICKNAMES.items()}


def _territories(language: str) -> Mapping[str, str]:
    return cast("Mapping[str, str]", Locale(language).territories)
