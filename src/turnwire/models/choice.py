"""Choose the sentences that answer a question: pure, in English and Spanish."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from turnwire.language import folded
from turnwire.models.passages import Quotable
from turnwire.models.ranking import NEAR, Sentence, answered, lacks_kind, ranks
from turnwire.models.support import Encode, Words, is_answered
from turnwire.models.vectors import Matrix

Sentences = Callable[[str], Sequence[str]]
"""Cuts a text into its sentences, in order."""

MOST: Final = 3
"""Sentences in one answer."""

_SAME_WORDS: Final = 0.7
"""Two sentences say the same where this share of their words is common."""
_SAME_MEANING: Final = 0.72
"""Two sentences say the same from this cosine on."""
_HEADING_WORDS: Final = 9
_WIDEST: Final = 48
"""Sentences that are compared: those of the best passages, which come first."""

_NOISE: Final = re.compile(
    r"""^(?:
        \#{1,6}\s | [-*_=]{3,}\s*$
      | (?:title|locale|lang|date|version|author|licen[cs]e|tags|slug|synthetic|id)\s*:
      | (?:t[ií]tulo|fecha|versi[oó]n|autor|licencia|etiquetas)\s*:
      | disclaimer\b | copyright\b | © | table\ of\ contents | last\ (?:updated|reviewed)
      | descargo\b | aviso\ legal | [uú]ltima\ (?:actualizaci[oó]n|revisi[oó]n) | [ií]ndice\s*$
    )
    | \b(?:not|no\ substitute\ for|does\ not\ replace)\ (?:\w+\ ){0,2}
      (?:medical|legal|financial|professional)\ advice\b
    | \ball\ rights\ reserved\b | \btodos\ los\ derechos\ reservados\b
    | \b(?:is|was|are|were)\ synthetic\b | \bfor\ (?:demonstration|informational\ purposes)\b
    | \b(?:es|son)\ sint[eé]tic[oa]s?\b
    | \b(?:con|para)\ fines\ (?:de\ demostraci[oó]n|informativos)\b
    | \bno\ (?:es|son|constituye|sustituye)\ (?:\w+\ ){0,2}
      (?:consejo|asesoramiento|recomendaci[oó]n)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DIGIT: Final = re.compile(r"\d")
_CLOSING: Final = "\"'\u201d\u2019»)"
_BULLET: Final = re.compile(r"^(?:[-*•+]\s+)+")
_MARKER: Final = re.compile(r"[ \t]*\[\d{1,3}\]")
_SPLIT: Final = re.compile(r"(?<=[.!?…])\s+(?=[A-ZÁÉÍÓÚÑÜ¿¡\"“«(\d])|\n\s*\n|\n(?=\s*[-*•]\s)")
_WORD: Final = re.compile(r"[^\W_]{2,}")


def candidates(passages: Iterable[Quotable], *, sentences: Sentences) -> list[Sentence]:
    """Return the sentences that may be quoted, without headings, front matter and disclaimers.

    Where nothing else is left, every sentence may be quoted.
    """
    found = [
        Sentence(each.number, place, text, each.title, each.language, each.keywords)
        for each in passages
        for place, line in enumerate(_with_headers(sentences(each.text)))
        if (text := _bare(line))
    ]
    fit = [each for each in found if not is_noise(each.text)]
    return (fit or found)[:_WIDEST]


def is_noise(line: str) -> bool:
    """Whether the line is about the document (a heading, a disclaimer) and says nothing itself."""
    if _NOISE.search(line):
        return True
    is_whole = line.rstrip(_CLOSING).endswith((".", "!", "?", "…", ":", ";"))
    if is_whole or " | " in line or any(each.isdigit() for each in line):
        return line.endswith(":") and len(line.split()) < _HEADING_WORDS
    return len(line.split()) < _HEADING_WORDS


def choose(
    question: str,
    among: Sequence[Sentence],
    *,
    encode: Encode | None,
    words: Words,
    own: str = "",
) -> list[Sentence]:
    """Return the one to three sentences that fit best, as they are read; none answers: none.

    Args:
        question: what was asked.
        among: the sentences, passage by passage.
        encode: what to compare the meanings by, or none to go by words.
        words: what to compare the words by.
        own: the last question alone, where it leans on an earlier one.
    """
    if not among:
        return []
    known = [frozenset(words(each.text)) for each in among]
    scores = ranks(question, among, encode=encode, words=words)
    rows = encode([each.text for each in among]) if encode is not None else None
    picked = _picked(among, list(answered(among, scores)), known, rows)
    if lacks_kind(own or question, picked, words):
        return []
    if encode is None or is_answered(question, among, picked, encode=encode, words=words, own=own):
        return picked
    return []


def _picked(
    among: Sequence[Sentence],
    scores: Sequence[float],
    known: Sequence[frozenset[str]],
    rows: Matrix | None,
) -> list[Sentence]:
    ranked = sorted(range(len(among)), key=lambda at: -scores[at])
    best = ranked[0]
    picked = [best]
    for at in ranked[1:]:
        if among[at].language != among[best].language:
            continue
        if len(picked) == MOST or scores[at] < NEAR * scores[best]:
            break
        if not any(_same(at, other, known, rows) for other in picked):
            picked.append(at)
    return sorted((among[at] for at in picked), key=lambda each: (each.number, each.place))


def plain_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each on one line; blind to abbreviations."""
    return [line for each in _SPLIT.split(text) if (line := " ".join(each.split()))]


def plain_words(text: str) -> frozenset[str]:
    """Return the beginnings of the words, without case and accents."""
    return frozenset(word[:6] for word in _WORD.findall(folded(text)))


def _with_headers(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; a table's head stands in front of each of its rows, never alone.

    The first of two or more rows is the head where it has no figure.
    """
    header = ""
    was_row = False
    for line in lines:
        is_row = " | " in line
        if is_row and not was_row and not _DIGIT.search(line):
            header = line
        elif is_row:
            yield f"{header} / {line}" if header else line
        else:
            header = ""
            yield line
        was_row = is_row


def _bare(line: str) -> str:
    # A number in square brackets would read as a marker of ours.
    return _MARKER.sub("", _BULLET.sub("", line.strip())).strip()


def _same(one: int, other: int, known: Sequence[frozenset[str]], rows: Matrix | None) -> bool:
    """Whether two sentences say the same, in one language or in two."""
    if rows is not None and float(rows[one] @ rows[other]) >= _SAME_MEANING:
        return True
    fewer = min(len(known[one]), len(known[other]))
    return len(known[one] & known[other]) >= _SAME_WORDS * max(1, fewer)
