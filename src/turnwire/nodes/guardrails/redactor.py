"""Personal data taken out of a text for one sink, at once or while the text streams.

    redactor = Redactor(Masking({"PHONE": "redact"}))
    safe = redactor.feed("call +1 202-") + redactor.feed("555-0143") + redactor.flush()

What leaves is what :func:`mask` makes of the whole text, however the text is cut. Unlike the
placeholders of :func:`turnwire.nodes.guardrails.pii.redact`, a mark such as ``[PHONE]`` cannot be
undone.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from turnwire.nodes.guardrails import identifiers, numbers
from turnwire.nodes.guardrails.normalise import INVISIBLE
from turnwire.nodes.guardrails.pii import (
    DEFAULT_KINDS,
    DEFAULT_REGIONS,
    PiiKind,
    Span,
    candidates,
    find,
    longest,
)
from turnwire.nodes.guardrails.pii_plain import Plain, plain

Action: TypeAlias = Literal["none", "redact", "block"]

# With and without country code and trunk prefix these are the same.
_LOCAL_DIGITS: Final = 8

LIMIT: Final = 1024
"""Characters that are held back at most; ordinary text is held back for a word."""


@dataclass(frozen=True, slots=True)
class Masking:
    """What is done about personal data of each kind; a kind that is not named is left alone."""

    actions: Mapping[PiiKind, Action] = field(
        default_factory=lambda: dict[PiiKind, Action].fromkeys(DEFAULT_KINDS, "redact")
    )
    regions: Sequence[str] = DEFAULT_REGIONS
    known: Collection[str] = field(default=frozenset(), repr=False)
    """Values that may be said, as :func:`compact` writes them."""

    @property
    def kinds(self) -> tuple[PiiKind, ...]:
        """The kinds that are looked for."""
        return tuple(kind for kind, action in self.actions.items() if action != "none")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without what may not be in it."""

    text: str
    kinds: tuple[PiiKind, ...] = ()
    """What was found and taken out, each once."""
    blocked: PiiKind | None = None
    """Whose find ended the text: it and all behind it is left out."""


def compact(value: str, kind: PiiKind) -> str:
    """Return what is the same however ``value`` is written; of a phone number the last digits."""
    letters = "".join(filter(str.isalnum, plain(value).text)).casefold()
    return letters[-_LOCAL_DIGITS:] if kind == "PHONE" else letters


def known_values(texts: Iterable[str], masking: Masking) -> frozenset[str]:
    """Return the personal data in ``texts``, for :attr:`Masking.known`."""
    return frozenset(
        compact(text[each.start : each.end], each.kind)
        for text in texts
        for each in find(text, kinds=masking.kinds, regions=masking.regions)
    )


def mask(
    text: str, masking: Masking, *, names: Callable[[str], Iterable[Span]] | None = None
) -> Masked:
    """Return ``text`` with a mark such as ``[PHONE]`` for each find; ``names`` finds names."""
    read = plain(text)
    found = candidates(read.text, kinds=masking.kinds, regions=masking.regions)
    found += names(read.text) if names is not None else ()
    return _masked(text, read, longest(found), masking)


class Redactor:
    """Masks a text that comes in pieces.

    Held back is what a find may still begin in: as a rule the last word, and never more than
    ``LIMIT`` characters. Invisible characters that would need more room are dropped, and finds
    that overlap each other without an end are each masked as soon as they are whole.
    """

    __slots__ = ("_before", "_held", "_kinds", "_masking", "blocked")

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._before = ""
        self._held = ""
        self._kinds: dict[PiiKind, None] = {}
        self.blocked: PiiKind | None = None
        """Whose find ended the text; nothing is said after it."""

    @property
    def kinds(self) -> tuple[PiiKind, ...]:
        """What was found so far, each once."""
        return tuple(self._kinds)

    def feed(self, text: str) -> str:
        """Return what can be said now of ``text`` and what was held back."""
        if not self._masking.kinds:
            return text
        self._held += text
        return self._release(ended=False)

    def flush(self) -> str:
        """Return what is still held back, at the end of the text."""
        return self._release(ended=True)

    def _release(self, *, ended: bool) -> str:
        if self.blocked:
            self._held = ""
            return ""
        said = self._said(_settled) if not ended else self._said(_whole)
        if len(self._held) > LIMIT:
            self._held = INVISIBLE.sub("", self._held)
        return said + self._said(_forced) if len(self._held) > LIMIT else said

    def _said(self, cut_at: Callable[[str, Sequence[Span]], int]) -> str:
        raw, begin = self._before + self._held, len(self._before)
        read = plain(raw)
        found = _found(read.text, self._masking, begin)
        cut = cut_at(read.text, found)
        if cut < begin or not self._held:
            return ""
        end = read.start(cut)
        settled = longest([each for each in found if each.end <= cut])
        masked = _masked(raw[:end], read, settled, self._masking, begin=begin)
        self._kinds |= dict.fromkeys(masked.kinds)
        self.blocked = masked.blocked
        self._before, self._held = read.text[max(0, cut - 1) : cut], raw[end:]
        return masked.text


# What every find has in it, so that a text without any of it is not searched.
_TELLING: Final = re.compile(r"[0-9@:]")


def _found(text: str, masking: Masking, start: int) -> Sequence[Span]:
    if _TELLING.search(text, start) is None:
        return ()
    return candidates(text, kinds=masking.kinds, regions=masking.regions, start=start)


def _whole(text: str, _found: Sequence[Span]) -> int:
    return len(text)


def _settled(text: str, found: Sequence[Span]) -> int:
    """Return up to where nothing that follows ``text`` can change what is found."""
    cut = _unfinished(text)
    for each in sorted(found, key=lambda find: find.end, reverse=True):
        if each.end <= cut:
            break
        cut = min(cut, each.start)
    return cut


def _forced(text: str, found: Sequence[Span]) -> int:
    """Return up to where the text goes although it could still be found to be otherwise."""
    cut = _unfinished(text)
    return max((each.end for each in found if each.start < cut), default=cut)


def _unfinished(text: str) -> int:
    return min(identifiers.unfinished(text), numbers.unfinished(text))


def _masked(
    text: str, read: Plain, spans: Sequence[Span], masking: Masking, *, begin: int = 0
) -> Masked:
    parts: list[str] = []
    kinds: dict[PiiKind, None] = {}
    last = begin
    for span in spans:
        start, end = read.start(span.start), read.end(span.end)
        if masking.known and compact(text[start:end], span.kind) in masking.known:
            continue
        kinds[span.kind] = None
        parts.append(text[last:start])
        if masking.actions[span.kind] == "block":
            return Masked("".join(parts), tuple(kinds), span.kind)
        parts.append(f"[{span.kind}]")
        last = end
    return Masked("".join([*parts, text[last:]]), tuple(kinds))
