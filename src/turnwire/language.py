"""What languages have in common: which one a text is in, and a text in plainer or other words."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")
_ACCENT: Final = re.compile("[\u0300-\u036f]+")
_ENGLISH_LISTED: Final = """
    the is are was do does did what how when where which who why can should could would i my you
    your it of for with and if to after about get have has an in on there any
"""
_SPANISH_LISTED: Final = """
    el la los las un una es son qué que cómo como cuándo cuando dónde donde cuál cuánto cuánta
    cuántos cuántas quién por para con y si mi mis tu su se de del al lo tengo puedo debo hay en
    está
"""
_ENGLISH: Final = frozenset(_ENGLISH_LISTED.split())
_SPANISH: Final = frozenset(_SPANISH_LISTED.split())


def folded(text: str) -> str:
    """Return the text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    return _ACCENT.sub("", unicodedata.normalize("NFKD", text.casefold()))


def language_of(text: str) -> str:
    """Return ``en`` or ``es``, or "" where the text does not tell."""
    words = _WORD.findall(text.lower())
    english = sum(word in _ENGLISH for word in words)
    spanish = sum(word in _SPANISH for word in words)
    if english == spanish:
        return "es" if re.search(r"[¿¡ñ]", text) else ""
    return "en" if english > spanish else "es"


def reworded(text: str, words: Iterable[str], instead: str) -> str:
    """Return the text with ``instead`` in the place of the first of the words that it has.

    >>> reworded("How long does lumbago last?", ["lumbago"], "low back pain")
    'How long does low back pain last?'
    """
    for each in words:
        found = re.search(rf"\b{re.escape(each)}\b", text)
        if found:
            return f"{text[: found.start()]}{instead}{text[found.end() :]}"
    return text
