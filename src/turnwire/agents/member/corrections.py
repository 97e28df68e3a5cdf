"""What a member corrects in an action that waits for their word: pure."""

import re
from collections.abc import Mapping
from typing import Final

from turnwire.agents.member.addresses import pieces
from turnwire.agents.member.calling import Asks
from turnwire.agents.member.slots import Given, details

_POLITE: Final = r"please|can you|could you|por favor|puede|puedes|podr[ií]as?"
_MARK: Final = re.compile(
    rf"""
    ^\W*(?:(?:{_POLITE})\b\W*)*
    (?:(?:no|wait|hold\ on|sorry|oops|actually|rather|i\ mean|i\ meant|make\ (?:it|that)
    |change\ (?:it|that)\ to|(?:that|it)\ should\ (?:be|say)|that\ is|(?:it|that)'?s|it\ is
    |mejor|perd[oó]n|perdona|perdone|espera|espere|en\ realidad|quer[ií]a\ decir|quiero\ decir
    |que\ sea|ponga|pon|deber[ií]a\ ser|es|era)\b\W*)+
    (?:(?:{_POLITE})\b\W*)*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER: Final = re.compile(
    r"""
    (?:(?:(?:the|el)\s+)?(?:house\s+|street\s+)?(?:number|no\.|n[uú]mero|n\.?º)\s*(?:is|es)?)?
    \s*(\d+\s?[a-z]?)\W*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_STREETS: Final = (
    r"street|st|road|rd|lane|avenue|ave|close|drive|court|way|place|square|terrace|row|gardens"
    r"|crescent|hill|park|mews|grove|walk|house"
)
_IS_ADDRESS: Final = re.compile(
    rf"""
    \d+\w?,?\ (?:[A-ZÁÉÍÓÚÑ]|(?i:[\w\ ']*\b(?:{_STREETS})\b))
    | (?i:(?:flat|apartment|apt|unit|calle|c/|avenida|avda|plaza|paseo|camino|ronda|piso)\b.*\d)
    | (?i:[A-Z]{{1,2}}\d[A-Z\d]?\s?\d[A-Z]{{2}}\b)
    """,
    re.DOTALL | re.VERBOSE,
)
"""What begins as an address does: "14 Harbour Street", and not "3 claims are missing"."""
_NEGATED: Final = re.compile(
    r"\b(?:not|no|never|cannot|can't|cant|don't|dont|won't|wont|nunca|tampoco)\b", re.IGNORECASE
)


def corrected(tool: str, text: str, *, before: Given, asks: Asks) -> dict[str, str]:
    """Return all details with those that a message corrects, or nothing where it corrects none.

    That is one such as "no wait, it is 14 Harbour Street" or "mejor mañana a las 5".

    Args:
        tool: the action that waits.
        text: what the member wrote instead of answering.
        before: what the action was proposed with.
        asks: knows the request itself.
    """
    mark = _MARK.match(text)
    if mark is None:
        return {}
    rest = text[mark.end() :]
    if _NEGATED.search(rest):
        return {}
    found = (
        _of_address(rest, before) if tool == "change_address" else details(tool, rest, asks=asks)
    )
    changed = {**before, **found}
    return changed if changed != dict(before) else {}


def _of_address(text: str, before: Given) -> Mapping[str, str]:
    street = before.get("line1", "")
    if (number := _NUMBER.fullmatch(text)) is not None:
        return {"line1": re.sub(r"\d+(?:\s?[a-z]\b)?", number[1], street, count=1)}
    return pieces(text, known=before) if _IS_ADDRESS.match(text) else {}
