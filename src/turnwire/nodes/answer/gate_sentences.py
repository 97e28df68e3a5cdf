"""A text that streams, in units that can be judged: sentences, lines and blocks of code.

Where two readings are possible, the longer unit is taken: it only leaves a little later.
"""

import re
from collections.abc import Iterator
from typing import Final

BOUND: Final = 400
"""Characters after which a unit without an end is cut between two words."""
_AHEAD: Final = 64
"""Characters behind an end that may have to be seen to know it."""

# A line's end; or what ends a sentence, and the quotation marks and brackets that close with it.
_END: Final = re.compile(r"\n|[.!?…]+[\"'”’»)\]}*_]*|[。！？]+[」』”’]*")  # noqa: RUF001 - full-width on purpose
_MARKER: Final = re.compile(r"[\[［]\s{0,3}-?[0-9０-９][0-9０-９\s,，;、–-]{0,24}[\]］]")  # noqa: RUF001 - full-width on purpose
_MARKER_BEGUN: Final = re.compile(r"[\[［][0-9０-９\s,，;、–-]{0,28}\Z")  # noqa: RUF001 - full-width on purpose
_SPACE: Final = re.compile(r"[^\S\n]*")
_WORD: Final = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\Z")
_INITIALS: Final = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_ENUMERATOR: Final = re.compile(r"[\s>*#•\-]*(?:[0-9]{1,3}|[A-Za-z])\Z")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_LISTED: Final = """
    mr mrs ms dr drs prof st rev jr sr vs fig figs approx dept est inc ltd co e.g i.e cf
    al etc vol pp p ca a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec
    sra srta dra d dña ud uds vd vds núm num pág pag págs art aprox p.ej ej tel av avda ee uu
    máx mín cap ss fdo lic ing
"""
_ABBREVIATIONS: Final = frozenset(_LISTED.split())
_OPENING: Final = "¿¡"


class Sentences:
    """Cuts a text into units, whose concatenation is the text, wherever its pieces are cut.

    A citation marker behind a full stop belongs to its sentence, so a sentence is whole once
    the next one has begun. Decimal numbers, abbreviations and numbers of lists end nothing.
    """

    def __init__(self) -> None:
        self._held: str = ""
        self._line_begins = True
        self._fence = ""
        self._opened = 0

    def feed(self, text: str) -> Iterator[str]:
        """Yield the units that ``text`` makes whole."""
        self._held += text
        yield from self._units(ended=False)

    def flush(self) -> Iterator[str]:
        """Yield what is left, at the end of the text."""
        yield from self._units(ended=True)

    def _units(self, *, ended: bool) -> Iterator[str]:
        while self._held and (size := self._size(ended=ended)):
            unit, self._held = self._held[:size], self._held[size:]
            self._line_begins = unit.endswith("\n")
            self._opened = 0
            yield unit

    def _size(self, *, ended: bool) -> int:
        """Return how long the first unit is; 0 where that is not known yet."""
        fence = _FENCE.match(self._held) if self._line_begins and not self._fence else None
        if fence is not None:
            self._fence, self._opened = fence[1], fence.end()
        size = self._code() if self._fence else _sentence(self._held, ended=ended)
        if 0 < size <= BOUND:
            return size
        if len(self._held) > BOUND + _AHEAD or (ended and len(self._held) > BOUND):
            return _cut(self._held, "\n" if self._fence else " ")
        return len(self._held) if ended else 0

    def _code(self) -> int:
        closing = re.compile(rf"(?:^|\n) {{0,3}}{self._fence}[^\n]*\n")
        found = closing.search(self._held, self._opened)
        if found is None or found.end() > BOUND:
            return 0
        self._fence = ""
        return found.end()


def _cut(text: str, between: str) -> int:
    return text.rfind(between, 0, BOUND) + 1 or BOUND


def _sentence(text: str, *, ended: bool) -> int:
    at = 0
    while (end := _END.search(text, at)) is not None:
        if end[0] == "\n":
            return end.end()
        at, known = _after(text, end.end())
        if not known and not ended:
            return 0
        if _ends(text, end, at):
            return at
        at = max(at, end.end())
    return 0


def _after(text: str, at: int) -> tuple[int, bool]:
    """Return where the markers and spaces behind a full stop end, and whether that is certain."""
    while True:
        spaces = _SPACE.match(text, at)
        begins = spaces.end() if spaces else at
        marker = _MARKER.match(text, begins)
        if marker is None:
            return begins, begins < len(text) and not _MARKER_BEGUN.match(text, begins)
        at = marker.end()


def _ends(text: str, end: re.Match[str], after: int) -> bool:
    """Whether a sentence ends at ``end``, where the next text begins at ``after``."""
    following = text[after : after + 1]
    if following == "\n":  # which ends it
        return False
    if end[0][0] in "。！？":  # noqa: RUF001 - full-width on purpose
        return True
    if after == end.end() and following and following not in _OPENING:
        return False
    if following.islower() or text.count("`", 0, end.start()) % 2:
        return False
    return end[0] != "." or not _is_short_for_something(text[: end.start()])


def _is_short_for_something(before: str) -> bool:
    word = _WORD.search(before, max(0, len(before) - 24))
    if word is not None and (word[0].lower() in _ABBREVIATIONS or _INITIALS.fullmatch(word[0])):
        return True
    return _ENUMERATOR.match(before) is not None
