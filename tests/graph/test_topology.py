from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph

from turnwire.graph.manifest import Manifest
from turnwire.graph.topology import topology


def nothing(state: MessagesState) -> dict[str, Any]:
    return {}


def to_answer(state: MessagesState) -> str:
    return "answer"


def test_a_node_is_conditional_if_every_edge_into_it_is():
    graph: StateGraph[Any] = StateGraph(MessagesState)
    for name in ("guard", "retrieve", "answer"):
        graph.add_node(name, nothing)
    graph.add_edge(START, "guard")
    graph.add_conditional_edges("guard", to_answer, ["retrieve", "answer"])
    graph.add_edge("retrieve", "answer")
    graph.add_edge("answer", END)
    manifest = Manifest(slug="g", title="G", kinds={"retrieve": "retrieval"})

    drawn = topology(graph.compile(), manifest)

    assert {each.id: (each.kind, each.conditional) for each in drawn.nodes} == {
        "__start__": ("start", False),
        "guard": ("node", False),
        "retrieve": ("retrieval", True),
        "answer": ("node", False),
        "__end__": ("end", False),
    }
    assert {(e.source, e.target, e.conditional) for e in drawn.edges} == {
        ("__start__", "guard", False),
        ("guard", "retrieve", True),
        ("guard", "answer", True),
        ("retrieve", "answer", False),
        ("answer", "__end__", False),
    }
