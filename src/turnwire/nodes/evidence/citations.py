"""Citations of a text: markers that point at evidence, and nothing else."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from turnwire.events import AnswerSpan, Citation
from turnwire.language import language_of
from turnwire.nodes.evidence.claims import Unsupported, read_source, unsupported
from turnwire.nodes.evidence.code import Code
from turnwire.nodes.evidence.quotations import quotation_before, stands_in
from turnwire.nodes.evidence.source import Evidence
from turnwire.nodes.evidence.statements import Span, sentence_at, sentences

# [1], [1, 3], [2-4], [-1] and the full-width forms. Possessive: a `[` costs what follows it once.
_MARKER: Final = re.compile(
    r"[\[［]\s{0,3}+(-?[0-9０-９]{1,3}+(?:\s{0,3}+[-–,，;、]\s{0,3}+-?[0-9０-９]{1,3}+)*+)\s{0,3}+[\]］]"  # noqa: RUF001 - full-width on purpose
)
_SEPARATOR: Final = re.compile(r"\s*[,，;、]\s*")  # noqa: RUF001 - full-width on purpose
_RANGE: Final = re.compile(r"(\d+)\s*[-–]\s*(\d+)")  # noqa: RUF001 - an en dash on purpose
_WIDEST: Final = 20
_LONGEST: Final = 4000
"""Characters of one statement that are held against its passage."""
_MOST: Final = 100
"""Claims that are reported of one answer."""


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
    unsupported: tuple[Unsupported, ...] = ()
    """Numbers, dates, names and denials that the passages marked for them do not carry."""

    @property
    def is_backed(self) -> bool:
        """Whether nothing in the text claims a source that does not bear it out."""
        only_invented = self.invented > 0 and not self.citations
        return not (only_invented or self.unfounded_quotations or self.unsupported)

    @property
    def reason(self) -> str | None:
        """What is wrong first of all, as a reason code; none where the text is backed."""
        if self.unfounded_quotations:
            return "unfounded_quotation"
        return f"unsupported_{self.unsupported[0].kind}" if self.unsupported else None


def find_citations(
    text: str, evidence: Sequence[Evidence], *, beside: Sequence[Evidence] = ()
) -> CitationCheck:
    """Return the citations of ``text``; code is left alone, and the time is linear in the text.

    A marker stands for the sentence that it is in or follows; what is said between two markers
    of a sentence has to be carried by the passages of the second. ``beside`` is what no marker
    points at, and every sentence may speak of too: what tools returned.
    """
    by_number = {each.passage.index: each for each in evidence}
    bare, groups = _read(text)
    spans = sentences(bare)
    marked: dict[int, list[_Group]] = {}
    found: dict[int, tuple[Evidence, list[Span]]] = {}
    invented = wrong = unfounded = 0
    for group in groups:
        known = [by_number[number] for number in group.numbers if number in by_number]
        invented += len(group.numbers) - len(known)
        if group.quoted is not None:
            right = [each for each in known if stands_in(group.quoted, each.text)]
            wrong += len(known) - len(right)
            unfounded += not right
            known = right
        group.known = known
        place = sentence_at(group.start, bare, spans)
        for each in known:
            places = found.setdefault(each.passage.index, (each, []))[1]
            if place is not None and spans[place] not in places[-1:]:
                places.append(spans[place])
        if place is not None:
            marked.setdefault(place, []).append(group)
    return CitationCheck(
        citations=tuple(_citation(each, places) for each, places in found.values()),
        invented=invented,
        wrong_source=wrong,
        unfounded_quotations=unfounded,
        unsupported=tuple(islice(_unsupported(bare, spans, marked, evidence, beside), _MOST)),
    )


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
    start: int
    end: int
    known: Sequence[Evidence] = ()
    """The passages that they rightly point at."""


def _markers(text: str) -> Iterator[re.Match[str]]:
    """Yield the markers that do not stand in code."""
    code = _code(text)
    for marker in _MARKER.finditer(text):
        if code is None or marker.start() not in code:
            yield marker


def _code(text: str) -> Code | None:
    return Code(text) if "`" in text or "~~~" in text else None


def _read(text: str) -> tuple[str, list[_Group]]:
    """Return ``text`` with blanks for markers and code, at the same length, and the markers."""
    groups: list[_Group] = []
    code = _code(text)
    hidden = [] if code is None else list(code.spans())
    for marker in _markers(text):
        hidden.append(marker.span())
        group = groups[-1] if groups else None
        if group is not None and not text[group.end : marker.start()].strip(" ,"):
            group.numbers += _numbers(marker[1])
            group.end = marker.end()
        else:
            quoted = quotation_before(text, marker.start())
            groups.append(_Group(_numbers(marker[1]), quoted, *marker.span()))
    return _blanked(text, hidden), groups


def _blanked(text: str, hidden: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    last = 0
    for start, end in sorted(hidden):
        parts += (text[last:start], " " * (end - start))
        last = end
    return "".join([*parts, text[last:]])


def _unsupported(
    bare: str,
    spans: Sequence[Span],
    marked: Mapping[int, Sequence[_Group]],
    evidence: Sequence[Evidence],
    beside: Sequence[Evidence],
) -> Iterator[Unsupported]:
    """Yield what the statements claim and their passages do not carry."""
    if not evidence and not beside:
        return
    read = {each.passage.index: read_source(each) for each in evidence}
    told = [read_source(each) for each in beside]
    language = language_of(bare)
    for at, span in enumerate(spans):
        for start, end, known in _pieces(span, marked.get(at, ())):
            sources = [read[each.passage.index] for each in known] or list(read.values())
            sources += told
            said = bare[start : min(end, start + _LONGEST)]
            for each in unsupported(said, sources, cited=bool(known), language=language):
                yield Unsupported(each.kind, start + each.start, start + each.end)


def _pieces(span: Span, groups: Sequence[_Group]) -> Iterator[tuple[int, int, Sequence[Evidence]]]:
    """Yield what stands between the markers of a sentence; the last ones have the rest too."""
    if not groups:
        yield span.start, span.end, ()
    start = span.start
    for number, group in enumerate(groups, start=1):
        end = span.end if number == len(groups) else min(group.start, span.end)
        if start < end:
            yield start, end, group.known
        start = max(start, end)


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


def _citation(evidence: Evidence, places: Iterable[Span]) -> Citation:
    passage = evidence.passage
    return Citation(
        marker=passage.index,
        id=passage.id,
        title=passage.title,
        document_id=passage.document_id,
        snippet=passage.snippet,
        date=passage.date,
        version=passage.version,
        spans=tuple(AnswerSpan(start=each.start, end=each.end) for each in places),
    )
