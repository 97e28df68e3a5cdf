"""Markdown, HTML and plain text as sections of text."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import yaml

from turnwire.retrieval.documents import MAX_CHARACTERS, Draft, Outline, UnreadableDocument

etree: Any = import_module("lxml.etree")  # it comes without types
_Element: TypeAlias = Any

_FRONT_MATTER: Final = re.compile(
    r"\A---[ \t]*\n(.{0,20000}?)^(?:---|\.\.\.)[ \t]*$\n?", re.M | re.S
)
_ATX: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)$")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_PAGE: Final = re.compile(r"\s*page\s+([1-9]\d{0,4})\s*", re.I | re.A)
_PAGE_LINE: Final = re.compile(r"<!-- page (\d+) -->")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,4}[.)])\s")
_LINK: Final = re.compile(
    r"!?\[([^\[\]]{0,500})\](?:\([^()\s]{0,2000}[^()]{0,300}\)|\[[^\]]{0,200}\])"
)
_EMPHASIS: Final = re.compile(r"(\*\*\*|\*\*|__|`+|~~)(?=\S)(.{1,2000}?)(?<=\S)\1")
_ITALIC: Final = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,500})(?<=\S)\*(?![\w*])")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_CHARSET: Final = re.compile(rb"<meta[^>]{1,200}?charset=[\"']?([\w-]{2,40})", re.I)

_SILENT: Final = ("script", "style", "noscript", "template", "nav", "footer", "svg", "iframe")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS_LISTED: Final = """
    address article aside blockquote body caption dd details div dl dt fieldset figcaption
    figure form header hr html li main ol p pre section summary table tbody tfoot thead tr ul
"""
_BLOCKS: Final = frozenset(_BLOCKS_LISTED.split())
# When the text was last changed says more about it than when it was first published.
_CHANGED: Final = ("updated", "last_updated", "lastmod", "modified", "date")
_DATES: Final = (
    "article:modified_time", "dcterms.modified", "last-modified", "date", "dcterms.date",
    "dc.date", "article:published_time",
)  # fmt: skip


def decoded(path: Path, data: bytes) -> str:
    """Return the file's text: UTF-8, or UTF-16 with a byte order mark; anything else is refused."""
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not utf16 and b"\x00" in data:
        raise UnreadableDocument(path, f"is not text: a NUL byte at {data.index(0)}")
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as wrong:
        reason = f"is not {'UTF-16' if utf16 else 'UTF-8'}: {wrong.reason} at byte {wrong.start}"
        raise UnreadableDocument(path, f"{reason}; save it as UTF-8") from wrong
    if len(text) > MAX_CHARACTERS:  # before it is cut up, which takes ten times its size
        raise UnreadableDocument(path, f"holds more than {MAX_CHARACTERS:,} characters; split it")
    return text


def parse_text(path: Path, data: bytes) -> Draft:
    """Return plain text as one section without a heading."""
    outline = Outline()
    for block in _paragraphs(decoded(path, data).replace("\r\n", "\n")):
        outline.block(block)
    return Draft(sections=outline.sections())


def parse_markdown(path: Path, data: bytes) -> Draft:
    """Return Markdown's sections by heading, with what the YAML front matter says.

    A line ``<!-- page 12 -->`` says that page 12 begins there.
    """
    text = decoded(path, data).replace("\r\n", "\n").replace("\r", "\n")
    facts, body = _front_matter(path, text)
    outline = Outline()
    _outline_markdown(_without_comments(body), outline)
    return Draft(
        title=facts.get("title") or outline.first_heading,
        locale=facts.get("locale") or facts.get("lang") or facts.get("language"),
        date=next((facts[name] for name in _CHANGED if name in facts), None),
        version=facts.get("version"),
        keywords=facts.get("keywords"),
        sections=outline.sections(),
    )


def parse_html(path: Path, data: bytes) -> Draft:
    """Return a page's sections by heading; scripts, styles, navigation and footers are left out."""
    text = _decoded_html(path, data)
    try:
        parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
        root = etree.fromstring(text.encode(), parser)
    except (etree.LxmlError, ValueError) as broken:
        raise UnreadableDocument(path, f"is not HTML: {broken}") from broken
    if root is None:
        raise UnreadableDocument(path, "holds no text")
    meta = _meta(root)
    title = cast("str | None", root.findtext(".//head/title"))
    locale = cast("str | None", root.get("lang"))
    etree.strip_elements(root, "head", *_SILENT, with_tail=False)
    outline = Outline()
    _outline_html(root, outline)
    return Draft(
        title=title or outline.first_heading,
        locale=locale or meta.get("locale") or meta.get("language"),
        date=next((meta[name] for name in _DATES if name in meta), None),
        version=meta.get("version"),
        keywords=meta.get("keywords"),
        sections=outline.sections(),
    )


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n[^\S\n]*\n", text)


def _front_matter(path: Path, text: str) -> tuple[Mapping[str, str], str]:
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, text
    try:
        # The base loader keeps every scalar as written: version 1.10 stays, and `no` is Norwegian.
        facts = cast("object", yaml.load(found[1], Loader=yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as wrong:
        first = str(wrong).partition("\n")[0]
        raise UnreadableDocument(path, f"its front matter is not YAML: {first}") from wrong
    if not isinstance(facts, dict):
        return {}, text
    pairs = cast("dict[object, object]", facts).items()
    scalars = {str(key).lower(): _scalar(value) for key, value in pairs}
    return {key: value for key, value in scalars.items() if value}, text[found.end() :]


def _scalar(value: object) -> str:
    """Return a text as it is, a list of texts in one line, and of anything else nothing."""
    if isinstance(value, list):
        return ", ".join(each for each in cast("list[object]", value) if isinstance(each, str))
    return value if isinstance(value, str) else ""


def _outline_markdown(body: str, outline: Outline) -> None:
    paragraph: list[str] = []
    fenced = False

    def close() -> None:
        if paragraph:
            outline.block(_plain("\n".join(paragraph)))
            paragraph.clear()

    for line in body.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            paragraph.append(line)
        elif heading := _ATX.match(line):
            close()
            outline.heading(len(heading[1]), _plain(_unclosed(heading[2])))
        elif (
            len(paragraph) == 1
            and (under := _UNDERLINE.match(line))
            and not _ITEM.match(paragraph[0])
        ):
            outline.heading(1 if under[1][0] == "=" else 2, _plain(paragraph.pop()))
        else:
            _continue(line, paragraph, close, outline)
    close()


def _continue(line: str, paragraph: list[str], close: Callable[[], None], outline: Outline) -> None:
    if page := _PAGE_LINE.fullmatch(line.strip()):
        close()
        outline.page(int(page[1]))
    elif not line.strip():
        close()
    elif not _is_rule(line):
        paragraph.append(line)


def _unclosed(heading: str) -> str:
    """Return ``Title`` of ``Title ##``, and ``C#`` as it is."""
    bare = heading.rstrip().rstrip("#")
    return bare if not bare or bare[-1] in " \t" else heading


def _without_comments(text: str) -> str:
    """Return the text without comments, but for those that name a page on a line of their own."""
    first, *rest = f"\n{text}".split("<!--")
    kept = [first]
    for each in rest:
        comment, end, after = each.partition("-->")
        begins_line = kept[-1].rstrip(" \t").endswith("\n")
        ends_line = after.lstrip(" \t")[:1] in ("", "\n")
        if end and begins_line and ends_line and (page := _PAGE.fullmatch(comment)):
            kept.append(f"<!-- page {page[1]} -->")
        kept.append(after if end else comment)
    return "".join(kept)


def _is_rule(line: str) -> bool:
    """Whether a line only draws: a thematic break, or the rule below a table's head."""
    marks = set(line) - set(" \t")
    return ("-" in marks and marks <= set("|:-") and "--" in line) or (
        len(marks) == 1 and marks <= set("*_-") and line.count(next(iter(marks))) >= 3
    )


def _plain(text: str) -> str:
    text = _LINK.sub(r"\1", text)
    text = _ITALIC.sub(r"\1", _EMPHASIS.sub(r"\2", text))
    lines = (_TAG.sub(" ", line).strip().removeprefix(">").strip() for line in text.split("\n"))
    return "\n".join(line.strip("|").strip() if line.startswith("|") else line for line in lines)


def _decoded_html(path: Path, data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    try:
        return decoded(path, data)
    except UnreadableDocument:
        if declared is None or b"\x00" in data:
            raise
    charset = declared[1].decode("ascii")
    try:
        return data.decode(charset)
    except (LookupError, UnicodeDecodeError) as wrong:
        raise UnreadableDocument(
            path, f"is not in its declared charset {charset}: {wrong}"
        ) from wrong


def _meta(root: _Element) -> dict[str, str]:
    found = {
        str(each.get("name") or each.get("property") or "").lower(): str(each.get("content") or "")
        for each in root.iter("meta")
    }
    return {name: content for name, content in found.items() if name and content}


def _outline_html(root: _Element, outline: Outline) -> None:
    words: list[str] = []
    for kind, tag, text in _walk(root):
        if kind == "text":
            words.append(text)
        elif tag in _HEADINGS:
            joined = " ".join("".join(words).split())
            words.clear()
            outline.heading(_HEADINGS[tag], joined) if kind == "end" else outline.block(joined)
        elif tag == "br":
            words.append("\n" if kind == "start" else "")
        elif tag in ("td", "th"):
            words.append(" | " if kind == "start" and "".join(words).strip() else " ")
        elif tag in _BLOCKS:
            outline.block(_lines("".join(words)))
            words.clear()
    outline.block(_lines("".join(words)))


def _walk(root: _Element) -> Iterator[tuple[str, str, str]]:
    for kind, element in etree.iterwalk(root, events=("start", "end")):
        yield str(kind), str(element.tag), ""
        text = element.text if kind == "start" else element.tail
        if text:
            yield "text", "", str(text)


def _lines(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))
