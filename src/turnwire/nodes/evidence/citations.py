"""Citations of a text: markers that point at evidence, and nothing else."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from turnwire.events import Citation
from turnwire.nodes.evidence.code import Code
from turnwire.nodes.evidence.quotations import quotation_before, stands_in
from turnwire.nodes.evidence.source import Evidence

# [1], [1, 3], [2-4], [-1] and the full-width forms. Possessive: a `[` costs what follows it once.
_MARKER: Final = re.compile(
    r"[\[［]\s{0,3}+(-?[0-9０-９]{1,3}+(?:\s{0,3}+[-–,，;、]\s{0,3}+-?[0-9０-９]{1,3}+)*+)\s{0,3}+[\]］]"  # noqa: RUF001 - full-width on purpose
)
_SEPARATOR: Final = re.compile(r"\s*[,，;、]\s*")  # noqa: RUF001 - full-width on purpose
_RANGE: Final = re.compile(r"(\d+)\s*[-–]\s*(\d+)")  # noqa: RUF001 - an en dash on purpose
_WIDEST: Final = 20


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """What the markers of a text are worth."""

    citations: tuple[Citation, ...] = ()
    """Each passage once, in the order of the text."""
    invented: int = 0
    """Markers that point at no evidence: ``[0]``, ``[-1]``, ``[9]`` of four."""
    wrong_source: int = 0
    """Markers behind a quotation that their passage does not contain."""
    unfounded_quotations: int = 0
    """Quotations that none of the passages marked for them contains."""

    @property
    def is_backed(self) -> bool:
        """Whether nothing in the text claims a source that does not bear it out."""
        only_invented = self.invented > 0 and not self.citations
        return not only_invented and not self.unfounded_quotations


def find_citations(text: str, evidence: Sequence[Evidence]) -> CitationCheck:
    """Return the citations of ``text``; code is left alone, and the time is linear in the text."""
    by_number = {each.passage.index: each for each in evidence}
    found: dict[int, Citation] = {}
    invented = wrong = unfounded = 0
    for group in _groups(text):
        known = [by_number[number] for number in group.numbers if number in by_number]
        invented += len(group.numbers) - len(known)
        if group.quoted is not None:
            right = [each for each in known if stands_in(group.quoted, each.text)]
            wrong += len(known) - len(right)
            unfounded += not right
            known = right
        for each in known:
            found.setdefault(each.passage.index, _citation(each))
    return CitationCheck(tuple(found.values()), invented, wrong, unfounded)


def without_markers(text: str) -> str:
    """Return ``text`` without its markers, for a prompt whose evidence has other numbers."""
    parts: list[str] = []
    last = 0
    for marker in _markers(text):
        parts.append(text[last : marker.start()].rstrip(" "))
        last = marker.end()
    return "".join([*parts, text[last:]])


@dataclass(slots=True)
class _Group:
    """Markers that stand together, and the quotation before them."""

    numbers: list[int]
    quoted: str | None
    end: int


def _markers(text: str) -> Iterator[re.Match[str]]:
    """Yield the markers that do not stand in code."""
    code = Code(text) if "`" in text or "~~~" in text else None
    for marker in _MARKER.finditer(text):
        if code is None or marker.start() not in code:
            yield marker


def _groups(text: str) -> Iterator[_Group]:
    group: _Group | None = None
    for marker in _markers(text):
        if group is not None and not text[group.end : marker.start()].strip(" ,"):
            group.numbers += _numbers(marker[1])
            group.end = marker.end()
            continue
        if group is not None:
            yield group
        quoted = quotation_before(text, marker.start())
        group = _Group(_numbers(marker[1]), quoted, marker.end())
    if group is not None:
        yield group


def _numbers(listed: str) -> list[int]:
    numbers: list[int] = []
    for each in _SEPARATOR.split(listed):
        span = _RANGE.fullmatch(each)
        if span is not None and 0 <= int(span[2]) - int(span[1]) < _WIDEST:
            numbers += range(int(span[1]), int(span[2]) + 1)
        else:
            numbers.append(_number(each))
    return numbers


def _number(written: str) -> int:
    try:
        return int(written)
    except ValueError:  # a range that runs backwards or far: it points nowhere
        return 0


def _citation(evidence: Evidence) -> Citation:
    passage = evidence.passage
    return Citation(
        marker=passage.index,
        id=passage.id,
        title=passage.title,
        document_id=passage.document_id,
        snippet=passage.snippet,
    )
