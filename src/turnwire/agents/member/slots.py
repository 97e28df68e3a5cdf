"""What a tool has to be told, found in the member's words: pure, in English and Spanish."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, cast

from babel import Locale

from turnwire.language import folded

_REFERENCE: Final = re.compile(r"\b([A-Za-z]{2,4})[ \u2010-\u2013-]?(\d{3,10}(?:-\d{1,6})?)\b")
LONGEST: Final = 500
"""Characters of one detail."""

Find = Callable[[str], str | None]

_NAMED: Final = frozenset(["clm", "cl", "rec", "clr", "sin"])
_DAY: Final = r"""
    \b(?:(?:on|next|this|el|este|próximo|proximo)\s+)?
    (?:today|tonight|tomorrow|hoy|mañana|manana
    |monday|tuesday|wednesday|thursday|friday|saturday|sunday
    |lunes|martes|miércoles|miercoles|jueves|viernes|sábado|sabado|domingo)\b
"""
_PART_OF_DAY: Final = r"(?:morning|afternoon|evening|mañana|manana|tarde|noche)\b"
_HOUR: Final = r"\d{1,2}(?:[:.]\d{2})?\s?(?:am|pm|a\.m\.|p\.m\.|h|o'clock|horas)?(?!\w)"
_AT: Final = r"""
    (?:at|after|before|between|around|from|a\ las|entre\ las|sobre\ las|a\ partir\ de\ las
    |(?:después|despues|antes)\ de\ las)
"""
_TIME: Final = re.compile(
    rf"""
    {_DAY} (?:\s+(?:in\ the|por\ la|a\ la|de\ la|en\ la)?\s*{_PART_OF_DAY})?
        (?:\s*{_AT}\s+{_HOUR}(?:\s*(?:and|to|-|y|a)\s*(?:las\s+)?{_HOUR})?)?
    | \b{_AT}\s+{_HOUR}
    | \b(?:in\ the|por\ la)\s+{_PART_OF_DAY}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT: Final = re.compile(
    r"""
    \b(?:about|because(?:\ of)?|regarding|concerning|it\ is\ about|it's\ about
    |sobre|porque|acerca\ de|es\ por|debido\ a|respecto\ a
    |por(?!\s+(?:favor|la\ (?:mañana|tarde|noche))))
    \s+(.+)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_CLAUSE: Final = re.compile(r"\s*[,.;:!?¡¿\u2013\u2014]+\s*")
_CALLS: Final = re.compile(
    r"\b(?:call|phone|ring|telephone|speak|talk|contact|touch|adviser|advisor"
    r"|ll[aá]m\w*|telefon\w*|habl\w*|contact\w*|asesor\w*)\b",
    re.IGNORECASE,
)
_FEWEST: Final = 3
"""Words of a clause that says what a call is about, and is no greeting."""
_ADDRESS: Final = re.compile(
    r"(?:\b(?:address|dirección|direccion|domicilio|home)\b[^,\n]*?(?:\bto\b|\bis\b|\bes\b|\ba\b|:)"
    r"|\b(?:moved|mudado|trasladado|mud[eé]|mudamos|vivo)\b(?:\s+(?:to|a|en)\b|\s*:)?)\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_POSTCODE: Final = re.compile(
    r"\b(?:[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}|\d{4,5}(?:-\d{3,4})?)\b", re.IGNORECASE
)
_ISO: Final = 2
_NICKNAMES: Final = {
    **dict.fromkeys(("uk", "u.k", "england", "scotland", "wales", "great britain"), "GB"),
    **dict.fromkeys(("inglaterra", "escocia", "gran bretana"), "GB"),
    **dict.fromkeys(("usa", "u.s.a", "eeuu"), "US"),
}
_EDGES: Final = " \t\n.,;:!¡¿?"


def reference(text: str) -> str | None:
    """Return a claim's reference as the portal writes it: ``CLM-10234``."""
    for each in _REFERENCE.finditer(text):
        if each[1].lower() in _NAMED:
            return f"{each[1].upper()}-{each[2]}"
    return None


def preferred_time(text: str) -> str | None:
    """Return when the member would like to be called, in their own words."""
    found = _TIME.search(text)
    return _tidy(found[0]) if found else None


def reason(text: str) -> str | None:
    """Return what a call is to be about: what follows ``about``, ``because``, ``sobre`` …

    Where nothing does, it is what is said beside the wish: "Call me back, my claim is stuck".
    """
    found = _ABOUT.search(text)
    if found is not None:
        return _tidy(_TIME.sub("", found[1]))
    if not _CALLS.search(text):
        return None
    clauses = (_TIME.sub("", each) for each in _CLAUSE.split(text) if not _CALLS.search(each))
    return _tidy(", ".join(each for each in clauses if len(each.split()) >= _FEWEST))


def address(text: str) -> Mapping[str, str]:
    """Return the parts of a postal address: line1, line2, city, postcode, country."""
    found = _ADDRESS.search(text)
    rest = found[1] if found else text
    postcode = _POSTCODE.search(rest, _after_street(rest))
    if postcode is None:
        return {}
    before = [each for part in rest[: postcode.start()].split(",") if (each := _tidy(part))]
    behind = [each for part in rest[postcode.end() :].split(",") if (each := _tidy(part))]
    named = next((name for each in behind if (name := country(each))), None)
    towns = [each for each in behind if not country(each)]
    if towns:  # "28013 Madrid"
        city = towns[0]
    elif len(before) > 1:
        city = before.pop()
    else:
        *street, city = re.split(r"\s+(?:in|en)\s+", before[0]) if before else ("", "")
        before = [" ".join(street)]
    told = {
        "line1": before[0] if before else "",
        "line2": ", ".join(before[1:]),
        "city": city,
        "postcode": postcode[0].upper(),
        "country": named or "",
    }
    return {name: each for name, each in told.items() if each}


def country(name: str) -> str | None:
    """Return the English name of a country that is named in English or Spanish, or by its code."""
    return _countries().get(folded(name).strip(" ."))


def whole(text: str) -> str | None:
    """Return all of a message that answers a question of ours."""
    return _tidy(text)


FINDERS: Final[Mapping[str, Mapping[str, Find]]] = {
    "get_claim_status": {"reference": reference},
    "request_callback": {"reason": reason, "preferred_time": preferred_time},
    "change_address": {
        name: lambda text, name=name: address(text).get(name)
        for name in ("line1", "line2", "city", "postcode", "country")
    },
}
"""What finds each detail of each tool."""

ANSWERS: Final[Mapping[str, Find]] = {
    "reason": whole,
    "line1": whole,
    "city": whole,
    "postcode": whole,
    "country": country,
}
"""What reads a message that answers the question for one detail; others are found as ever."""


def details(tool: str, text: str) -> dict[str, str]:
    """Return the details for a tool that stand in a text."""
    found = {name: find(text) for name, find in FINDERS.get(tool, {}).items()}
    return {name: value[:LONGEST] for name, value in found.items() if value}


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


def _after_street(text: str) -> int:
    """Return where a postcode may begin: behind the first comma, as a street has numbers too."""
    return text.find(",") + 1


def _tidy(text: str) -> str | None:
    return " ".join(text.split()).strip(_EDGES) or None
