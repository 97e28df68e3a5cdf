import os
import zipfile
from datetime import datetime
from pathlib import Path

import docx
import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from turnwire.errors import TurnwireError
from turnwire.retrieval import office
from turnwire.retrieval.documents import Section, UnreadableDocument, clean
from turnwire.retrieval.loaders import load, parse

ENGLISH = "The member is covered from the first day of the month after joining the plan."
SPANISH = "La persona asegurada está cubierta desde el primer día del mes siguiente a su alta."


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def a_pdf(path: Path, *pages: str, password: str | None = None) -> Path:
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(width=300, height=300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode("latin-1"))
        page[NameObject("/Contents")] = stream
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UnreadableDocument) as refused:
        load(path)
    assert refused.value.path == path
    assert isinstance(refused.value, TurnwireError)
    return refused.value.reason


def test_front_matter_names_title_locale_date_and_version_as_they_are_written(tmp_path: Path):
    path = written(
        tmp_path / "a.md",
        "---\ntitle: Plan\nlocale: es-MX\ndate: 2025-03-01\nversion: 1.10\ntags: [a]\n---\nText.",
    )
    document = load(path)
    assert (document.title, document.locale, document.date) == ("Plan", "es-MX", "2025-03-01")
    assert document.version == "1.10"
    assert document.sections == (Section(None, None, "Text."),)


def test_headings_make_sections_with_a_path_and_the_title_is_not_repeated(tmp_path: Path):
    path = written(
        tmp_path / "a.md",
        "# Plan\n\nIntro *with* `code` and [a link](https://x.test).\n\n## Dental\n\n"
        "### After an accident ##\nPaid.\n\nVision\n------\n\n- glasses\n- lenses\n",
    )
    assert load(path).sections == (
        Section(None, None, "Intro with code and a link."),
        Section("Dental > After an accident", None, "Paid."),
        Section("Vision", None, "- glasses\n- lenses"),
    )


def test_a_hash_inside_a_fence_is_no_heading_and_a_table_keeps_its_cells(tmp_path: Path):
    path = written(
        tmp_path / "a.md",
        "# T\n\n```sh\n# not a heading\n```\n\n| plan | price |\n|------|------:|\n| A | $5 |\n",
    )
    (section,) = load(path).sections
    assert section.text == "# not a heading\n\nplan | price\nA | $5"


def test_a_line_that_names_a_page_begins_it_and_cuts_the_section_that_goes_on(tmp_path: Path):
    path = written(
        tmp_path / "a.md",
        "# Plan\n\nAbout.\n\n<!-- page 3 -->\n\n## Limits\n\nFifty.\n<!--Page 4-->\nSixty.\n\n"
        "<!-- page two -->\n<!-- homepage 5 -->\n\n## Ends <!-- page 6 -->\n\n"
        "Not `<!-- page 7 -->`.",
    )
    assert load(path).sections == (
        Section(None, None, "About."),
        Section("Limits", 3, "Fifty."),
        Section("Limits", 4, "Sixty."),
        Section("Ends", 4, "Not ``."),
    )


def test_a_page_that_is_named_in_a_fence_is_an_example_and_no_page(tmp_path: Path):
    path = written(tmp_path / "a.md", "# A\n\n```\n<!-- page 9 -->\n```\n\nAfter.")
    assert [(each.page, each.text) for each in load(path).sections] == [
        (None, "<!-- page 9 -->\n\nAfter.")
    ]


def test_a_rule_between_paragraphs_is_not_front_matter(tmp_path: Path):
    path = written(tmp_path / "my_notes-2.md", "---\n\nJust a line.\n\n---\n\nAnother line.\n")
    document = load(path)
    assert document.title == "my notes 2"
    assert document.sections == (Section(None, None, "Just a line.\n\nAnother line."),)


def test_broken_front_matter_is_named(tmp_path: Path):
    path = written(tmp_path / "a.md", "---\ntitle: [unclosed\n---\nText.")
    assert "front matter is not YAML" in refusal(path)


def test_without_a_title_the_file_name_is_the_title(tmp_path: Path):
    assert load(written(tmp_path / "claims_hand-book.txt", "Text.")).title == "claims hand book"


@pytest.mark.parametrize(("text", "locale"), [(ENGLISH, "en"), (SPANISH, "es"), ("42", None)])
def test_the_language_is_guessed_where_nothing_states_it(
    tmp_path: Path, text: str, locale: str | None
):
    assert load(written(tmp_path / "a.txt", text)).locale == locale


def test_a_page_becomes_sections_without_scripts_navigation_and_comments(tmp_path: Path):
    path = written(
        tmp_path / "a.html",
        "<!doctype html><html lang='es'><head><title>Guía</title>"
        "<meta name=date content=2024-05-06>"
        "<style>x{}</style></head><body><nav>Menú</nav><h1>Guía</h1><p>Uno <b>dos</b>"
        "<!-- no -->tres.<p>Otro<br>renglón<h2>Precios</h2><table><tr><th>Plan<th>Precio<tr><td>A"
        "<td>5 €</table><script>alert(1)</script><ul><li>uno<li>dos</ul></body></html>",
    )
    document = load(path)
    assert (document.title, document.locale, document.date) == ("Guía", "es", "2024-05-06")
    assert document.sections == (
        Section(None, None, "Uno dostres.\n\nOtro\nrenglón"),
        Section("Precios", None, "Plan | Precio\n\nA | 5 €\n\nuno\n\ndos"),
    )


def test_a_page_is_read_in_the_charset_it_declares(tmp_path: Path):
    html = "<meta charset='iso-8859-1'><title>Señal</title><p>Año nuevo, niñez y corazón.</p>"
    assert load(written(tmp_path / "a.html", html.encode("latin-1"))).title == "Señal"


def test_a_pdf_has_a_section_for_each_page_with_text(tmp_path: Path):
    path = a_pdf(tmp_path / "group-cover.pdf", "First page.", "", "Third page.")
    document = load(path)
    assert document.title == "group cover"
    assert document.sections == (Section(None, 1, "First page."), Section(None, 3, "Third page."))


def test_a_word_document_has_sections_by_heading_and_lines_of_cells(tmp_path: Path):
    word = docx.Document()
    word.core_properties.title = "Handbook"
    word.add_heading("Leave", level=1)
    word.add_paragraph("Twenty days.")
    word.add_heading("Sick leave", level=2)
    table = word.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "days", "10"
    word.save(str(tmp_path / "a.docx"))
    document = load(tmp_path / "a.docx")
    assert document.title == "Handbook"
    assert document.sections == (
        Section("Leave", None, "Twenty days."),
        Section("Leave > Sick leave", None, "days | 10"),
    )


def test_an_encrypted_pdf_is_refused(tmp_path: Path):
    assert "encrypted" in refusal(a_pdf(tmp_path / "a.pdf", "Secret.", password="x"))


def test_a_scanned_pdf_is_refused(tmp_path: Path):
    assert "holds no text" in refusal(a_pdf(tmp_path / "a.pdf", "", ""))


@pytest.mark.parametrize("keep", [0, 5, 40, 300])
def test_a_truncated_pdf_never_raises_anything_else(tmp_path: Path, keep: int):
    whole = a_pdf(tmp_path / "whole.pdf", "Text.").read_bytes()
    refusal(written(tmp_path / "a.pdf", whole[:keep]))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path):
    with (
        zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as package,
        package.open("word/document.xml", "w") as member,
    ):
        for _ in range(210):
            member.write(bytes(2**20))
    assert "unpacks to 210 MB" in refusal(tmp_path / "a.docx")


def test_xml_that_would_fill_the_memory_is_refused_before_it_is_parsed(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/document.xml", b"<w:p/>" * 3_000_000)
    assert "17 MB of XML; 16 MB are allowed" in refusal(tmp_path / "a.docx")


def test_a_pdf_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(office, "MAX_SECONDS", -1.0)
    assert "to read; split it" in refusal(a_pdf(tmp_path / "a.pdf", "One.", "Two."))


def test_a_zip_that_is_no_word_document_is_refused(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as package:
        package.writestr("readme.txt", "hello")
    assert "not a sound DOCX" in refusal(tmp_path / "a.docx")
    assert "is not a DOCX" in refusal(written(tmp_path / "b.docx", b"\x00" * 100))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x7fELF\x00\x01", "a NUL byte at 4"),
        (b"caf\xe9 con leche", "is not UTF-8"),
        (b"\xff\xfe\x00\xd8", "is not UTF-16"),
        (b"", "holds no text"),
        (b" \n\t\n", "holds no text"),
    ],
)
def test_rubbish_named_txt_is_refused_with_what_is_wrong(tmp_path: Path, data: bytes, reason: str):
    assert reason in refusal(written(tmp_path / "a.txt", data))


def test_a_file_over_the_limit_is_refused(tmp_path: Path):
    path = written(tmp_path / "a.txt", "x" * 101)
    with pytest.raises(UnreadableDocument, match="larger than 100 bytes"):
        load(path, max_bytes=100)


def test_missing_files_directories_pipes_and_unknown_formats_are_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder.md").mkdir()
    assert "No such file" in refusal(tmp_path / "gone.md")
    assert "not a regular file" in refusal(tmp_path / "pipe.txt")
    assert "not a regular file" in refusal(tmp_path / "folder.md")
    assert "no known format" in refusal(written(tmp_path / "a.xlsx", b"x"))
    assert "null byte" in refusal(Path("a\x00b.md"))


def test_no_lone_surrogate_gets_through():
    yaml_escape = b'---\ntitle: "a\\ud800b"\n---\nText.'
    assert parse(Path("a.md"), yaml_escape).title == "a\ufffdb"
    entity = parse(Path("a.html"), b"<p>a &#xD800; b</p>")
    entity.sections[0].text.encode()
    assert clean("\ud83d\ude00 \udc00") == "\U0001f600 \ufffd"


def test_control_characters_ligatures_and_soft_hyphens_do_not_split_words():
    assert clean("of\ufb01ce\xadr\u200b\x07 a\r\nb\u00a0 c") == "officer a\nb c"


def test_what_was_changed_last_is_the_documents_date(tmp_path: Path):
    front = "---\ndate: 2024-01-01\nupdated: 2026-02-10\n---\nText."
    assert load(written(tmp_path / "a.md", front)).date == "2026-02-10"
    page = (
        "<meta name=date content=2024-01-01><meta property='article:modified_time' "
        "content='2026-02-10T08:00:00Z'><p>Text."
    )
    assert load(written(tmp_path / "a.html", page)).date == "2026-02-10"


@pytest.mark.parametrize(
    ("facts", "date"),
    [
        ({"/CreationDate": "D:20240101", "/ModDate": "D:20260210081500+02'00'"}, "2026-02-10"),
        ({"/CreationDate": "D:202401"}, "2024-01"),
        ({"/CreationDate": "yesterday"}, None),
        ({"/CreationDate": "D:20241399"}, None),
        ({}, None),
    ],
)
def test_a_pdf_tells_its_date_in_its_properties(
    tmp_path: Path, facts: dict[str, str], date: str | None
):
    writer = pypdf.PdfWriter(clone_from=a_pdf(tmp_path / "plain.pdf", "Text."))
    writer.add_metadata(facts)
    writer.write(tmp_path / "a.pdf")
    assert load(tmp_path / "a.pdf").date == date


def test_a_word_document_tells_its_date_and_version_and_not_its_templates(tmp_path: Path):
    word = docx.Document()
    word.add_paragraph("Text.")
    word.save(str(tmp_path / "template.docx"))
    assert load(tmp_path / "template.docx").date is None
    word.core_properties.modified = datetime(2026, 2, 10, 9, 30)
    word.core_properties.version = "1.10"
    word.save(str(tmp_path / "a.docx"))
    document = load(tmp_path / "a.docx")
    assert (document.date, document.version) == ("2026-02-10", "1.10")
