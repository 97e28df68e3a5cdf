"""A graph named on the command line is found, or refused with what to do."""

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from turnwire.errors import SetupError
from turnwire.graph.load import load
from turnwire.graph.manifest import Manifest
from turnwire.graph.topology import topology


@dataclass
class Needs:
    tenant: str
    locale: str


@dataclass
class Content:
    locale: str
    tenant: str = "none"


class NeedsToo(TypedDict):
    tenant: str


def a_graph(state: Any = MessagesState, context: Any = None) -> StateGraph[Any]:  # noqa: ANN401
    def answer(state: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"messages": [AIMessage("Hello.")]}

    graph: StateGraph[Any] = StateGraph(state, context_schema=context)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


class NoMessages(TypedDict):
    text: str


def does_nothing(state: Any) -> dict[str, Any]:  # noqa: ANN401
    return {}


def broken() -> object:
    raise RuntimeError("no database")


@pytest.fixture(autouse=True)
def module() -> Iterator[types.ModuleType]:
    """A user's module, ``mine``."""
    made = types.ModuleType("mine")
    made.__dict__.update(
        builder=a_graph(),
        compiled=a_graph().compile(),
        factory=a_graph,
        broken=broken,
        itself=lambda: load,
        text="no graph",
        silent=a_graph(NoMessages),
        needy=a_graph(context=Needs),
        needy_too=a_graph(context=NeedsToo),
        content=a_graph(context=Content),
        wrong=a_graph(),
        wrong_manifest=Manifest(slug="wrong", title="Wrong", answer_node="speak"),
        named=a_graph(),
        named_manifest=Manifest(slug="help-desk", title="Help desk", answer_node="answer"),
    )
    sys.modules["mine"] = made
    yield made
    del sys.modules["mine"]


@pytest.mark.parametrize("name", ["builder", "compiled", "factory", "content"])
def test_a_graph_a_builder_and_a_function_that_makes_one_are_taken(name: str):
    graph, manifest = load(f"mine:{name}")
    assert "messages" in graph.channels
    assert manifest.slug == name


def test_a_manifest_beside_the_graph_is_its_own():
    _, manifest = load("mine:named")
    assert (manifest.slug, manifest.title) == ("help-desk", "Help desk")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine", "package.module:graph"),
        ("mine:", "package.module:graph"),
        ("nowhere_at_all:graph", "importing nowhere_at_all failed"),
        ("mine:missing", "no attribute 'missing'"),
        ("mine:text", "not a LangGraph graph"),
        ("mine:broken", "calling it failed: no database"),
        ("mine:itself", "not a LangGraph graph"),
        ("mine:silent", "no `messages` channel"),
        ("mine:wrong", "answer_node 'speak' is not one of the graph's nodes"),
        ("mine:needy", "needs tenant"),
        ("mine:needy_too", "needs tenant"),
    ],
)
def test_what_cannot_be_served_is_refused_with_what_to_do(name: str, said: str):
    with pytest.raises(SetupError) as refused:
        load(name)
    assert said in " ".join(str(refused.value).split())


def test_nodes_are_listed_in_the_order_in_which_a_turn_reaches_them():
    graph: StateGraph[Any] = StateGraph(MessagesState)
    for name in ("last", "middle", "first"):
        graph.add_node(name, does_nothing)
    graph.add_edge(START, "first")
    graph.add_edge("first", "middle")
    graph.add_edge("middle", "last")
    drawn = topology(graph.compile(), Manifest(slug="g", title="G"))
    assert [each.id for each in drawn.nodes] == ["__start__", "first", "middle", "last", "__end__"]
