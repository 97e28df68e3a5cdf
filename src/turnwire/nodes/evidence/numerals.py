"""Numbers as they are written, in digits and in English and Spanish words."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnwire.nodes.evidence.units import folded

_DIGITS: Final = re.compile(
    r"(?<!\w)(?<![^\W\d_][-\u2013])(?<!\d[.,])"
    r"(?:\d{1,3}(?:[.,\u00a0\u202f' ]\d{3})++(?![\d])(?:[.,]\d{1,4}+)?|\d{1,15}+(?:[.,]\d{1,15}+)?)"
    r"(?![.,]?\d)"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_SEPARATORS: Final = re.compile(r"[.,\u00a0\u202f' ]")
_GAP: Final = re.compile(r"[ \t\u00a0]|-")
_HALF: Final = re.compile(r"\s+(?:and\s+a\s+half|y\s+medi[oa])\b", re.IGNORECASE)

_SMALL_LISTED: Final = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
    cero uno dos tres cuatro cinco seis siete ocho nueve diez - doce trece catorce quince
    dieciseis diecisiete dieciocho diecinueve
"""
_TENS_LISTED: Final = """
    twenty thirty forty fifty sixty seventy eighty ninety
    veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa
"""
_SMALL: Final = {word: at % 20 for at, word in enumerate(_SMALL_LISTED.split()) if word != "-"}
_TENS: Final = {word: 20 + 10 * (at % 8) for at, word in enumerate(_TENS_LISTED.split())}
_TWENTIES: Final = {
    f"veinti{each}": 20 + _SMALL[each]
    for each in ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"]
} | {"veintiun": 21, "veintiuna": 21}
_HUNDREDS: Final = {
    "cien": 100, "ciento": 100, "doscientos": 200, "trescientos": 300, "cuatrocientos": 400,
    "quinientos": 500, "seiscientos": 600, "setecientos": 700, "ochocientos": 800,
    "novecientos": 900,
}  # fmt: skip
_VALUES: Final[dict[str, float]] = {
    **_SMALL, **_TENS, **_TWENTIES, **_HUNDREDS,
    "half": 0.5, "media": 0.5, "medio": 0.5, "dozen": 12, "docena": 12,
}  # fmt: skip
_POWERS: Final = {"hundred": 100, "thousand": 1000, "mil": 1000, "million": 10**6, "millon": 10**6,
                  "millones": 10**6}  # fmt: skip
_TIMES: Final = {"twice": 2.0, "thrice": 3.0}
_ONCE_AGAIN: Final = re.compile(r"\s+(?:a|per|daily|every|each)\b", re.IGNORECASE)
_SPANISH_UNIT: Final = re.compile(
    r"\s+(?:d[ií]as|horas|minutos|semanas|meses|años|gramos|vasos|grados|veces)\b", re.IGNORECASE
)


class Numeral(NamedTuple):
    """A number at its place; ``1.500`` has two readings, and a claim needs one of them."""

    start: int
    end: int
    values: frozenset[float]
    is_word: bool = False
    counts_times: bool = False
    """Whether it says how often by itself: ``twice``."""


def numerals(text: str) -> list[Numeral]:
    """Return the numbers of a text in order; ``one`` counts and the article ``un`` does not."""
    found = [*_in_digits(text), *_in_words(text)]
    return sorted(found)


def _in_digits(text: str) -> Iterator[Numeral]:
    for each in _DIGITS.finditer(text):
        values, end = _readings(each[0]), each.end()
        half = _HALF.match(text, end)
        if half is not None:
            values, end = frozenset(value + 0.5 for value in values), half.end()
        yield Numeral(each.start(), end, values)


def _readings(written: str) -> frozenset[float]:
    groups = _SEPARATORS.split(written)
    if len(groups) == 1:
        return frozenset({float(written)})
    separators = _SEPARATORS.findall(written)
    whole = float("".join(groups))
    as_decimal = float(f"{''.join(groups[:-1])}.{groups[-1]}")
    if len(groups[-1]) != 3 or (len(groups) > 2 and separators[-1] != separators[0]):
        return frozenset({as_decimal})
    if len(groups) > 2 or separators[0] not in ".,":
        return frozenset({whole, *map(float, groups)} if separators[0] == " " else {whole})
    return frozenset({whole, as_decimal})


def _in_words(text: str) -> Iterator[Numeral]:
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if run and not _goes_on(text, run, word):
            yield from _numeral(text, run)
            run = []
        name = folded(word[0])
        if run or name in _VALUES or name in _POWERS:
            run.append(word)
        elif name in _TIMES:
            yield Numeral(*word.span(), frozenset({_TIMES[name]}), True, True)
        elif name == "once" and _ONCE_AGAIN.match(text, word.end()):
            yield Numeral(*word.span(), frozenset({1.0}), True, True)
        elif name == "once" and _SPANISH_UNIT.match(text, word.end()):
            yield Numeral(*word.span(), frozenset({11.0}), True)
    if run:
        yield from _numeral(text, run)


def _goes_on(text: str, run: Sequence[re.Match[str]], word: re.Match[str]) -> bool:
    """Whether the word is a further part of the number: ``five`` of ``twenty-five``."""
    name, last = folded(word[0]), folded(run[-1][0])
    if _GAP.fullmatch(text[run[-1].end() : word.start()]) is None:
        return False
    if name == "y":
        return last in _TENS
    if last == "y" or last in _TENS:
        return name in _SMALL and 0 < _SMALL[name] < 10
    if name in _POWERS:
        return last not in ("half", "media", "medio")
    return (last in _POWERS or last in _HUNDREDS) and name in _VALUES


def _numeral(text: str, run: Sequence[re.Match[str]]) -> Iterator[Numeral]:
    words = [folded(each[0]) for each in run]
    if words[-1] == "y":
        run, words = run[:-1], words[:-1]
    total, part = 0.0, 0.0
    for word in words:
        if word in _POWERS and word != "hundred":
            total, part = total + (part or 1) * _POWERS[word], 0.0
        elif word == "hundred":
            part = (part or 1) * 100
        else:
            part += _VALUES.get(word, 0)
    value, end = total + part, run[-1].end()
    half = _HALF.match(text, end)
    if half is not None:
        value, end = value + 0.5, half.end()
    yield Numeral(run[0].start(), end, frozenset({value}), True)
