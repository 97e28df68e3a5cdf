"""Sections as passages: short enough to quote, whole enough to stand alone."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from turnwire.retrieval.documents import Section

SHORTEST: Final = 400
LONGEST: Final = 900

# Only the first mark of a run is tried, so a long run of dots costs no more than its length.
_ENDING: Final = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'\u201d\u2019»)\]]*+\s++(?=[^\W_a-zß-öø-ÿ]|[¿¡\"'\u201c\u2018«(\[\u2013\u2014-])"
)
_OWN_LINE: Final = re.compile(r"^(?:[-*•+\u2013]|\d{1,3}[.)]|\([a-z0-9]{1,3}\))\s| \| ")
_ABBREVIATIONS_LISTED: Final = """
    mr mrs ms dr prof st jr sr vs no nos fig figs eq sec ch vol ed eds e.g i.e cf approx dept
    inc ltd co corp art arts para p pp a.m p.m u.s u.k jan feb mar apr jun jul aug sep sept oct
    nov dec sra srta dra d dª dña ud uds vd núm num nº pág págs pag cap apdo avda av c tel ej
    p.ej ee uu ee.uu s.a s.l art.º inc lic ing arq gral admón depto ene abr ago dic aprox máx
    mín
"""
_ABBREVIATIONS: Final = frozenset(_ABBREVIATIONS_LISTED.split())
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'“«¿¡]*\Z")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage on its way into the index."""

    heading: str | None
    page: int | None
    text: str


def split(sections: Iterable[Section]) -> Iterator[Piece]:
    """Yield passages of about 400 to 900 characters, none longer, none across two sections.

    They end at a paragraph where that makes a fair length, else at a sentence, else at a word.
    A section shorter than 400 characters is one short passage.
    """
    for section in sections:
        for text in _packed(section.text):
            yield Piece(section.heading, section.page, text)


def sentences(text: str) -> list[str]:
    """Return the sentences of English or Spanish text, each on one line, in order.

    Abbreviations (``Dr.``, ``p. ej.``), initials, decimals and list numbers end no sentence; a
    blank line, a list item and a table row always do. A sentence begins with a capital, a digit,
    an opening mark (``¿ ¡ " «``) or a dash.
    """
    return [
        line
        for block in _blocks(text)
        for sentence in ([block] if " | " in block else _split_block(block))
        if (line := sentence.strip())
    ]


def _blocks(text: str) -> Iterator[str]:
    """Yield what no sentence runs across: paragraphs, list items and table rows, each on a line."""
    block: list[str] = []
    for line in text.split("\n"):
        words = " ".join(line.split())
        if not words or _OWN_LINE.search(words):
            yield " ".join(block)
            block.clear()
        if words:
            block.append(words)
    yield " ".join(block)


def _split_block(block: str) -> Iterator[str]:
    begin = 0
    for ending in _ENDING.finditer(block):
        if _ends(block, begin, ending):
            yield block[begin : ending.end()]
            begin = ending.end()
    yield block[begin:]


def _ends(block: str, begin: int, ending: re.Match[str]) -> bool:
    if ending[0].rstrip() != ".":
        return True
    before = _LAST_WORD.search(block, max(begin, ending.start() - 40), ending.start())
    word = before[0].lower() if before else ""
    if word.isdigit():
        return block[begin : ending.start()].strip() != word  # "1. First": a list number
    if len(word) == 1 and word.isalpha():
        return word in "yoaeu" and block[ending.start() - 1].islower()  # "J. Smith"
    return word.strip(".") not in _ABBREVIATIONS


def _packed(text: str) -> list[str]:
    packed: list[str] = []
    current = ""
    for paragraph in re.split(r"\n[^\S\n]*\n", text):
        for joint, piece in _pieces(paragraph.strip(), room=LONGEST - len(current) - 2):
            if current and (len(current) + len(joint) + len(piece) > LONGEST):
                packed.append(current)
                current = piece
            else:
                current = current + joint + piece if current else piece
        if len(current) >= SHORTEST:
            packed.append(current)
            current = ""
    if current:
        packed.append(current)
    return _without_crumb(packed)


def _pieces(paragraph: str, *, room: int) -> Iterator[tuple[str, str]]:
    """Yield what may be packed, and how it joins what stands before it."""
    if len(paragraph) <= max(room, SHORTEST):
        if paragraph:
            yield "\n\n", paragraph
        return
    first = True
    for sentence in sentences(paragraph):
        for part in _cut(sentence):
            yield "\n\n" if first else "\n" if _OWN_LINE.search(part) else " ", part
            first = False


def _cut(sentence: str) -> Sequence[str]:
    """Return a sentence in parts that fit a passage; a word longer than one is cut through."""
    parts: list[str] = []
    while len(sentence) > LONGEST:
        at = sentence.rfind(" ", SHORTEST, LONGEST)
        at = LONGEST if at < 0 else at
        parts.append(sentence[:at])
        sentence = sentence[at:].lstrip()
    return [*parts, sentence] if sentence else parts


def _without_crumb(packed: list[str]) -> list[str]:
    """Return the passages with a short last one joined to the one before, where both fit."""
    if len(packed) > 1 and len(packed[-2]) + 2 + len(packed[-1]) <= LONGEST:
        *rest, last, crumb = packed
        return [*rest, f"{last}\n\n{crumb}"]
    return packed
