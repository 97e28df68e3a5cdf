"""The sentences of an answer with their places, and which of them a marker stands for."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

# A full stop, then blanks, then what a sentence begins with; a line break always ends one.
_ENDING: Final = re.compile(
    r"[.!?…]++[\"'”\u2019»)*_]*+(?=\s+(?:[^\W_a-zß-öø-ÿ]|[¿¡\"'“\u2018«(*_-]))|\n"
)
_ABBREVIATION: Final = re.compile(
    r"\b(?:[A-Z]|dr|dra|mr|mrs|ms|sr|sra|prof|st|vs|etc|approx|aprox|p|ej|e\.g|i\.e|no|núm|fig|art)$",
    re.IGNORECASE,
)
_EDGE: Final = re.compile(r"[\s>*_#•-]*")


class Span(NamedTuple):
    """From ``start`` up to, not including, ``end``."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """Return the sentences in order, without the blanks and list marks around them."""
    found: list[Span] = []
    begin = 0
    for ending in _ENDING.finditer(text):
        is_break = text[ending.start()] == "\n"
        tail = text[max(begin, ending.start() - 12) : ending.start()]
        if not is_break and ending[0].startswith(".") and _ABBREVIATION.search(tail):
            continue
        _add(found, text, begin, ending.start() if is_break else ending.end())
        begin = ending.end()
    _add(found, text, begin, len(text))
    return found


def sentence_at(place: int, text: str, spans: Sequence[Span]) -> int | None:
    """Return which sentence a marker at ``place`` belongs to: its own, else the one before it.

    A marker that begins a line belongs to what follows it there. ``text`` has blanks where the
    markers are.
    """
    at = bisect_right(spans, place, key=lambda each: each.start) - 1
    inside = at >= 0 and place < spans[at].end
    if inside or at + 1 == len(spans):
        return at if at >= 0 else None
    line = text.rfind("\n", 0, place) + 1
    begins_line = not text[line:place].strip(" \t>*-•")
    follows = "\n" not in text[place : spans[at + 1].start]
    if begins_line and follows:
        return at + 1
    return at if at >= 0 else at + 1


def _add(found: list[Span], text: str, begin: int, end: int) -> None:
    edge = _EDGE.match(text, begin, end)
    start = edge.end() if edge else begin
    end = start + len(text[start:end].rstrip())
    if any(each.isalnum() for each in text[start:end]):
        found.append(Span(start, end))
