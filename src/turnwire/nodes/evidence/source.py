"""A passage with all of its text: what a search brings and a citation is checked against."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from turnwire.events import Fact, Passage


class Evidence(Protocol):
    """A passage that was kept for this turn."""

    @property
    def passage(self) -> Passage:
        """The passage, as clients see it."""
        ...

    @property
    def text(self) -> str:
        """All of its text."""
        ...


class Source(Fact):
    """Evidence in a form that travels through a graph's state as a plain dict."""

    passage: Passage
    text: str
    keywords: tuple[str, ...] = ()
    """Words of the question by which the passage's document wants to be found."""


def keywords_of(evidence: Evidence) -> tuple[str, ...]:
    """Return the keywords of evidence that has them; a retriever need not know any."""
    return tuple(getattr(evidence, "keywords", ()))


def to_state(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Return the evidence as plain values that any checkpointer stores."""
    return [
        {
            "passage": each.passage.model_dump(mode="json"),
            "text": each.text,
            "keywords": list(keywords_of(each)),
        }
        for each in evidence
    ]


def from_state(stored: Sequence[Mapping[str, Any]]) -> list[Source]:
    """Return what :func:`to_state` made plain."""
    return [Source.model_validate(each) for each in stored]
