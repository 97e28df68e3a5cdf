import asyncio
import threading
from dataclasses import dataclass
from typing import Any, cast

import pytest
from langgraph.graph import END, START, StateGraph

from turnwire.events import Funnel, Passage, RetrievalCompleted, Search
from turnwire.nodes.evidence.retrieve import Questioned, retrieve_context
from turnwire.nodes.evidence.source import Source, from_state

PASSAGE = Passage(
    index=1,
    id="p",
    title="T",
    document_id="d",
    document_name="D",
    score=0.5,
    snippet="s",
    source="corpus",
)


@dataclass
class Found:
    evidence: tuple[Source, ...]
    search: Search


class Shelf:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, bool]] = []
        self.hints: list[bool | None] = []

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        self.hints.append(rerank_hint)
        on_loop = threading.current_thread() is threading.main_thread()
        self.asked.append((query, locale, on_loop))
        account = Search(
            query=query, duration_ms=3, funnel=Funnel(generation=1, returned=1, kept=1)
        )
        return Found((Source(passage=PASSAGE, text="All of it."),), account)


def test_the_node_works_in_anybodys_graph():
    shelf = Shelf()
    graph = StateGraph(Questioned)
    cast("Any", graph).add_node("retrieve", retrieve_context(shelf))
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", END)
    compiled = cast("Any", graph).compile()

    async def run() -> list[Any]:
        question = {"question": "When?", "locale": "es"}
        return [each async for each in compiled.astream(question, stream_mode=["custom", "values"])]

    parts = asyncio.run(run())
    (said,) = next(data for mode, data in parts if mode == "custom")
    assert isinstance(said, RetrievalCompleted)
    assert said.documents == (PASSAGE,)
    assert (said.query, said.duration_ms) == ("When?", 3)
    assert from_state(parts[-1][1]["evidence"]) == [Source(passage=PASSAGE, text="All of it.")]
    assert shelf.asked == [("When?", "es", False)]


@dataclass
class Context:
    rerank: bool | None = None


@pytest.mark.parametrize("hint", [True, False, None])
@pytest.mark.parametrize("schema", [Context, dict, None])
def test_the_clients_hint_reaches_the_search_where_the_context_has_it(
    hint: bool | None,
    schema: Any,  # noqa: ANN401
):
    shelf = Shelf()
    graph = StateGraph(Questioned, context_schema=schema)
    cast("Any", graph).add_node("retrieve", retrieve_context(shelf))
    graph.add_edge(START, "retrieve")
    compiled = cast("Any", graph).compile()
    context = None if schema is None else schema(rerank=hint)

    asyncio.run(compiled.ainvoke({"question": "When?"}, context=context))

    assert shelf.hints == [hint if schema is not None else None]


def test_outside_a_run_there_is_no_hint():
    shelf = Shelf()

    asyncio.run(cast("Any", retrieve_context(shelf))({"question": "When?"}))

    assert shelf.hints == [None]
