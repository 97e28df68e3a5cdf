"""Words that matter, read through a slip of the finger, a short form or digits for letters."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from turnwire.nodes.guardrails.rules import Strict

_TOKEN: Final = re.compile(r"[\w@$]+")
_LONGEST: Final = 24
_LEET: Final = tuple(str.maketrans("013457@$", f"o{one}eastas") for one in "il")
_LEET_WORD: Final = re.compile(r"(?=.*[a-z])[a-z013457@$]{4,24}")
_SHORTEST_REPLACED: Final = 9

Spelt: TypeAlias = Annotated[str, Field(pattern=r"^[a-z]+( [a-z]+)*$")]


class Spelling(Strict):
    """How members spell, in canonical letters: small, no accents."""

    words: tuple[Annotated[Spelt, Field(min_length=5)], ...] = ()
    """Read where one letter is left out, put in, or changes places with the next one, and from
    nine letters on where one is another; the first letter stands. Several words, where they
    run together."""
    short_forms: Mapping[Spelt, Spelt] = {}
    """What a short form stands for."""


class Speller:
    """A spelling, ready to read texts; ``known`` says which words are right as they are."""

    def __init__(self, spelling: Spelling, known: Callable[[str], bool]) -> None:
        self._known = known
        self._right: dict[str, str] = {}
        self._replaced: dict[str, str] = {}
        for words in spelling.words:
            word = words.replace(" ", "")
            self._right |= dict.fromkeys((word, *_shorter(word), *_swapped(word)), words)
            if len(word) >= _SHORTEST_REPLACED:
                self._replaced |= dict.fromkeys(_blanked(word), words)
        self._right |= {word.replace(" ", ""): word for word in spelling.words}
        self._short = dict(spelling.short_forms)

    def mended(self, text: str) -> str:
        """Return a canonical text with every word as it was meant; linear in the text."""
        seen: dict[str, str] = {}

        def mend(match: re.Match[str]) -> str:
            word = match[0]
            if word not in seen:
                seen[word] = self._mended_word(word)
            return seen[word]

        return _TOKEN.sub(mend, text)

    def _mended_word(self, word: str) -> str:
        if word in self._short:
            return self._short[word]
        if len(word) > _LONGEST:
            return word
        if not word.isalpha():
            return self._without_digits(word)
        return word if self._known(word) else self._nearest(word) or word

    def _nearest(self, word: str) -> str | None:
        found = self._right.get(word)
        if found is not None:
            return found
        for shorter in _shorter(word):
            found = self._right.get(shorter)
            if found is not None and found.replace(" ", "") == shorter:
                return found
        blanks = _blanked(word) if len(word) >= _SHORTEST_REPLACED else ()
        return next((self._replaced[each] for each in blanks if each in self._replaced), None)

    def _without_digits(self, word: str) -> str:
        if _LEET_WORD.fullmatch(word) is None:
            return word
        readings = (word.translate(table) for table in _LEET)
        return next((each for each in readings if self._known(each)), word)


def _shorter(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word)))


def _swapped(word: str) -> Iterator[str]:
    pairs = range(1, len(word) - 1)
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs)


def _blanked(word: str) -> Iterator[str]:
    return (f"{word[:at]} {word[at + 1 :]}" for at in range(1, len(word)))
