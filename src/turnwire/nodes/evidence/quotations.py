"""Whether a quotation stands where it says it stands."""

import re
import unicodedata
from typing import Final

FEWEST_WORDS: Final = 5
"""A shorter quotation is a term, not a claim of what the source says."""

LONGEST: Final = 2000
"""Characters of a quotation that are looked back for."""

_PAIRS: Final = {'"': '"', "”": "“", "“": "„", "»": "«"}
_BETWEEN: Final = " \t.,;:!?…)"
_GAP: Final = 4
_QUOTES: Final = re.compile("[\"'`´‘’‚‛“”„«»]")  # noqa: RUF001 - these are the marks
_ELLIPSIS: Final = re.compile(r"\s*(?:…|\.{3}|\[…\]|\[\.{3}\])\s*")


def quotation_before(text: str, place: int) -> str | None:
    """Return the quotation that ends right before ``place``, or none.

    Only blanks and closing punctuation may stand in between, and it has five words at least.
    """
    close = place - 1
    while close >= 0 and place - close <= _GAP and text[close] in _BETWEEN:
        close -= 1
    if close < 0 or text[close] not in _PAIRS:
        return None
    opening = text.rfind(_PAIRS[text[close]], max(0, close - LONGEST), close)
    if opening < 0:
        return None
    quoted = text[opening + 1 : close]
    return quoted if len(quoted.split()) >= FEWEST_WORDS else None


def stands_in(quoted: str, source: str) -> bool:
    """Whether ``source`` has the words; case, blanks, quotation marks and omissions aside."""
    whole = _plain(source)
    parts = [part for each in _ELLIPSIS.split(quoted) if (part := _plain(each))]
    place = 0
    for part in parts:
        found = whole.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return bool(parts)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_QUOTES.sub("", folded).split()).strip(" .,;:!?")
