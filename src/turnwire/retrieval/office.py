"""PDF and DOCX as sections of text."""

import io
import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import docx
import pypdf
from docx.document import Document
from docx.table import Table
from docx.text.paragraph import Paragraph
from pypdf.errors import DependencyError

from turnwire.retrieval.documents import (
    MAX_CHARACTERS,
    Draft,
    Outline,
    Section,
    UnreadableDocument,
    clean,
    one_line,
)

MAX_UNPACKED: Final = 200 * 1024 * 1024
"""Bytes that a DOCX may hold once unpacked."""
MAX_XML: Final = 16 * 1024 * 1024
"""Bytes of those that may be XML: parsed, they take twenty times as much."""
MAX_BLOCKS: Final = 100_000
"""Paragraphs and tables of a DOCX."""
MAX_PAGES: Final = 5000
MAX_SECONDS: Final = 120.0
"""How long the pages of a PDF may take to read; looked at between two pages."""

# A word broken at the end of a printed line.
_HYPHENATED: Final = re.compile(r"(?<=[a-záéíóúüñ])-\n(?=[a-záéíóúüñ])")
_PDF_DATE: Final = re.compile(r"D:(\d{4})(?:(\d{2})(?:(\d{2}))?)?")
# What python-docx writes into each document that it makes.
_TEMPLATE: Final = datetime(2013, 12, 23, 23, 15, tzinfo=UTC)
_HEADING: Final = re.compile(r"Heading ([1-9])")
_MADE_UP_TITLE: Final = re.compile(
    r"untitled|microsoft word\b|powerpoint\b|.*\.(?:docx?|pdf|indd)$", re.I
)


def parse_pdf(path: Path, data: bytes) -> Draft:
    """Return one section a page, numbered from 1; an encrypted or scanned PDF is refused."""
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument(path, "is encrypted; remove its password")
        return _pdf_draft(path, reader)
    except UnreadableDocument:
        raise
    except DependencyError as missing:
        raise UnreadableDocument(path, "is encrypted; remove its password") from missing
    # A malformed PDF makes pypdf raise almost anything: KeyError, RecursionError …
    except Exception as broken:
        raise UnreadableDocument(path, f"is not a sound PDF: {_reason(broken)}") from broken


def parse_docx(path: Path, data: bytes) -> Draft:
    """Return a Word document's sections by heading, tables as lines of cells."""
    _refuse_bombs(path, data)
    try:
        document = docx.Document(io.BytesIO(data))
        return _docx_draft(path, document)
    except UnreadableDocument:
        raise
    # python-docx trusts the package's insides and raises KeyError, ValueError, lxml's errors …
    except Exception as broken:
        raise UnreadableDocument(path, f"is not a sound DOCX: {_reason(broken)}") from broken


def _reason(broken: Exception) -> str:
    return one_line(f"{type(broken).__name__}: {broken}")[:200]


def _pdf_draft(path: Path, reader: pypdf.PdfReader) -> Draft:
    if len(reader.pages) > MAX_PAGES:
        raise UnreadableDocument(path, f"has more than {MAX_PAGES} pages")
    sections = list(_pages(path, reader))
    if not sections:
        raise UnreadableDocument(path, "holds no text; a scan needs text recognition first")
    title = one_line(reader.metadata.title or "") if reader.metadata else ""
    return Draft(
        title=None if _MADE_UP_TITLE.match(title) else title or None,
        date=_pdf_date(reader),
        sections=sections,
    )


def _pdf_date(reader: pypdf.PdfReader) -> str | None:
    """Return when the document was changed last, in the form that PDF writes (ISO 32000, 7.9.4)."""
    facts = cast("Mapping[str, object]", reader.metadata or {})
    for name in ("/ModDate", "/CreationDate"):
        found = _PDF_DATE.match(str(facts.get(name) or ""))
        if found is not None:
            return "-".join(each for each in found.groups() if each)
    return None


def _pages(path: Path, reader: pypdf.PdfReader) -> Iterator[Section]:
    give_up = time.monotonic() + MAX_SECONDS
    room = MAX_CHARACTERS
    for number, page in enumerate(reader.pages, start=1):
        text = _page_text(page.extract_text())
        room -= len(text)
        if room < 0:
            raise UnreadableDocument(path, f"holds more than {MAX_CHARACTERS:,} characters")
        if time.monotonic() > give_up:
            raise UnreadableDocument(path, f"takes more than {MAX_SECONDS:g} s to read; split it")
        if text:
            yield Section(None, number, text)


def _page_text(text: str) -> str:
    return _HYPHENATED.sub("", clean(text))


def _refuse_bombs(path: Path, data: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            # zipfile never yields more than the declared size, so the declaration can be trusted.
            members = package.infolist()
            unpacked = sum(member.file_size for member in members)
            xml = sum(each.file_size for each in members if _is_xml(each.filename))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as broken:
        raise UnreadableDocument(path, f"is not a DOCX: {broken}") from broken
    if unpacked > MAX_UNPACKED:
        limit = MAX_UNPACKED // 2**20
        raise UnreadableDocument(path, f"unpacks to {unpacked // 2**20} MB; {limit} MB are allowed")
    if xml > MAX_XML:
        limit = MAX_XML // 2**20
        raise UnreadableDocument(path, f"holds {xml // 2**20} MB of XML; {limit} MB are allowed")


def _is_xml(name: str) -> bool:
    return name.lower().endswith((".xml", ".rels"))


def _docx_draft(path: Path, document: Document) -> Draft:
    outline = Outline()
    title = one_line(document.core_properties.title or "")
    for number, block in enumerate(document.iter_inner_content(), start=1):
        if number > MAX_BLOCKS:
            raise UnreadableDocument(path, f"has more than {MAX_BLOCKS:,} paragraphs")
        if isinstance(block, Table):
            outline.block("\n".join(_rows(block)))
            continue
        style = _style(block)
        if style == "Title":
            title = title or one_line(block.text)
        elif heading := _HEADING.match(style):
            outline.heading(int(heading[1]), block.text)
        else:
            outline.block(block.text)
    facts = document.core_properties
    return Draft(
        title=title or outline.first_heading,
        date=_docx_date(document),
        version=facts.version or None,
        keywords=facts.keywords or None,
        sections=outline.sections(),
    )


def _docx_date(document: Document) -> str | None:
    """Return the day on which the document was changed last; its template's is nobody's."""
    facts = document.core_properties
    changed = facts.modified or facts.created
    return changed.date().isoformat() if changed and changed != _TEMPLATE else None


def _style(paragraph: Paragraph) -> str:
    style = paragraph.style
    return (style.name if style is not None else None) or ""


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        # A merged cell is listed once for every column it spans.
        cells = dict.fromkeys(text for cell in row.cells if (text := one_line(cell.text)))
        if cells:
            yield " | ".join(cells)
