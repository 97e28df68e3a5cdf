"""Choose the sentences that answer a question: pure, in English and Spanish."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

from turnwire.models.passages import Quotable
from turnwire.models.vectors import Matrix

Sentences = Callable[[str], Sequence[str]]
"""Cuts a text into its sentences, in order."""

Words = Callable[[str], Iterable[str]]
"""Returns the words of a text that carry meaning, in a form that can be compared."""

Encode = Callable[[Sequence[str]], Matrix]
"""Returns a row of length 1 a text, whose dot product says how near the meanings are."""

MOST: Final = 3
"""Sentences in one answer."""

_LEXICAL: Final = 0.35
"""What the overlap of words adds to a cosine, both from 0 to 1."""
_RANK: Final = 0.06
"""What the first passage is ahead of the last: the retrieval has a say."""
_NEAR: Final = 0.88
"""The least share of the best score that a further sentence needs."""
_TITLE: Final = 0.25
"""What the nearness of the passage's title adds."""
_FOREIGN: Final = 0.12
"""What a sentence in another language than the question's is behind."""
_SECTION: Final = 0.20
"""What the nearness of the passage's own heading adds."""
_IN_HEADING: Final = 0.6
"""What a word of the question that only the heading has counts, against one of the sentence."""
_FIGURE: Final = 0.08
"""What a number adds where the question asks how much."""
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
_CLOSING: Final = "\"'\u201d\u2019»)"
_HOW_MUCH: Final = re.compile(
    r"\bhow (?:much|many|long|high|low|often)\b|\bnormal\b|\bcu[aá]nt[oa]s?\b", re.IGNORECASE
)
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|dos|tres|cuatro|cinco|seis|siete"
    r"|ocho|nueve|diez|doce)\b",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"^(?:[-*•+]\s+)+")
_MARKER: Final = re.compile(r"[ \t]*\[\d{1,3}\]")
_SPLIT: Final = re.compile(r"(?<=[.!?…])\s+(?=[A-ZÁÉÍÓÚÑÜ¿¡\"“«(\d])|\n\s*\n|\n(?=\s*[-*•]\s)")
_WORD: Final = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, as it stands there."""

    number: int
    """The passage's."""
    place: int
    """Where in the passage, from 0."""
    text: str
    title: str = ""
    """The passage's."""
    language: str = ""
    """The passage's, or "" where it is not known."""


def candidates(passages: Iterable[Quotable], *, sentences: Sentences) -> list[Sentence]:
    """Return the sentences that may be quoted, without headings, front matter and disclaimers.

    Where nothing else is left, every sentence may be quoted.
    """
    found = [
        Sentence(each.number, place, text, each.title, each.language)
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
    question: str, among: Sequence[Sentence], *, encode: Encode | None, words: Words
) -> list[Sentence]:
    """Return the one to three sentences that fit best, in the order in which they are read.

    Args:
        question: what was asked.
        among: the sentences, passage by passage.
        encode: what to compare the meanings by, or none to go by words.
        words: what to compare the words by.
    """
    if not among:
        return []
    known = [frozenset(words(each.text)) for each in among]
    rows = encode([each.text for each in among]) if encode is not None else None
    scores = _scores(question, among, known, words)
    if encode is not None and rows is not None:
        nearness = rows @ encode([question])[0]
        best = _nearest(question, among, nearness)
        texts = [f"{among[at].text} {among[at].title}" for at in best]
        if _one_language(question, [among[at] for at in best]):
            if not is_answered(question, float(nearness[best[0]]), texts, encode, words):
                return []
        elif nearness[best[0]] < NEAR_ENOUGH:
            return []
        near = nearness + _headings(question, among, encode)
        scores = [score + float(each) for score, each in zip(scores, near, strict=True)]
    return _picked(among, list(_answered(among, scores)), known, rows)


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
        if len(picked) == MOST or scores[at] < _NEAR * scores[best]:
            break
        if not any(_same(at, other, known, rows) for other in picked):
            picked.append(at)
    first = among[best].number
    chosen = [among[at] for at in picked]
    return sorted(chosen, key=lambda each: (each.number != first, each.number, each.place))


def plain_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each on one line; blind to abbreviations."""
    return [line for each in _SPLIT.split(text) if (line := " ".join(each.split()))]


def plain_words(text: str) -> frozenset[str]:
    """Return the beginnings of the words, without case and accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(each for each in decomposed if not unicodedata.combining(each))
    return frozenset(word[:6] for word in _WORD.findall(bare))


def _bare(line: str) -> str:
    # A number in square brackets would read as a marker of ours.
    return _MARKER.sub("", _BULLET.sub("", line.strip())).strip()


def _overlaps(asked: frozenset[str], known: Sequence[frozenset[str]]) -> Iterator[float]:
    """Yield each sentence's share of the question's words; common ones count less."""
    spread = Counter(word for each in known for word in each & asked)
    weights = {word: log1p(len(known) / count) for word, count in spread.items()}
    whole = sum(weights.values()) or 1.0
    for each in known:
        yield sum(weights[word] for word in each & asked) / whole


def _answered(among: Sequence[Sentence], scores: Sequence[float]) -> Iterator[float]:
    """Yield the scores; what a document asks itself lends its score to the sentence after it."""
    lent: tuple[int, float] | None = None
    for each, score in zip(among, scores, strict=True):
        number, credit = lent or (0, 0.0)
        lent = (each.number, score) if each.text.endswith("?") else None
        if lent is not None:
            yield score / 2
        else:
            yield max(score, credit) if number == each.number else score


def _same(one: int, other: int, known: Sequence[frozenset[str]], rows: Matrix | None) -> bool:
    """Whether two sentences say the same, in one language or in two."""
    if rows is not None and float(rows[one] @ rows[other]) >= _SAME_MEANING:
        return True
    fewer = min(len(known[one]), len(known[other]))
    return len(known[one] & known[other]) >= _SAME_WORDS * max(1, fewer)
