"""The guarded agent's graph and manifest.

intake → guardrail_pre → (retrieve_context) → generate_response → (review_response) →
guardrail_post → closing
"""

from typing import Any, Final, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from turnwire.agents.guarded.generate import generate_response
from turnwire.agents.guarded.guards import (
    closing,
    guardrail_post,
    guardrail_pre,
    intake,
    needs_review,
    route,
)
from turnwire.agents.guarded.memory import remembering
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.screening import search
from turnwire.agents.guarded.state import GuardedState
from turnwire.agents.guarded.voice import NAME
from turnwire.events import TopologyFlags
from turnwire.graph.context import TurnContext
from turnwire.graph.manifest import Manifest
from turnwire.nodes.evidence.retrieve import Found, Retriever
from turnwire.nodes.review.review import review_response

KINDS: Final = {
    "intake": "node",
    "guardrail_pre": "guardrail",
    "retrieve_context": "retrieval",
    "generate_response": "model",
    "review_response": "review",
    "guardrail_post": "guardrail",
    "closing": "node",
}


def build(
    parts: GuardedParts, *, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> CompiledStateGraph[GuardedState, TurnContext, GuardedState, GuardedState]:
    """Return the compiled graph; a review needs a checkpointer that keeps the turn meanwhile."""
    graph = StateGraph(GuardedState, context_schema=TurnContext)
    add_node = cast("Any", graph.add_node)
    add_node("intake", intake(parts))
    add_node("guardrail_pre", guardrail_pre(parts))
    add_node("retrieve_context", search(parts, parts.retriever or _NoRetriever()))
    add_node(NAME, generate_response(parts))
    add_node("guardrail_post", guardrail_post(parts))
    add_node("closing", closing(parts))
    graph.add_edge(START, "intake")
    graph.add_edge("intake", "guardrail_pre")
    graph.add_conditional_edges("guardrail_pre", route, ["retrieve_context", NAME])
    graph.add_edge("retrieve_context", NAME)
    if parts.hitl:
        add_node("review_response", _review(parts))
        graph.add_edge(NAME, "review_response")
    graph.add_edge("review_response" if parts.hitl else NAME, "guardrail_post")
    graph.add_edge("guardrail_post", "closing")
    graph.add_edge("closing", END)
    return cast("Any", graph).compile(checkpointer=checkpointer, name=parts.slug)


def manifest(parts: GuardedParts) -> Manifest:
    """Return what the graph cannot say about itself."""
    kinds = {node: kind for node, kind in KINDS.items() if parts.hitl or kind != "review"}
    return Manifest(
        slug=parts.slug,
        title=parts.title,
        description=parts.description,
        model=parts.model_name,
        models=tuple(parts.models),
        answer_node=NAME,
        speaks=True,
        kinds=kinds,
        remember=remembering(parts),
        flags=TopologyFlags(
            rag=parts.retriever is not None, hitl=parts.hitl, judge=parts.judge is not None
        ),
    )


def _review(parts: GuardedParts) -> Any:  # noqa: ANN401 - a node, whose type LangGraph leaves open
    return review_response(
        assess=cast("Any", needs_review(parts)),
        rejected=lambda locale: parts.policy.text("review_rejected", locale),
        expires_in=parts.review_expires_in,
    )


class _NoRetriever(Retriever):
    """Stands where no evidence is looked for; the edge leads past it."""

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        raise NotImplementedError
