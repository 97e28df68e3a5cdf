"""Text as the searches for personal data read it: digits and separators in one form."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from turnwire.nodes.guardrails.normalise import INVISIBLE


@dataclass(frozen=True, slots=True)
class Plain:
    """A text without disguises, and where each of its characters stands in the original."""

    text: str
    length: int
    """Of the original."""
    places: Sequence[int] | None = None
    """None: each stands where it stood."""

    def start(self, at: int) -> int:
        """Return where the character ``at`` begins in the original."""
        if self.places is None:
            return at
        return self.places[at] if at < len(self.places) else self.length

    def end(self, at: int) -> int:
        """Return where the text before ``at`` ends in the original."""
        return at if self.places is None or at == 0 else self.places[at - 1] + 1


def plain(text: str) -> Plain:
    """Return ``text`` with ASCII digits and separators and without invisible characters.

    Every decimal digit of Unicode counts (general category Nd), and every space and hyphen.
    """
    if text.isascii():
        return Plain(text, len(text))
    folded = text.translate(_FOLDED)
    if INVISIBLE.search(folded) is None:
        return Plain(folded, len(text))
    places = [at for at, each in enumerate(folded) if INVISIBLE.match(each) is None]
    return Plain("".join(folded[at] for at in places), len(text), places)


_ALIKE: Final = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63",
    ".": "\u00b7\u2024\u30fb\uff61",
    "/": "\u2044\u2215",
}
_FULL_WIDTH: Final = range(0xFF01, 0xFF5F)
_TO_ASCII: Final = 0xFEE0


class _Folding(dict[int, int]):
    """What each character is read as; looked up once, when it is first seen."""

    def __missing__(self, code: int) -> int:
        self[code] = folded = _folded(code)
        return folded


def _folded(code: int) -> int:
    character = chr(code)
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return ord("0") + digit
    if code in _FULL_WIDTH:
        return code - _TO_ASCII
    return ord(" ") if unicodedata.category(character) == "Zs" else code


_FOLDED: Final = _Folding({ord(each): ord(to) for to, alike in _ALIKE.items() for each in alike})
