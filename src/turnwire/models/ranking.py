"""How well each sentence fits a question: by meaning, words, heading, figures and language."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log1p
from typing import Final

from turnwire.language import language_of
from turnwire.models.asking import STRICT, Kind, is_of, kind_of, strength, subject_of
from turnwire.models.support import Encode, Words, nearness

NEAR: Final = 0.88
"""The least share of the best score that a further sentence needs."""

_LEXICAL: Final = 0.2
"""What the overlap of words adds to a cosine, both from 0 to 1."""
_IN_HEADING: Final = 0.9
"""What a word counts that only the passage's heading has."""
_IN_TITLE: Final = 0.7
"""What a word counts that only the document's title has: ``a reading`` of its subject."""
_RANK: Final = 0.06
"""What the first passage is ahead of the last: the retrieval has a say."""
_TITLE: Final = 0.25
"""What the nearness of the passage's title adds."""
_SECTION: Final = 0.3
"""What the nearness of the passage's own heading adds."""
_OF_KIND: Final[dict[Kind, float]] = {
    "price": 0.22, "duration": 0.22, "norm": 0.3, "level": 0.3, "amount": 0.22, "advice": 0.3,
    "definition": 0.3,
}  # fmt: skip
"""What a sentence gains that has the kind of answer which is asked for."""
_LEAD: Final = 0.15
"""What the first sentence below a heading gains, times the heading's nearness."""
_FOREIGN: Final = 0.25
"""What a sentence in another language than the question's is behind."""

_DASH: Final = " \u2014 "


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
    keywords: tuple[str, ...] = ()
    """Words of the question by which the passage's document wants to be found."""

    @property
    def below_heading(self) -> str:
        """The sentence behind its passage's own heading."""
        return f"{self.heading}: {self.text}" if self.heading else self.text

    @property
    def document(self) -> str:
        """The document's part of the title."""
        return self.title.partition(_DASH)[0]

    @property
    def in_context(self) -> str:
        """The sentence behind its document's title."""
        return f"{self.document}: {self.text}"

    @property
    def heading(self) -> str:
        """The title without the document's part of it."""
        return self.title.rpartition(_DASH)[2]


def ranks(
    question: str, among: Sequence[Sentence], *, encode: Encode | None, words: Words
) -> list[float]:
    """Return each sentence's score; only their order and their ratios mean anything."""
    scores = list(_overlaps(frozenset(words(subject_of(question))), among, words))
    scores = [_LEXICAL * each + _RANK / of.number for each, of in zip(scores, among, strict=True)]
    scores = [score + _suits(question, each) for score, each in zip(scores, among, strict=True)]
    if encode is None:
        return scores
    near = partial(nearness, question, among, encode=encode)
    titles = near([each.title or each.text for each in among])
    headings = near([each.heading or each.text for each in among])
    # `A reading below 120/80` is about what its document is about.
    said = (near([each.text for each in among]) + near([each.in_context for each in among])) / 2
    said = said + _TITLE * titles + _SECTION * headings
    leads = _LEAD * headings.clip(0) * [each.place == first for each, first in _firsts(among)]
    return [score + float(more) for score, more in zip(scores, said + leads, strict=True)]


def _firsts(among: Sequence[Sentence]) -> Iterator[tuple[Sentence, int]]:
    """Yield each sentence, and the place of the first one of its passage."""
    first: dict[int, int] = {}
    for each in among:
        yield each, first.setdefault(each.number, each.place)


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


def lacks_kind(question: str, picked: Sequence[Sentence], words: Words) -> bool:
    """Whether the question asks for a price or a level, and no picked sentence has its one."""
    kind = kind_of(question)
    if kind not in STRICT:
        return False
    subject = frozenset(words(subject_of(question)))
    said = (each for each in picked if is_of(kind, each.text))
    return not any(subject & frozenset(words(f"{each.text} {each.title}")) for each in said)


def _suits(question: str, sentence: Sentence) -> float:
    """Return what the kind of answer adds, less what another language takes away."""
    kind = kind_of(question)
    gain = (
        _OF_KIND[kind] * strength(kind, sentence.text, sentence.heading)
        if kind is not None
        else 0.0
    )
    mine = language_of(question)
    foreign = bool(mine and sentence.language) and mine != sentence.language
    return gain - (_FOREIGN if foreign else 0.0)


def _overlaps(asked: frozenset[str], among: Sequence[Sentence], words: Words) -> Iterator[float]:
    """Yield each sentence's share of the question's words; common ones count less."""
    said = [frozenset(words(each.text)) & asked for each in among]
    above = [frozenset(words(each.heading)) & asked for each in among]
    titles = [frozenset(words(each.title)) & asked for each in among]
    spread = Counter(word for one, two in zip(said, above, strict=True) for word in one | two)
    weights = {word: log1p(len(among) / max(1, spread[word])) for word in asked}
    known = frozenset[str]().union(*said, *titles)
    whole = sum(weights[word] for word in known) or 1.0
    for one, two, three in zip(said, above, titles, strict=True):
        in_heading = sum(weights[word] for word in two - one)
        in_title = sum(weights[word] for word in three - two - one)
        own = sum(weights[word] for word in one)
        yield (own + _IN_HEADING * in_heading + _IN_TITLE * in_title) / whole
