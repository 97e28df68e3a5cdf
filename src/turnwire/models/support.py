"""Whether the sentences that were picked answer the question at all.

Three signals, measured on the shipped health leaflets with the embedded encoder and the tuning
half of ``tests/models/quoting_questions.yaml``:

- how near the nearest picked sentence is to the question;
- what the question names that the picked passages do not. A word counts as much as the question
  changes its meaning without it, times how far it is from the nearest word of the passages: the
  leg of ``a broken leg`` is there, and what makes it another question, ``broken``, is not. Words
  that only say how something is asked count nothing;
- a designation that is another one than the passages have: ``type 1`` where they are on type 2.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from turnwire.language import language_of
from turnwire.models.asking import subject_of
from turnwire.models.vectors import Matrix

Words = Callable[[str], Iterable[str]]
"""Returns the words of a text that carry meaning, in a form that can be compared."""

Encode = Callable[[Sequence[str]], Matrix]
"""Returns a row of length 1 a text, whose dot product says how near the meanings are."""

NEAR_ENOUGH: Final = 0.2
"""The least nearness that is left after the deduction."""
_DEDUCTION: Final = 4.0
"""What a missing word of weight 1 takes away from the nearness."""
_MEANS_THE_SAME: Final = 0.75
"""From this cosine on, two words are one."""
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
    around away back still yet ever also else old new explain describe talk please
    largo nunca siempre sin cosa cosas manera forma buena bueno mejor peor idea realmente
    ir va van voy dar da dan hacer hecho tomar tomo toma poner pasa paso pasar llevo lleva decir
    algo alguien nadie cierto verdad igualmente aun todavia ya partir cada vez veces hablame
    cuentame explica explicame describe dime diga favor
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
    asked = encode([question])[0]
    if not read:
        return float((encode([each.text for each in picked]) @ asked).max()) >= NEAR_ENOUGH
    near = float((encode([each.text for each in read]) @ asked).max())
    if near < NEAR_ENOUGH:
        return False
    numbers = {each.number for each in read}
    texts = [f"{each.text} {each.title}" for each in among if each.number in numbers]
    if _is_otherwise_named(question, texts):
        return False
    lacks = max(
        missing(each, texts, encode=encode, words=words) for each in (question, own) if each
    )
    return near - _DEDUCTION * lacks >= NEAR_ENOUGH


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
        if any(words(each)) and _plain(each) not in _MANNER
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


def _plain(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def _spoken(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def _without(question: str, word: str) -> str:
    return re.sub(rf"\b{re.escape(word)}\b", "", question, flags=re.IGNORECASE)
