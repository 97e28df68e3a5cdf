"""Whether the sentences that were picked answer the question at all.

Three signals, measured on the shipped health leaflets with the embedded encoder and the tuning
half of ``tests/models/quoting_questions.yaml`` and of ``evaluation/sets/questions.*.yaml``:

- how near the nearest picked sentence, below its heading, is to the question;
- what the question names that no passage does. A word counts as much as the question changes its
  meaning without it, times how far it is from the nearest word of the passages: the leg of
  ``a broken leg`` is there, and what makes it another question, ``broken``, is not. Words that
  only say how something is asked, and figures, count nothing. The nearer the sentence, and where
  a keyword of its document stands in the question, the more may be missing;
- a designation that is another one than the passages have: ``type 1`` where they are on type 2.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import numpy as np

from turnwire.language import folded, language_of, reworded
from turnwire.models.asking import subject_of
from turnwire.models.vectors import Matrix

Words = Callable[[str], Iterable[str]]
"""Returns the words of a text that carry meaning, in a form that can be compared."""

Encode = Callable[[Sequence[str]], Matrix]
"""Returns a row of length 1 a text, whose dot product says how near the meanings are."""

NEAR_ENOUGH: Final = 0.2
"""The least nearness where nothing can be said of what is missing."""
_LEAST_NEAR: Final = 0.15
_MAY_LACK: Final = 0.01
"""How much the least supported word may weigh where the nearness is 0 …"""
_LACK_BY_NEARNESS: Final = 0.0625
"""… and how much more for each 1 of nearness …"""
_LACK_BY_KEYWORD: Final = 0.0125
"""… and where a keyword of the document stands in the question."""
_HERE: Final = 1.5
"""How many times as much the passages of the picked sentences may lack as all that were found."""
_MEANS_THE_SAME: Final = 0.75
"""From this cosine on, two words are one, and a sentence says what is asked."""
_BEST: Final = 3
"""Sentences whose words are looked at where none of the picked is in the question's language."""
_MOST_WORDS: Final = 16
"""Words of a question that are looked at."""
_WORD: Final = re.compile(r"[^\W_]{2,}")
_DESIGNATION: Final = re.compile(
    r"\b(type|tipo|grade|grado|stage|etapa|phase|fase|class|clase|category|categor[ií]a|vitamina?"
    r"|hepatitis|version|versi[oó]n|plan|form|formulario|chapter|cap[ií]tulo|article|art[ií]culo)"
    r"\s+(\d{1,4}|[a-z])\b",
    re.IGNORECASE,
)
_MANNER_LISTED: Final = """
    long many often late early per every never always without whether ok okay thing things way ways
    kind sort good better best right wrong idea really actually anything something someone anybody
    make makes get gets getting go goes going take takes taking tell bring keep happen happens
    around away back still yet ever also else old new explain describe talk please pls plz thanks
    im ive id ill whats whos hows dont doesnt didnt cant wont isnt wasnt havent hi hello hey lol
    largo nunca siempre sin cosa cosas manera forma buena bueno mejor peor idea realmente
    ir va van voy dar da dan hacer hecho tomar tomo toma poner pasa paso pasar llevo lleva decir
    algo alguien nadie cierto verdad igualmente aun todavia ya partir cada vez veces hablame
    cuentame explica explicame describe dime diga favor porfa porfi gracias hola oye pa xq
"""
_MANNER: Final = frozenset(_MANNER_LISTED.split())
"""Words that say how something is asked, beside those that ``words`` leaves out."""


class Quoted(Protocol):
    """A sentence of a passage."""

    @property
    def number(self) -> int:
        """The passage's."""
        ...

    @property
    def text(self) -> str:
        """Its words."""
        ...

    @property
    def title(self) -> str:
        """The passage's."""
        ...

    @property
    def language(self) -> str:
        """The passage's, or "" where it is not known."""
        ...

    @property
    def below_heading(self) -> str:
        """The sentence behind its passage's own heading."""
        ...

    @property
    def document(self) -> str:
        """The title of the passage's document."""
        ...

    @property
    def keywords(self) -> tuple[str, ...]:
        """Words of the question by which the document wants to be found."""
        ...


def is_answered(
    question: str,
    among: Sequence[Quoted],
    picked: Sequence[Quoted],
    *,
    encode: Encode,
    words: Words,
    own: str = "",
) -> bool:
    """Whether the picked sentences, within their passages, speak of what is asked.

    What is missing tells nothing between two languages, whose words are never near enough.

    Args:
        question: what was asked, with the earlier questions that it leans on.
        among: all the sentences that could be picked.
        picked: those that were, one at least.
        encode: what to compare the meanings by.
        words: what to compare the words by.
        own: the last question alone, where it leans on another.
    """
    mine = language_of(question)
    read = _read(question, among, picked, mine, encode)
    if not read:
        return _nearest(question, picked, encode) >= NEAR_ENOUGH
    near = _nearest(question, read, encode)
    if near < _LEAST_NEAR:
        return False
    numbers = {each.number for each in read}
    if _is_otherwise_named(question, [_said(each) for each in among if each.number in numbers]):
        return False
    if near >= _MEANS_THE_SAME:
        return True
    texts = [_said(each) for each in among if each.language in ("", mine)]
    named = _LACK_BY_KEYWORD if any(each.keywords for each in read) else 0.0
    bound = _MAY_LACK + _LACK_BY_NEARNESS * near + named
    here = [_said(each) for each in among if each.number in numbers]
    return all(
        missing(each, said, encode=encode, words=words) <= most
        for each in (question, own)
        if each
        for said, most in ((texts, bound), (here, _HERE * bound))
    )


def _said(each: Quoted) -> str:
    return f"{each.text} {each.title} {' '.join(each.keywords)}"


def nearness(
    question: str, among: Sequence[Quoted], texts: Sequence[str], *, encode: Encode
) -> Matrix:
    """Return how near each text, one for each of ``among``, is to the question.

    Where a keyword of its document stands in the question, the nearer of two counts: of what was
    asked, and of what was asked with the document's title in the keyword's place.
    """
    rows = encode(texts)
    near = rows @ encode([question])[0]
    named = {(each.document, each.keywords) for each in among if each.keywords}
    for document, keywords in sorted(named):
        asked = encode([reworded(question, keywords, document)])[0]
        theirs = [at for at, each in enumerate(among) if each.document == document]
        near[theirs] = np.maximum(near[theirs], rows[theirs] @ asked)
    return near


def _nearest(question: str, read: Sequence[Quoted], encode: Encode) -> float:
    """Return the nearness of the nearest sentence, as it stands or below its heading."""
    plain = [each.text for each in read]
    below = [each.below_heading for each in read]
    return max(
        float(nearness(question, read, said, encode=encode).max()) for said in (plain, below)
    )


def _read(
    question: str, among: Sequence[Quoted], picked: Sequence[Quoted], mine: str, encode: Encode
) -> list[Quoted]:
    """Return the sentences to read: the picked ones, or the nearest, in the question's language."""
    if not mine:
        return []
    read = [each for each in picked if each.language in ("", mine)]
    if read:
        return read
    rest = [each for each in among if each.language in ("", mine)]
    if not rest:
        return []
    nearness = encode([each.text for each in rest]) @ encode([question])[0]
    order = sorted(range(len(rest)), key=lambda at: -float(nearness[at]))
    return [rest[at] for at in order[:_BEST]]


def missing(question: str, texts: Sequence[str], *, encode: Encode, words: Words) -> float:
    """Return how much the question's least supported word weighs, from 0 to 1."""
    asked = [
        each
        for each in _spoken(subject_of(question))
        if any(words(each)) and not each.isdigit() and folded(each) not in _MANNER
    ][:_MOST_WORDS]
    there = [each for text in texts for each in _spoken(text) if any(words(each))]
    if not asked or not there:
        return 0.0
    stems = {stem for text in texts for stem in words(text)}
    absent = [each for each in asked if stems.isdisjoint(words(each))]
    if not absent:
        return 0.0
    nearest = (encode(absent) @ encode(list(dict.fromkeys(there))).T).max(axis=1)
    without = encode([_without(question, each) for each in absent]) @ encode([question])[0]
    return max(
        0.0 if near >= _MEANS_THE_SAME else (1.0 - float(whole)) * (1.0 - float(near))
        for whole, near in zip(without, nearest, strict=True)
    )


def _is_otherwise_named(question: str, texts: Sequence[str]) -> bool:
    """Whether the question names one of a kind, and the passages only others of that kind."""
    there: dict[str, set[str]] = {}
    for text in texts:
        for each in _DESIGNATION.finditer(text):
            there.setdefault(each[1].lower(), set()).add(each[2].lower())
    asked = ((each[1].lower(), each[2].lower()) for each in _DESIGNATION.finditer(question))
    return any(kind in there and which not in there[kind] for kind, which in asked)


def _spoken(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def _without(question: str, word: str) -> str:
    return re.sub(rf"\b{re.escape(word)}\b", "", question, flags=re.IGNORECASE)
