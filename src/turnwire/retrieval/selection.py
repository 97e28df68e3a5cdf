"""From ranked candidates to evidence: a pure function that counts everything it drops."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from turnwire.events import Funnel
from turnwire.retrieval.tables import StoredPassage
from turnwire.retrieval.words import fingerprint

Drop = Literal["floor", "slice", "dedupe", "budget"]


@dataclass(frozen=True, slots=True)
class RetrievalPolicy:
    """How a search ranks and what it keeps; the floors are measured for the embedded encoder.

    Another encoder spreads its cosines differently: measure ``floor`` and ``sure`` for it.
    """

    pool: int = 200
    """How many of the first ranking are compared sentence by sentence."""
    candidates: int = 40
    """How many of the second are looked at."""
    kept: int = 8
    """How many passages a search returns at most."""
    per_document: int = 5
    sentence_weight: float = 0.4
    """The share of the nearest sentence in the nearness; the rest is the whole passage's."""
    lexical_weight: float = 0.6
    """What the best BM25 adds, in standard deviations of the cosine."""
    keyword_bonus: float = 1.5
    """What a keyword of its document adds that the query has, in standard deviations."""
    code_bonus: float = 2.0
    """What all of the query's identifiers add, in standard deviations."""
    locale_bonus: float = 0.4
    """What the reader's language adds, in standard deviations."""
    floor: float = 0.17
    """The least cosine plus ``overlap_weight`` times the overlap of words."""
    overlap_weight: float = 0.20
    tail: float = 0.50
    """The least share of the best candidate's nearness."""
    same_share: float = 0.80
    """Two passages are one where this share of their three-word runs is common."""
    budget: int = 6000
    """Characters of all kept passages together."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage with what speaks for it."""

    passage: StoredPassage
    nearness: float
    """What the ranking goes by: the cosine with its bonuses."""
    cosine: float
    overlap: float
    """The share of the query's content words that the passage has, 0 to 1."""
    has_code: bool = False
    """Whether it has an identifier that the query names."""
    place: int = 0
    """Where it stands in the index; neighbours of a document stand side by side."""
    keywords: tuple[str, ...] = ()
    """Those of its document's that the query has."""


def select(
    ranked: Sequence[Candidate], policy: RetrievalPolicy, *, generation: int
) -> tuple[list[Candidate], Funnel]:
    """Return what is kept of candidates ranked best first, and how the others were dropped."""
    kept: list[Candidate] = []
    dropped: Counter[Drop] = Counter()
    top = max((each.nearness for each in ranked), default=0.0)
    for candidate in ranked:
        drop = _drop(candidate, kept, top, policy)
        if drop == "dedupe":
            _take_newer(candidate, kept, policy)
        if drop is None:
            kept.append(candidate)
        else:
            dropped[drop] += 1
    return kept, Funnel(
        generation=generation,
        returned=len(ranked),
        dropped_floor=dropped["floor"],
        dropped_slice=dropped["slice"],
        dropped_dedupe=dropped["dedupe"],
        dropped_budget=dropped["budget"],
        kept=len(kept),
    )


def relevance(candidate: Candidate, policy: RetrievalPolicy) -> float:
    """Return the number that the floor is compared with.

    Shared words lift it and their absence never lowers it: a Spanish question and an English
    passage share none.
    """
    return candidate.cosine + policy.overlap_weight * candidate.overlap


def _drop(
    candidate: Candidate, kept: Sequence[Candidate], top: float, policy: RetrievalPolicy
) -> Drop | None:
    if not _is_relevant(candidate, top, policy):
        return "floor"
    if len(kept) >= policy.kept:
        return "slice"
    if any(_is_same(candidate, other, policy) for other in kept):
        return "dedupe"
    if _count(candidate, kept) >= policy.per_document:
        return "slice"
    if _length([*kept, candidate]) > policy.budget:
        return "budget"
    return None


def _is_relevant(candidate: Candidate, top: float, policy: RetrievalPolicy) -> bool:
    if candidate.has_code:
        return True
    return relevance(candidate, policy) >= policy.floor and candidate.nearness >= policy.tail * top


def _take_newer(candidate: Candidate, kept: list[Candidate], policy: RetrievalPolicy) -> None:
    """Put a newer near copy in the place of an older one: what was withdrawn is not quoted."""
    for at, other in enumerate(kept):
        newer = (candidate.passage.date or "") > (other.passage.date or "")
        if newer and _is_same(candidate, other, policy):
            rest = [*kept[:at], *kept[at + 1 :]]
            fits = _length([*rest, candidate]) <= policy.budget
            if fits and _count(candidate, rest) < policy.per_document:
                kept[at] = candidate
            return


def _is_same(one: Candidate, other: Candidate, policy: RetrievalPolicy) -> bool:
    a, b = fingerprint(one.passage.text), fingerprint(other.passage.text)
    return len(a & b) >= policy.same_share * len(a | b)


def _count(candidate: Candidate, kept: Iterable[Candidate]) -> int:
    return sum(each.passage.document_id == candidate.passage.document_id for each in kept)


def _length(candidates: Iterable[Candidate]) -> int:
    return sum(len(each.passage.text) for each in candidates)
