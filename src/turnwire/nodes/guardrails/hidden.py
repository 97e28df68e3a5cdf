"""Text that a reader does not see and a model reads: encoded, commented out, turned round.

Each function undoes one way to hide, in time that is linear in the text, and leaves alone what
it does not know.
"""

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from turnwire.nodes.guardrails.normalise import without_invisible

_DEEPEST: Final = 4
"""Encodings inside each other that are undone."""
_LEGIBLE: Final = 0.9
"""The share of a decoded text that has to be fit to print."""

# Possessive where a run could be given back: nothing is tried twice.
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\-]{8,}+(?:\s{1,2}[A-Za-z0-9+/_\-]{8,}+)*+={0,2}")
_BASE64_GROUPS: Final = re.compile(
    r"[A-Za-z0-9+/_\-]{4}(?: [A-Za-z0-9+/_\-]{4}){2,}+(?: [A-Za-z0-9+/_\-]{2,3})?={0,2}"
)
_BREAK: Final = re.compile(r"(\s+)")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_HEX: Final = re.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:;\-]?){6,}+")
_NOT_HEX: Final = re.compile(r"0x|\\x|[ ,:;\-]")
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})++")
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_ENTITY: Final = re.compile(
    r"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};)"
)
_TAG: Final = re.compile(r"<[/!?]?[A-Za-z][^<>]*+>")
# Variation selectors carry a byte each, invisibly, behind any character.
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}+")
# UAX #9: what stands behind an override is shown from right to left, up to the next mark.
_TURNED: Final = re.compile("\u202e([^\u202a-\u202e\u2066-\u2069\n]*+)")


def forms(text: str) -> Iterator[str]:
    """Yield ``text`` and the texts that are hidden in it, each once."""
    seen = {text: None}
    latest = [text]
    for _ in range(_DEEPEST):
        found = dict.fromkeys(form for each in latest for form in _shown(each))
        latest = [form for form in found if form not in seen]
        if not latest:
            break
        seen |= dict.fromkeys(latest)
    yield from seen


def _shown(text: str) -> Iterator[str]:
    """Yield ``text`` with everything in it undone that hides something."""
    shown = text
    for undo in _UNDO:
        shown = undo(shown)
    yield shown
    if "<" in shown:
        bare = _without_comments(shown)
        # A tag may stand within a word or between two.
        yield _TAG.sub("", bare)
        yield _TAG.sub(" ", bare)


def _undo_selectors(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        data = bytes(
            code - 0xFE00 if (code := ord(each)) < 0xE0100 else code - 0xE0100 + 16
            for each in found[0]
        )
        return _apart(data) or found[0]

    return _SELECTORS.sub(shown, text)


def _undo_turns(text: str) -> str:
    return _TURNED.sub(lambda found: found[1][::-1], text) if "\u202e" in text else text


def _undo_entities(text: str) -> str:
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


def _undo_escapes(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        code = int(found[1] or found[2] or found[3], 16)
        return chr(code) if code < 0xD800 or 0xE000 <= code <= 0x10FFFF else found[0]

    return _ESCAPE.sub(shown, text) if "\\" in text else text


def _undo_percent(text: str) -> str:
    if "%" not in text:
        return text
    return _PERCENT.sub(lambda found: _spelt(unquote_to_bytes(found[0])) or found[0], text)


def _undo_hex(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        digits = _NOT_HEX.sub("", found[0])
        return _apart(bytes.fromhex(digits[: len(digits) // 2 * 2])) or found[0]

    return _HEX.sub(shown, text)


def _undo_base64(text: str) -> str:
    """Return ``text`` with each run of base64 that holds text replaced by it (RFC 4648).

    A run that makes no sense as a whole may be several: encoded lines, and long words by them.
    """

    def shown(found: re.Match[str]) -> str:
        whole = _decoded(found[0])
        if whole is not None:
            return whole
        return "".join(_decoded(each) or each for each in _BREAK.split(found[0]))

    for form in (_BASE64, _BASE64_GROUPS):
        text = form.sub(shown, text)
    return text


def _decoded(run: str) -> str | None:
    if run.isalpha() and run[1:].islower():  # a word; encoded text mixes capitals and digits
        return None
    compact = "".join(run.split()).rstrip("=").translate(_URL_SAFE)
    whole = compact[: len(compact) - (len(compact) % 4 == 1)]
    try:
        return _apart(base64.b64decode(whole + "=" * (-len(whole) % 4)))
    except binascii.Error:
        return None


def _apart(data: bytes) -> str | None:
    text = _spelt(data)
    return None if text is None else f" {text} "


def _spelt(data: bytes) -> str | None:
    """Return the text that ``data`` is, allowing for some dirt in it, or none if it is none."""
    if data[1::2].count(0) > len(data) // 3:
        text = data.decode("utf-16-le", errors="replace")
    else:
        text = data.decode("utf-8", errors="replace")
    visible = "".join(without_invisible(text).split())
    legible = sum(each.isprintable() and each != "\ufffd" for each in visible)
    return text if legible >= _LEGIBLE * len(visible) else None


def _without_comments(text: str) -> str:
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        parts.append(text[at:start])
        at = end + len("-->")
    return "".join([*parts, text[at:]])


_UNDO: Final[tuple[Callable[[str], str], ...]] = (
    _undo_selectors,
    _undo_turns,
    _undo_entities,
    _undo_escapes,
    _undo_percent,
    _undo_hex,
    _undo_base64,
)
