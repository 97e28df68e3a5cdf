"""What the answer stands on: passages found, and citations that point at them."""

from typing import Literal

from pydantic import Field

from turnwire.events.base import BaseEvent, Fact


def _is_absent(value: object) -> bool:
    """Whether a later field has nothing to say; then an event looks as it did before it."""
    return value is None or value == ()


class Passage(Fact):
    """A passage selected as evidence for this turn."""

    index: int
    """Its number in this turn, from 1: the marker ``[1]`` points here."""
    id: str
    title: str
    document_id: str
    document_name: str
    section: str | None = None
    page: int | None = None
    score: float
    """How near the passage is to the query; larger is nearer, comparable within one search."""
    snippet: str
    source: str
    """The corpus it comes from."""
    locale: str | None = None
    date: str | None = None
    """The document's own date (ISO 8601) where it has one."""
    version: str | None = Field(default=None, exclude_if=_is_absent)
    """The document's own version where it has one."""
    digest: str | None = Field(default=None, exclude_if=_is_absent)
    """Changes when the document's file does: which state of it the passage was read from."""


class Funnel(Fact):
    """How many candidates each step of a search dropped; the counts add up."""

    generation: int
    """The index's generation that was searched."""
    returned: int
    dropped_floor: int = 0
    dropped_slice: int = 0
    dropped_dedupe: int = 0
    dropped_budget: int = 0
    kept: int
    rerank: Literal["ok", "off", "fallback", "skipped_by_client"] = "off"
    rerank_hint: bool | None = None


class Search(Fact):
    """One search of the turn."""

    tool_call_id: str | None = None
    query: str
    status: Literal["ok", "error"] = "ok"
    duration_ms: int = 0
    funnel: Funnel | None = None
    """None where the search failed."""


class RetrievalCompleted(BaseEvent):
    """The evidence for this answer is fixed; no document may be left of it."""

    type: Literal["retrieval.completed"] = "retrieval.completed"
    query: str
    duration_ms: int
    documents: tuple[Passage, ...] = ()
    searches: tuple[Search, ...] = ()


class AnswerSpan(Fact):
    """A part of the answer, in Unicode code points from its beginning."""

    start: int
    end: int
    """The first place that is no longer part of it."""


class Citation(Fact):
    """A source that the answer rests on."""

    marker: int
    """The number in the text: ``[1]`` has marker 1 and points at evidence with index 1."""
    id: str
    """The passage's id."""
    title: str
    document_id: str
    snippet: str
    date: str | None = Field(default=None, exclude_if=_is_absent)
    """The document's own date (ISO 8601) where it has one."""
    version: str | None = Field(default=None, exclude_if=_is_absent)
    """The document's own version where it has one."""
    spans: tuple[AnswerSpan, ...] = Field(default=(), exclude_if=_is_absent)
    """The sentences of the answer that the marker stands for, in order; none where not known."""


class CitationAdded(BaseEvent):
    """The answer rests on this passage."""

    type: Literal["citation.added"] = "citation.added"
    citation: Citation
