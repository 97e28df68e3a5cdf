"""The member agent's graph and manifest.

intake → guardrail_pre → route → (plan_reads | gather) → (confirm) → (search) → answer →
(sign_in → plan_reads …) → guardrail_post → closing, and escalate
"""

from typing import Any, Final, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from turnwire.agents.member.acting import confirm, plan_reads, sign_in, waiting_actions
from turnwire.agents.member.after import closing, remembering
from turnwire.agents.member.answer import answer
from turnwire.agents.member.before import member_guardrail, member_intake, route
from turnwire.agents.member.behind import NAME
from turnwire.agents.member.escalate import escalate
from turnwire.agents.member.gather import gather
from turnwire.agents.member.grounds import guardrail_post
from turnwire.agents.member.outcomes import lacks_sign_in
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.searching import search
from turnwire.agents.member.state import MemberState, outcomes_of
from turnwire.events import TopologyFlags
from turnwire.graph.context import TurnContext
from turnwire.graph.manifest import Manifest

KINDS: Final = {
    "intake": "node",
    "guardrail_pre": "guardrail",
    "route": "node",
    "plan_reads": "tool",
    "gather": "model",
    "confirm": "confirmation",
    "search": "retrieval",
    NAME: "model",
    "sign_in": "sign_in",
    "escalate": "node",
    "guardrail_post": "guardrail",
    "closing": "node",
}


def build(
    parts: MemberParts, *, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> CompiledStateGraph[MemberState, TurnContext, MemberState, MemberState]:
    """Return the compiled graph; its pauses need a checkpointer that keeps the turn meanwhile."""
    parts.router.warm()
    graph = StateGraph(MemberState, context_schema=TurnContext)
    add_node = cast("Any", graph.add_node)
    add_node("intake", member_intake(parts))
    add_node("guardrail_pre", member_guardrail(parts))
    add_node("route", route(parts))
    add_node("plan_reads", plan_reads(parts))
    add_node("confirm", confirm(parts))
    add_node("search", search(parts))
    add_node(NAME, answer(parts))
    add_node("sign_in", sign_in(parts))
    add_node("escalate", escalate(parts))
    add_node("guardrail_post", guardrail_post(parts))
    add_node("closing", closing(parts))
    graph.add_edge(START, "intake")
    graph.add_edge("intake", "guardrail_pre")
    graph.add_conditional_edges("guardrail_pre", _after_guard, ["escalate", "route", NAME])
    searched = ["confirm", NAME]
    onwards = ["search", *searched]
    if parts.executor is None:
        graph.add_conditional_edges("route", _after_route, ["plan_reads", "search", NAME])
        graph.add_conditional_edges("plan_reads", _onwards, onwards)
        graph.add_edge("confirm", NAME)
    else:
        add_node("gather", gather(parts))
        graph.add_edge("route", "gather")
        graph.add_conditional_edges("gather", _after_gather, ["plan_reads", *onwards])
        graph.add_conditional_edges("plan_reads", _after_planned, ["gather", *onwards])
        graph.add_edge("confirm", "gather")
    graph.add_conditional_edges("search", _searched, searched)
    graph.add_conditional_edges(NAME, _after_answer, ["sign_in", "guardrail_post"])
    graph.add_edge("sign_in", "plan_reads")
    graph.add_edge("escalate", "closing")
    graph.add_edge("guardrail_post", "closing")
    graph.add_edge("closing", END)
    return cast("Any", graph).compile(checkpointer=checkpointer, name=parts.slug)


def manifest(parts: MemberParts) -> Manifest:
    """Return what the graph cannot say about itself."""
    has_model = parts.executor is not None
    return Manifest(
        slug=parts.slug,
        title=parts.title,
        description=parts.description,
        model=parts.model_name,
        models=tuple(parts.models),
        answer_node=NAME,
        speaks=True,
        kinds={node: kind for node, kind in KINDS.items() if has_model or node != "gather"},
        remember=remembering(parts),
        flags=TopologyFlags(
            rag=parts.retriever is not None, hitl=False, judge=parts.judge is not None
        ),
    )


def _after_guard(state: MemberState) -> str:
    goes_on = state.get("route")
    return goes_on if goes_on in ("escalate", "route") else NAME


def _after_route(state: MemberState) -> str:
    if state.get("plan"):
        return "plan_reads"
    return "search" if state.get("queries") else NAME


def _after_gather(state: MemberState) -> str | list[Send]:
    return "plan_reads" if state.get("plan") else _onwards(state)


def _after_planned(state: MemberState) -> str | list[Send]:
    """Return to the model with what was read, but where the turn waits or nobody may read."""
    ends = state.get("waiting") or state.get("finish_reason")
    return _onwards(state) if ends or lacks_sign_in(outcomes_of(state)) else "gather"


def _onwards(state: MemberState) -> str | list[Send]:
    """Return what comes when nothing more is to be read: actions that a model proposed first."""
    if state.get("steps") and not state.get("waiting") and (sends := waiting_actions(state)):
        return sends
    return "search" if state.get("queries") else _searched(state)


def _searched(state: MemberState) -> str | list[Send]:
    return NAME if state.get("waiting") else waiting_actions(state) or NAME


def _after_answer(state: MemberState) -> str:
    return "sign_in" if state.get("waiting") else "guardrail_post"
