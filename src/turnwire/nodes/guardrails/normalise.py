"""One form for all disguises of a word; for matching only, never for the model.

Full-width, accented, look-alike and invisible characters make the same word to a reader and
another one to a program. :func:`canonical` undoes that. Every step is linear in the text.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e001f\U000e007f-\U000e0fff]+"
)
"""Characters that show nothing: Unicode's Default_Ignorable_Code_Point, but for the tags."""
# The tag characters repeat ASCII invisibly (Unicode 16, section 23.9): hidden words are words.
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]+")
_TAG_BASE: Final = 0xE0000

_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_COMBINING: Final = re.compile(f"[{_MARKS}]+")
# UAX #15, "Stream-Safe Text Format": long runs of marks make normalisation quadratic.
_MARK_FLOOD: Final = re.compile(f"([{_MARKS}]{{8}})[{_MARKS}]+")
_MARK_FLOOD_ANY_SCRIPT: Final = re.compile(r"([^\w\s\x00-\x7f]{30})[^\w\s\x00-\x7f]+")

# Ligatures that NFKC spells out as up to 18 letters of Arabic, which no rule looks for.
_SENTENCES: Final = ("\ufdfa", "\ufdfb")

_SPECIAL: Final = str.maketrans(
    {
        "\u0131": "i",
        "ł": "l",
        "Ł": "l",
        "ø": "o",
        "Ø": "o",
        "đ": "d",
        "Đ": "d",
        "æ": "ae",
        "œ": "oe",
    }
    # Letters in circles and squares, white on black, and those of flags: NFKC leaves them.
    | {
        chr(first + at): chr(ord("a") + at)
        for first in (0x1F150, 0x1F170, 0x1F1E6)
        for at in range(26)
    }
    | dict(zip("ɑɡᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ", "agabcdeghijklmnoprtuvwyz", strict=True))
)
_SPECIAL_LETTER: Final = re.compile(f"[{''.join(map(chr, _SPECIAL))}]")
_LOOKALIKES: Final = str.maketrans(
    dict(
        zip(
            "аеорсухіјѕһԁԛԝѵӏкмтвнгпАВЕЅІЈКМНОРСТУХӀ",
            "aeopcyxijshdqwvlkmtbhrnABESIJKMHOPCTYXI",
            strict=True,
        )
    )
    | dict(
        zip(
            "αβγεικηνορτυχωμΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
            "abyeiknvoptuxwuABEZHIKMNOPTYX",
            strict=True,
        )
    )
)
_FOREIGN: Final = re.compile("[\u0370-\u052f]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LATIN: Final = re.compile("[A-Za-z]")
_SPACED: Final = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*/|~+]{1,3}[^\W\d_](?![^\W_])){3,}")
_GAPS: Final = re.compile(r"[^\w]|_")
_LONGEST_SPELT: Final = 16
_APOSTROPHE: Final = re.compile(r"(?<=\w)['`\u2018\u2019\u02bc\u00b4](?=\w)")

Known = Callable[[str], bool]
"""Says whether a canonical word is one that a rule looks for."""


def canonical(text: str, *, known: Known | None = None, invisible: str = "") -> str:
    """Return ``text`` as rules read it: NFKC, case and accents folded, white space collapsed.

    Look-alike letters become Latin only in words that mix scripts, or that are ``known`` when
    read as Latin, so that Russian and Greek stay what they are. ``invisible`` stands in for
    invisible characters: they may be within a word or between two.
    """
    if not text.isascii():
        text = _fold(text, known, invisible)
    return " ".join(_APOSTROPHE.sub("", text.casefold()).split())


def readings(text: str, *, known: Known | None = None) -> tuple[str, ...]:
    """Return the canonical forms of ``text``: a second where invisible ones part words."""
    closed = canonical(text, known=known)
    if INVISIBLE.search(text) is None:
        return (closed,)
    parted = canonical(text, known=known, invisible=" ")
    return (closed,) if parted == closed else (closed, parted)


def unspaced(text: str, words: frozenset[str]) -> str:
    """Return a canonical text with letters that stand apart, as in ``c h e s t``, put together.

    Four single letters in a row or more are read as ``words`` where they spell such.
    """
    return _SPACED.sub(lambda match: _spelling(_GAPS.sub("", match[0]), words), text)


def _spelling(letters: str, words: frozenset[str]) -> str:
    """Return ``letters`` as words: first few letters left over, then few words."""
    best: list[tuple[int, int, int]] = [
        (0, 0, 0)
    ]  # letters left over, words, where the last begins
    for end in range(1, len(letters) + 1):
        left, count, _ = best[end - 1]
        found = (left + 1, count + 1, end - 1)
        for start in range(max(0, end - _LONGEST_SPELT), end):
            if letters[start:end] in words:
                left, count, _ = best[start]
                found = min(found, (left, count + 1, start))
        best.append(found)
    parts: list[str] = []
    end = len(letters)
    while end:
        start = best[end][2]
        parts.append(letters[start:end])
        end = start
    return " ".join(reversed(parts))


def without_invisible(text: str) -> str:
    """Return ``text`` without characters that show nothing and take no room."""
    return INVISIBLE.sub("", text)


def _fold(text: str, known: Known | None, invisible: str) -> str:
    text = _TAGS.sub(_untag, INVISIBLE.sub(invisible, text))
    text = unicodedata.normalize("NFKC", _calm(text))
    text = _COMBINING.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", text)
    if _SPECIAL_LETTER.search(text) is not None:
        text = text.translate(_SPECIAL)
    return text if _FOREIGN.search(text) is None else _unmask(text, known)


def _calm(text: str) -> str:
    for ligature in _SENTENCES:
        text = text.replace(ligature, " ")
    return _MARK_FLOOD_ANY_SCRIPT.sub(r"\1", _MARK_FLOOD.sub(r"\1", text))


def _unmask(text: str, known: Known | None) -> str:
    seen: dict[str, str] = {}

    def fold(match: re.Match[str]) -> str:
        word = match[0]
        folded = seen.get(word)
        if folded is None:
            folded = seen[word] = _unmask_word(word, known)
        return folded

    return _WORD.sub(fold, text)


def _unmask_word(word: str, known: Known | None) -> str:
    folded = word.translate(_LOOKALIKES)
    if _LATIN.search(word):
        return folded
    alike = folded.isascii() and known is not None and known(folded.casefold())
    return folded if alike else word


def _untag(match: re.Match[str]) -> str:
    return "".join(chr(ord(each) - _TAG_BASE) for each in match[0])
