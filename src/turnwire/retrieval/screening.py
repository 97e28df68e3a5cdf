"""Documents without what may not be in the index."""

from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from turnwire.retrieval.documents import LoadedDocument, Section, UnreadableDocument
from turnwire.retrieval.splitter import Piece

# A noncharacter of Unicode: no document has it for a text of its own.
_LEFT_OUT: Final = "\ufdd0"


class Screen(Protocol):
    """Says what of a text may be indexed."""

    @property
    def fingerprint(self) -> str:
        """What the screened texts depend on; where it changes, documents are read anew."""
        ...

    def screen(self, text: str, *, locale: str | None, left_out: str) -> str:
        """Return ``text`` as it may be indexed.

        ``left_out`` stands in it where something may not be indexed, nor what is around it.
        """
        ...


def screened(document: LoadedDocument, screen: Screen, path: Path) -> LoadedDocument:
    """Return the document as it may be indexed; :func:`is_left_out` knows its passages.

    Whole sections are screened, so that nothing hides where a passage ends.

    Raises:
        UnreadableDocument: its title, which every passage is shown with, may not be indexed.
    """

    def clear(text: str) -> str:
        plain = text.replace(_LEFT_OUT, "")
        return screen.screen(plain, locale=document.locale, left_out=_LEFT_OUT)

    title = clear(document.title)
    if _LEFT_OUT in title:
        raise UnreadableDocument(path, "its title may not be indexed, says the policy's pii")
    sections = tuple(
        Section(each.heading and clear(each.heading), each.page, clear(each.text))
        for each in document.sections
    )
    named = [clear(each) for each in document.keywords.split(",")]
    keywords = ",".join(each for each in named if _LEFT_OUT not in each)
    return replace(document, title=title, sections=sections, keywords=keywords)


def is_left_out(piece: Piece) -> bool:
    """Whether a passage of a screened document may not be indexed."""
    return _LEFT_OUT in piece.text or _LEFT_OUT in (piece.heading or "")
