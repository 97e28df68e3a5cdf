"""A file as a document: Markdown, HTML, plain text, PDF and DOCX, each within bounds.

Whatever cannot be read raises :class:`~turnwire.retrieval.documents.UnreadableDocument`, which
names the file and what is wrong with it; nothing else is raised for a bad file.
"""

import re
import stat
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, cast

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from turnwire.retrieval.documents import (
    MAX_CHARACTERS,
    Draft,
    LoadedDocument,
    Section,
    UnreadableDocument,
    clean,
    one_line,
    without_title,
)
from turnwire.retrieval.markup import parse_html, parse_markdown, parse_text
from turnwire.retrieval.office import parse_docx, parse_pdf

MAX_BYTES: Final = 50 * 1024 * 1024
"""How large a file may be."""

MAX_KEYWORDS: Final = 4000
"""Characters of a document's keywords that count."""

LANGUAGES: Final = ("en", "es")
"""What the language of a document without a stated locale is guessed from."""

_PARSERS: Final[Mapping[str, Callable[[Path, bytes], Draft]]] = {
    ".md": parse_markdown,
    ".markdown": parse_markdown,
    ".html": parse_html,
    ".htm": parse_html,
    ".xhtml": parse_html,
    ".txt": parse_text,
    ".text": parse_text,
    ".pdf": parse_pdf,
    ".docx": parse_docx,
}
SUFFIXES: Final = frozenset(_PARSERS)

_LOCALE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_DATE: Final = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")
_LOADING: Final = threading.Lock()


def load(path: Path, *, max_bytes: int = MAX_BYTES) -> LoadedDocument:
    """Return the document that a file holds; its suffix says which format it has.

    Raises:
        UnreadableDocument: the file is missing, not a regular file, too large, of an unknown
            format, damaged, encrypted, binary, or without text.
    """
    return parse(path, read(path, max_bytes=max_bytes))


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return a regular file's bytes; a larger one, a pipe or a device is refused unread."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableDocument(path, "is not a regular file")
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as broken:
        reason = getattr(broken, "strerror", None) or str(broken)
        raise UnreadableDocument(path, f"cannot be read: {reason}") from broken
    if len(data) > max_bytes:
        raise UnreadableDocument(path, f"is larger than {max_bytes:,} bytes")
    return data


def parse(path: Path, data: bytes) -> LoadedDocument:
    """Return the document in ``data``; ``path`` gives the format and, if need be, the title."""
    parser = _PARSERS.get(path.suffix.lower())
    if parser is None:
        known = " ".join(sorted(SUFFIXES))
        raise UnreadableDocument(path, f"has no known format; known are {known}")
    draft = parser(path, data)
    title = one_line(draft.title or "") or _title_from(path)
    sections = tuple(without_title(_cleaned(draft.sections), title))
    if not sections:
        raise UnreadableDocument(path, "holds no text")
    if sum(len(section.text) for section in sections) > MAX_CHARACTERS:
        raise UnreadableDocument(path, f"holds more than {MAX_CHARACTERS:,} characters")
    return LoadedDocument(
        title=title[:300],
        locale=_locale(draft.locale) or language(sections),
        date=_iso_date(draft.date),
        version=one_line(draft.version or "")[:100] or None,
        sections=sections,
        keywords=one_line(draft.keywords or "")[:MAX_KEYWORDS],
    )


def language(sections: Iterable[Section]) -> str | None:
    """Return the likelier one of :data:`LANGUAGES`, or None where there is too little to tell."""
    sample = " ".join(section.text[:1000] for section, _ in zip(sections, range(5), strict=False))
    if sum(character.isalpha() for character in sample) < 20:
        return None
    with _LOADING:
        identifier = _identifier()
    return identifier.classify(sample)[0]


class _Identifier(Protocol):
    def set_languages(self, langs: Iterable[str]) -> None: ...
    def classify(self, text: str) -> tuple[str, float]: ...


@cache
def _identifier() -> _Identifier:
    untyped = cast("Any", LanguageIdentifier)
    identifier = cast("_Identifier", untyped.from_model_file(MODEL_FILE))
    identifier.set_languages(LANGUAGES)
    return identifier


def _cleaned(sections: Iterable[Section]) -> Iterable[Section]:
    for section in sections:
        text = clean(section.text)
        if text:
            yield Section(one_line(section.heading or "")[:300] or None, section.page, text)


def _title_from(path: Path) -> str:
    return one_line(re.sub(r"[-_\s]+", " ", path.stem)) or "Untitled"


def _locale(text: str | None) -> str | None:
    text = (text or "").strip()
    return text.replace("_", "-") if _LOCALE.fullmatch(text) else None


def _iso_date(text: str | None) -> str | None:
    text = (text or "").strip()
    if _DATE.fullmatch(text):
        return text
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return None
