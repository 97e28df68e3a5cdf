"""What a tool has to be told, found in the member's words: pure, in English and Spanish."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from turnwire.agents.member.addresses import address, country, pieces
from turnwire.agents.member.calling import Asks, preferred_time, reason

_REFERENCE: Final = re.compile(r"\b([A-Za-z]{2,4})[ \u2010-\u2013-]?(\d{3,10}(?:-\d{1,6})?)\b")
_NAMED: Final = frozenset(["clm", "cl", "rec", "clr", "sin"])
LONGEST: Final = 500
"""Characters of one detail."""

Given = Mapping[str, str]
_EDGES: Final = " \t\n.,;:!¡¿?"


def reference(text: str) -> str | None:
    """Return a claim's reference as the portal writes it: ``CLM-10234``."""
    for each in _REFERENCE.finditer(text):
        if each[1].lower() in _NAMED:
            return f"{each[1].upper()}-{each[2]}"
    return None


def details(tool: str, text: str, *, asks: Asks) -> dict[str, str]:
    """Return the details for a tool that stand in a text; ``asks`` knows the request itself."""
    match tool:
        case "get_claim_status":
            found = {"reference": reference(text)}
        case "request_callback":
            found = {"reason": reason(text, asks), "preferred_time": preferred_time(text)}
        case "change_address":
            found = dict[str, str | None](address(text))
        case _:
            found = dict[str, str | None]()
    return _known(found)


def told(tool: str, asked: str, text: str, *, before: Given, asks: Asks) -> dict[str, str]:
    """Return the details that an answer to our question tells, beside those told before.

    Args:
        tool: what they are for.
        asked: the detail that was asked for, or ``address`` for all of one.
        text: the answer.
        before: what was told before.
        asks: knows the request itself.
    """
    if tool == "change_address":
        found = dict(address(text) or pieces(text, known=before))
    else:
        found = details(tool, text, asks=asks)
    read = _ALONE.get(asked) if tool in _OURS else _whole
    if read is not None and asked not in found and found.keys() <= _ANY_WORDS:
        found = _known({asked: read(text)})
    return {**before, **found}


def _whole(text: str) -> str | None:
    return " ".join(text.split()).strip(_EDGES) or None


_OURS: Final = frozenset(["get_claim_status", "request_callback", "change_address"])
"""Tools whose details are read as what they are; of others, an answer is the detail."""
_ANY_WORDS: Final = frozenset(["line1", "line2", "city", "preferred_time"])
"""Details that may be any words, so that the same words may be the detail that was asked for."""
_ALONE: Final[Mapping[str, Callable[[str], str | None]]] = {
    "reason": _whole,
    "line1": _whole,
    "city": _whole,
    "postcode": _whole,
    "country": country,
}
"""What reads a message that answers the question for one detail and nothing else."""


def _known(found: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value[:LONGEST] for name, value in found.items() if value}
