"""How well each sentence fits a question: by meaning, words, heading, figures and language."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

from turnwire.models.language import language_of
from turnwire.models.support import Encode, Words

NEAR: Final = 0.88
"""The least share of the best score that a further sentence needs."""

_LEXICAL: Final = 0.35
"""What the overlap of words adds to a cosine, both from 0 to 1."""
_IN_HEADING: Final = 0.9
"""What a word counts that only the passage's heading has."""
_RANK: Final = 0.06
"""What the first passage is ahead of the last: the retrieval has a say."""
_TITLE: Final = 0.25
"""What the nearness of the passage's title adds."""
_SECTION: Final = 0.5
"""What the nearness of the passage's own heading adds."""
_FIGURE: Final = 0.22
"""What a figure adds where the question asks for one."""
_FOREIGN: Final = 0.25
"""What a sentence in another language than the question's is behind."""

_HOW_MUCH: Final = re.compile(
    r"\bhow (?:much|many|long|high|low|often)\b|\bnormal\b|\bcu[aá]nt[oa]s?\b", re.IGNORECASE
)
_FIGURES: Final = re.compile(
    r"\d|\b(?:six|seven|eight|nine|ten|twelve|seis|siete|ocho|nueve|diez|doce)\b", re.IGNORECASE
)


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

    @property
    def heading(self) -> str:
        """The title without the document's part of it."""
        return self.title.rpartition(" \u2014 ")[2]


def ranks(
    question: str, among: Sequence[Sentence], *, encode: Encode | None, words: Words
) -> list[float]:
    """Return each sentence's score; only their order and their ratios mean anything."""
    scores = list(_overlaps(frozenset(words(question)), among, words))
    scores = [_LEXICAL * each + _RANK / of.number for each, of in zip(scores, among, strict=True)]
    scores = [score + _suits(question, each) for score, each in zip(scores, among, strict=True)]
    if encode is None:
        return scores
    asked = encode([question])[0]
    titles = encode([each.title or each.text for each in among]) @ asked
    headings = encode([each.heading or each.text for each in among]) @ asked
    nearness = encode([each.text for each in among]) @ asked
    nearness = nearness + _TITLE * titles + _SECTION * headings
    return [score + float(near) for score, near in zip(scores, nearness, strict=True)]


def answered(among: Sequence[Sentence], scores: Sequence[float]) -> Iterator[float]:
    """Yield the scores; what a document asks itself lends its score to the sentence after it."""
    lent: tuple[int, float] | None = None
    for each, score in zip(among, scores, strict=True):
        number, credit = lent or (0, 0.0)
        lent = (each.number, score) if each.text.endswith("?") else None
        if lent is not None:
            yield score / 2
        else:
            yield max(score, credit) if number == each.number else score


def _suits(question: str, sentence: Sentence) -> float:
    """Return what a figure adds where one is asked for, less what another language takes away."""
    figure = _FIGURE if _HOW_MUCH.search(question) and _FIGURES.search(sentence.text) else 0.0
    mine = language_of(question)
    foreign = bool(mine and sentence.language) and mine != sentence.language
    return figure - (_FOREIGN if foreign else 0.0)


def _overlaps(asked: frozenset[str], among: Sequence[Sentence], words: Words) -> Iterator[float]:
    """Yield each sentence's share of the question's words; common ones count less."""
    said = [frozenset(words(each.text)) & asked for each in among]
    above = [frozenset(words(each.heading)) & asked for each in among]
    spread = Counter(word for one, two in zip(said, above, strict=True) for word in one | two)
    weights = {word: log1p(len(among) / count) for word, count in spread.items()}
    whole = sum(weights.values()) or 1.0
    for one, two in zip(said, above, strict=True):
        in_heading = sum(weights[word] for word in two - one)
        yield (sum(weights[word] for word in one) + _IN_HEADING * in_heading) / whole
