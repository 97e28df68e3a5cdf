"""Words under which a document wants to be found, met in a question as they stand.

A document says them itself, in its front matter or its properties: what people call its subject
and its text does not. Their letters count, not their meaning: ``lumbago`` finds *Low back pain*.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from turnwire.language import folded

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 6
"""Words of a keyword that counts."""

Keywords = Mapping[tuple[str, ...], frozenset[str]]
"""The documents of each keyword, which is a run of words."""


def listed(documents: Iterable[tuple[str, str]]) -> Keywords:
    """Return the documents (id, keywords apart by commas) by keyword."""
    found: dict[tuple[str, ...], set[str]] = {}
    for document_id, keywords in documents:
        for each in keywords.split(","):
            run = _run(each)
            if 0 < len(run) <= _LONGEST:
                found.setdefault(run, set()).add(document_id)
    return {run: frozenset(ids) for run, ids in found.items()}


def met(keywords: Keywords, query: str) -> dict[str, tuple[str, ...]]:
    """Return, by document, those of its keywords that the query has, as they stand there.

    A plural of the query meets a singular keyword, never the other way round: what somebody says
    of their ``bloods`` is no word for blood.
    """
    words = list(_WORD.finditer(query))
    said = [folded(each[0]) for each in words]
    ends = range(len(said) + 1)
    runs = [(at, end) for at in ends for end in ends[at + 1 : at + 1 + _LONGEST]]
    found: dict[str, dict[str, None]] = {}
    for at, end in runs:
        run = tuple(said[at:end])
        for document_id in sorted(keywords.get(run, keywords.get(_singular(run), ()))):
            standing = query[words[at].start() : words[end - 1].end()]
            found.setdefault(document_id, {})[standing] = None
    return {document_id: tuple(standing) for document_id, standing in found.items()}


def _run(text: str) -> tuple[str, ...]:
    return tuple(folded(each) for each in _WORD.findall(text))


def _singular(run: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        each[:-1] if len(each) > 3 and each.endswith("s") and not each.endswith("ss") else each
        for each in run
    )
