"""A node that looks for the evidence of a question."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from typing_extensions import TypedDict

from turnwire.events import RetrievalCompleted, Search
from turnwire.graph.context import rerank_hint
from turnwire.graph.emit import emit
from turnwire.nodes.evidence.source import Evidence, to_state

_LOG: Final = logging.getLogger("turnwire.nodes.evidence")


class Found(Protocol):
    """What a search brought."""

    @property
    def evidence(self) -> Sequence[Evidence]:
        """The passages, numbered from 1, best first."""
        ...

    @property
    def search(self) -> Search:
        """The account of the search."""
        ...


class Retriever(Protocol):
    """Whatever finds passages; called from any thread."""

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        """Return the passages that may answer ``query``; the hint is the client's."""
        ...


class Questioned(TypedDict, total=False):
    """The part of a graph's state that the node reads and writes."""

    question: str
    query: str
    """What to search for instead of the bare question."""
    locale: str
    evidence: list[dict[str, Any]]


async def look_up(retriever: Retriever, state: Questioned) -> tuple[Sequence[Evidence], Search]:
    """Return the evidence for the state's question, and the account of the search."""
    query = state.get("query") or state.get("question", "")
    try:
        found = await asyncio.to_thread(
            retriever.search, query, locale=state.get("locale"), rerank_hint=rerank_hint()
        )
    except Exception as error:  # an answer without evidence says so; the turn goes on
        _LOG.error("search failed: %s", type(error).__name__)
        return (), Search(query=query, status="error")
    return found.evidence, found.search


def tell(evidence: Sequence[Evidence], search: Search) -> Questioned:
    """Say what was found, and return it for the state."""
    emit(
        RetrievalCompleted(
            query=search.query,
            duration_ms=search.duration_ms,
            documents=tuple(each.passage for each in evidence),
            searches=(search,),
        )
    )
    return {"evidence": to_state(evidence)}


def retrieve_context(
    retriever: Retriever,
) -> Callable[[Questioned], Awaitable[Questioned]]:
    """Return a node that puts the evidence for ``question`` into the state, and says so."""

    async def retrieve_context(state: Questioned) -> Questioned:
        return tell(*await look_up(retriever, state))

    return retrieve_context
