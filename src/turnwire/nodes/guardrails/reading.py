"""Every way to read what a member wrote, for rules to look at."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from turnwire.nodes.guardrails.normalise import Known, readings, unspaced
from turnwire.nodes.guardrails.phrases import Words, split

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\-]{8,}(?:\r?\n[A-Za-z0-9+/_\-]+)*={0,2}")
_BREAKS: Final = re.compile(r"\s+")
_MAX_ENCODED: Final = 64_000
_URL_SAFE: Final = str.maketrans("-_", "+/")


def read(
    messages: Sequence[str],
    *,
    known: Known,
    spelt: frozenset[str] = frozenset(),
    mended: Callable[[str], str] = str,
) -> tuple[Words, ...]:
    """Return the words of each message and of all together, plain and with base64 undone.

    All together twice, with and without a space between: a phrase may be split anywhere.
    Letters that stand apart are read a second time, as the words in ``spelt`` that they make,
    and all of it once more as ``mended`` reads misspelt words.
    """
    texts = list(messages)
    if len(messages) > 1:
        texts += [" ".join(messages), "".join(messages)]
    forms = (form for text in texts for form in _forms(text))
    canonical = (reading for form in forms for reading in readings(form, known=known))
    read_twice = (form for each in canonical for form in (each, unspaced(each, spelt)))
    meant = (form for each in read_twice for form in (each, mended(each)))
    return tuple(split(each) for each in dict.fromkeys(meant))


def _forms(text: str) -> Iterator[str]:
    yield text
    decoded = _undo_base64(text)
    if decoded != text:
        yield decoded


def _undo_base64(text: str) -> str:
    """Return ``text`` with each run of base64 that holds text replaced by it (RFC 4648)."""
    return _BASE64.sub(lambda match: _decoded(match[0]) or match[0], text)


def _decoded(run: str) -> str | None:
    if run.isalpha() and run[1:].islower():  # a word; encoded text mixes capitals and digits
        return None
    compact = _BREAKS.sub("", run[:_MAX_ENCODED]).rstrip("=").translate(_URL_SAFE)
    whole = compact[: len(compact) - (len(compact) % 4 == 1)]
    try:
        decoded = base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return f" {decoded} " if decoded.replace("\n", " ").isprintable() else None
