"""The graph as clients may draw it: ids and edges, no module path and no code."""

from collections import defaultdict
from typing import Any, Final

from langchain_core.runnables.graph import Graph as DrawnGraph
from langgraph.pregel import Pregel

from turnwire.events import Topology, TopologyEdge, TopologyNode
from turnwire.graph.manifest import Manifest

_ENDS: Final = {"__start__": "start", "__end__": "end"}


def topology(graph: Pregel[Any, Any, Any, Any], manifest: Manifest) -> Topology:
    """Return nodes and edges of a compiled graph, with the manifest's kinds and flags."""
    drawn = graph.get_graph()
    conditional: dict[str, list[bool]] = defaultdict(list)
    for edge in drawn.edges:
        conditional[edge.target].append(edge.conditional)
    nodes = tuple(
        TopologyNode(
            id=name,
            kind=_ENDS.get(name) or manifest.kinds.get(name) or _kind(name),
            conditional=name not in _ENDS and bool(conditional[name]) and all(conditional[name]),
        )
        for name in _from_the_start(drawn)
    )
    edges = tuple(
        TopologyEdge(source=edge.source, target=edge.target, conditional=edge.conditional)
        for edge in drawn.edges
    )
    return Topology(nodes=nodes, edges=edges, flags=manifest.flags)


def _from_the_start(drawn: DrawnGraph) -> list[str]:
    """Return the nodes in an order in which edges lead onwards, loops aside (reverse postorder)."""
    finished: list[str] = []
    seen: set[str] = set()

    def visit(node: str) -> None:
        seen.add(node)
        for edge in reversed(drawn.edges):
            if edge.source == node and edge.target not in seen:
                visit(edge.target)
        finished.append(node)

    for node in reversed(list(drawn.nodes)):
        if node not in seen:
            visit(node)
    return finished[::-1]


def _kind(name: str) -> str:
    # LangChain's agent middleware adds nodes of its own, such as `PIIMiddleware.before_model`.
    return "middleware" if "." in name else "node"
