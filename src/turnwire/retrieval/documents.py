"""What a loader returns, and what it raises: a document as named sections of clean text."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from turnwire.errors import TurnwireError

MAX_CHARACTERS: Final = 20_000_000
"""How much text a document may hold."""
HEADING_SEPARATOR: Final = " > "

_LIGATURES: Final = {
    ord(ligature): unicodedata.normalize("NFKC", ligature) for ligature in "ﬀﬁﬂﬃﬄﬅﬆ"
}
# Soft hyphen, zero-width characters, direction marks, byte order mark: invisible, and they split
# words.
_INVISIBLE: Final = dict.fromkeys(
    [0xAD, 0x200B, 0x200C, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)]
)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BLANKS: Final = re.compile(r"[^\S\n]+")
_LINE_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


class UnreadableDocument(TurnwireError):
    """A file cannot become a document; ``reason`` says what is wrong with it."""

    code, status = "unreadable_document", 422

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{printable(str(path))}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Section:
    """The text below one heading, or of one page."""

    heading: str | None
    """The headings above it, outermost first, joined by ``>``."""
    page: int | None
    """The page it begins on, from 1."""
    text: str
    """Paragraphs, apart by a blank line."""


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A document as it goes into the index: no control characters, no lone surrogates."""

    title: str
    locale: str | None
    """A BCP 47 tag such as ``es`` or ``es-MX``."""
    date: str | None
    """ISO 8601: a year, a month or a day."""
    version: str | None
    sections: tuple[Section, ...]
    """Never empty, and none without text."""
    keywords: str = ""
    """Words under which it wants to be found, apart by commas; "" where it names none."""


@dataclass(slots=True)
class Draft:
    """What a format's parser could find out; whatever it could not is None."""

    title: str | None = None
    locale: str | None = None
    date: str | None = None
    version: str | None = None
    keywords: str | None = None
    sections: list[Section] = field(default_factory=list[Section])


def printable(text: str) -> str:
    """Return text that encodes as UTF-8: surrogate pairs joined, lone surrogates replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean(text: str) -> str:
    """Return the text in NFC with ``\\n`` line ends, single blanks and nothing invisible."""
    text = _LINE_ENDS.sub("\n", printable(text)).translate(_LIGATURES).translate(_INVISIBLE)
    text = _BLANKS.sub(" ", _CONTROLS.sub(" ", text))
    return unicodedata.normalize("NFC", text).strip()


def one_line(text: str) -> str:
    """Return the cleaned text with every run of white space as one blank."""
    return " ".join(clean(text).split())


def primary(locale: str | None) -> str | None:
    """Return the language of a locale: ``es`` of ``es-MX`` and of ``es_MX``."""
    return re.split(r"[-_]", locale.casefold(), maxsplit=1)[0] if locale else None


class Outline:
    """Collects blocks of text below headings into sections."""

    def __init__(self) -> None:
        self.first_heading: str | None = None
        self._headings: list[tuple[int, str]] = []
        self._page: int | None = None
        self._blocks: list[str] = []
        self._sections: list[Section] = []

    def heading(self, level: int, text: str) -> None:
        """Begin a section; it lies below the last heading of a smaller level."""
        text = one_line(text)
        if not text:
            return
        self._close()
        self.first_heading = self.first_heading or text
        self._headings = [above for above in self._headings if above[0] < level]
        self._headings.append((level, text))

    def page(self, number: int) -> None:
        """Begin a page; a section that goes on there is cut in two, each below the same heading."""
        self._close()
        self._page = number

    def block(self, text: str) -> None:
        """Add a paragraph to the section that is open."""
        text = clean(text)
        if text:
            self._blocks.append(text)

    def sections(self) -> list[Section]:
        """Return everything collected, in order."""
        self._close()
        return self._sections

    def _close(self) -> None:
        if self._blocks:
            heading = HEADING_SEPARATOR.join(text for _, text in self._headings) or None
            self._sections.append(Section(heading, self._page, "\n\n".join(self._blocks)))
            self._blocks = []


def without_title(sections: Iterable[Section], title: str) -> Iterator[Section]:
    """Yield the sections with the document's own title taken off the front of their headings."""
    for section in sections:
        heading = section.heading
        if heading == title:
            heading = None
        elif heading is not None:
            heading = heading.removeprefix(title + HEADING_SEPARATOR)
        yield Section(heading, section.page, section.text)
