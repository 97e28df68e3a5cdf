"""Personal data that can be checked: by a checksum, a numbering plan or a strict format.

A number that only looks like one is left alone, so that ordinary text stays readable. Every
search is linear in the text.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from turnwire.nodes.guardrails.identifiers import (
    addresses,
    emails,
    ibans,
    national_ids,
    social_security_numbers,
)
from turnwire.nodes.guardrails.numbers import cards, phones
from turnwire.nodes.guardrails.pii_plain import plain

PiiKind: TypeAlias = Literal[
    "CARD", "IBAN", "NATIONAL_ID", "SSN", "EMAIL", "PHONE", "IP", "PERSON", "ADDRESS"
]
NAME_KINDS: Final[frozenset[PiiKind]] = frozenset({"PERSON", "ADDRESS"})
"""Found by :mod:`turnwire.nodes.guardrails.pii_names` only: nothing about a name can be checked."""


DEFAULT_KINDS: Final[tuple[PiiKind, ...]] = (
    "CARD",
    "IBAN",
    "NATIONAL_ID",
    "SSN",
    "EMAIL",
    "PHONE",
)
DEFAULT_REGIONS: Final = ("US", "ES", "GB")


@dataclass(frozen=True, slots=True)
class Span:
    """A find: characters ``start`` to ``end`` (exclusive) of the text."""

    start: int
    end: int
    kind: PiiKind


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text without its finds, and what each placeholder stands for."""

    text: str
    mapping: Mapping[str, str] = field(repr=False)
    """Placeholder to original, such as ``[PHONE_1]``; keep it out of logs and checkpoints."""
    kinds: tuple[PiiKind, ...] = ()
    """What was found here, each once."""


def find(
    text: str,
    *,
    kinds: Collection[PiiKind] = DEFAULT_KINDS,
    regions: Sequence[str] = DEFAULT_REGIONS,
    names: Callable[[str], Iterable[Span]] | None = None,
) -> tuple[Span, ...]:
    """Return what was found, in order; of overlapping finds the longest.

    ``regions`` are the countries whose phone numbers are known without their country code.
    Invisible characters and full-width digits hide nothing. ``names`` finds names, if wanted.
    """
    read = plain(text)
    found = candidates(read.text, kinds=kinds, regions=regions)
    spans = longest([*found, *(names(read.text) if names is not None else ())])
    return tuple(Span(read.start(each.start), read.end(each.end), each.kind) for each in spans)


def candidates(
    text: str,
    *,
    kinds: Collection[PiiKind] = DEFAULT_KINDS,
    regions: Sequence[str] = DEFAULT_REGIONS,
    start: int = 0,
) -> list[Span]:
    """Return all that may be personal data in a plain text from ``start`` on.

    The finds may overlap. What stands before ``start`` is only looked at as what precedes.
    """
    found = [
        Span(begin, end, kind)
        for kind, search in _SEARCHES.items()
        if kind in kinds
        for begin, end in search(text, start)
    ]
    if "PHONE" in kinds:
        found += [Span(*each, "PHONE") for each in phones(text, tuple(regions), start)]
    return found


def redact(
    text: str,
    *,
    mapping: Mapping[str, str] | None = None,
    kinds: Collection[PiiKind] = DEFAULT_KINDS,
    regions: Sequence[str] = DEFAULT_REGIONS,
    names: Callable[[str], Iterable[Span]] | None = None,
    share: tuple[int, int] = (0, 1),
) -> Redaction:
    """Return ``text`` with a numbered placeholder for each find.

    Pass the ``mapping`` of earlier messages on: the same value keeps its placeholder. A
    placeholder that the text already has, as written by somebody, is never given out. Texts that
    are redacted beside each other under one mapping take different numbers where each has a
    ``share`` of its own: which of how many it is, from 0.
    """
    known = dict(mapping or {})
    given = {original: placeholder for placeholder, original in known.items()}
    spans = find(text, kinds=kinds, regions=regions, names=names)
    taken = known.keys() | set(PLACEHOLDER.findall(text))
    parts: list[str] = []
    last = 0
    for span in spans:
        original = text[span.start : span.end]
        if original not in given:
            given[original] = _fresh(span.kind, taken, share)
            known[given[original]] = original
            taken.add(given[original])
        parts += (text[last : span.start], given[original])
        last = span.end
    parts.append(text[last:])
    return Redaction("".join(parts), known, tuple(dict.fromkeys(each.kind for each in spans)))


def placeholder_kind(placeholder: str) -> PiiKind:
    """Return the kind that ``[PHONE_1]`` stands for."""
    return cast("PiiKind", placeholder[1 : placeholder.rindex("_")])


PLACEHOLDER: Final = re.compile(r"\[[A-Z_]{2,16}_[0-9]{1,9}\]")


def _fresh(kind: PiiKind, taken: Collection[str], share: tuple[int, int]) -> str:
    which, of = share
    count = sum(each.startswith(f"[{kind}_") for each in taken)
    number = count // of * of + which + 1
    while f"[{kind}_{number}]" in taken:
        number += of
    return f"[{kind}_{number}]"


def longest(found: Sequence[Span]) -> tuple[Span, ...]:
    """Return the finds that stay, in order: of overlapping ones the longest."""
    kept: list[tuple[int, int, PiiKind]] = []
    for span in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        place = bisect_left(kept, (span.start, span.start))
        free_before = place == 0 or kept[place - 1][1] <= span.start
        free_after = place == len(kept) or kept[place][0] >= span.end
        if free_before and free_after:
            kept.insert(place, (span.start, span.end, span.kind))
    return tuple(Span(start, end, kind) for start, end, kind in kept)


_SEARCHES: Final[Mapping[PiiKind, Callable[[str, int], Iterator[tuple[int, int]]]]] = {
    "CARD": cards,
    "IBAN": ibans,
    "NATIONAL_ID": national_ids,
    "SSN": social_security_numbers,
    "EMAIL": emails,
    "IP": addresses,
}
