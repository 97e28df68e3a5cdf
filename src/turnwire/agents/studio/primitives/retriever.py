"""Searches documents, and looks at what it found: passages may hold instructions."""

from typing import cast

from langgraph.runtime import Runtime

from turnwire.agents.guarded.screening import search
from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work
from turnwire.agents.studio.spec import RagRetriever
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext

_SNIPPET = 400


def rag_retriever(node: RagRetriever, building: Building) -> Work:
    """Return the node."""
    look = search(building.guarded, building.parts.retrievers[node.corpus])

    async def retrieve(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        found = cast("AgentState", await look(state))
        passages = [
            {"passage": each["passage"]["id"], "text": str(each["text"])[:_SNIPPET]}
            for each in found.get("evidence", [])
        ]
        return {**found, "context": passages}

    return retrieve
