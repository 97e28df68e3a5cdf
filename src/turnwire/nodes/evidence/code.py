"""Where a Markdown text is code, so that ``a[1]`` is not taken for a citation."""

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Final

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_TICKS: Final = re.compile(r"`+")


class Code:
    """The code of a text: fenced blocks and spans (CommonMark 0.31, sections 4.5 and 6.1).

    A fence that never closes holds the rest of the text; a backtick that never closes is one.
    """

    def __init__(self, text: str) -> None:
        fences = list(_fences(text))
        spans = sorted([*fences, *_spans(text, fences)])
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield where each piece of code starts and ends."""
        yield from zip(self._starts, self._ends, strict=True)

    def __contains__(self, place: object) -> bool:
        if not isinstance(place, int):
            return False
        at = bisect_right(self._starts, place) - 1
        return at >= 0 and place < self._ends[at]


def _fences(text: str) -> Iterator[tuple[int, int]]:
    begin, mark = -1, ""
    for line in _FENCE.finditer(text):
        if begin < 0:
            if line[1][0] == "~" or "`" not in line[2]:
                begin, mark = line.start(), line[1]
        elif line[1].startswith(mark) and not line[2].strip():
            yield begin, line.end()
            begin = -1
    if begin >= 0:
        yield begin, len(text)


def _spans(text: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    begin = 0
    for start, end in [*fences, (len(text), len(text))]:
        yield from _inline(text, begin, start)
        begin = end


def _inline(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    runs = [(each.start(), each.end()) for each in _TICKS.finditer(text, begin, end)]
    closers: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)
    for run in runs:
        closers[run[1] - run[0]].append(run)
    after = begin
    for start, stop in runs:
        same = closers[stop - start]
        while same and same[0][0] <= start:
            same.popleft()
        if start >= after and same:
            after = same[0][1]
            yield start, after
