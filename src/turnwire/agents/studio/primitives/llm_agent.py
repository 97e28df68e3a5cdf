"""Answers the user, by a model or by what the evidence and the portal say word for word."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from langgraph.runtime import Runtime

from turnwire.agents.guarded.generate import Asking, generate_response
from turnwire.agents.guarded.guards import context_of
from turnwire.agents.guarded.state import GuardedState
from turnwire.agents.studio.parts import Building, is_offline
from turnwire.agents.studio.primitives.common import Work, summed, text_for
from turnwire.agents.studio.primitives.results import block, told
from turnwire.agents.studio.primitives.talking import say_more
from turnwire.agents.studio.spec import LlmAgent
from turnwire.agents.studio.state import AgentState
from turnwire.events import TextReplaced
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker

_NOTES = 3


def llm_agent(node: LlmAgent, building: Building) -> Work:
    """Return the node."""
    parts = building.of_role(node.role)
    asking = Asking(node=node.id, persona=_persona(node), quoted=_quoted)
    freely = generate_response(replace(parts, retriever=None), asking)
    shelf = next(iter(building.parts.retrievers.values()), None)
    grounded = generate_response(replace(parts, retriever=shelf), asking)

    async def llm_agent(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        state = _afresh(state)
        context = context_of(runtime)
        _, model = parts.chosen(context.model if context else None)
        results = state.get("tool_results", [])
        if results and is_offline(model):
            said = say_more(state, _offline(node, state))
            return {**said, "finish_reason": "stop"}
        answer = grounded if node.grounded and building.retrieves and not results else freely
        update = cast("AgentState", await answer(state, runtime))
        return summed(state, update)

    return llm_agent


def _afresh(state: AgentState) -> AgentState:
    """Take the draft back that is to be written anew."""
    if not state.get("draft"):
        return state
    if not state.get("held"):
        speaker().emit(TextReplaced(text="", reason="retry"))
    fresh: AgentState = {"draft": "", "citations": [], "held": False}
    return {**state, **fresh}


def _offline(node: LlmAgent, state: AgentState) -> str:
    results = told(state.get("tool_results", []))
    if node.offline is None:
        return results
    return text_for(node.offline, state.get("locale", "en")).replace("{results}", results)


def _persona(node: LlmAgent) -> Callable[[GuardedState, str], str]:
    def persona(state: GuardedState, locale: str) -> str:
        lines = [text_for(node.prompt, locale)]
        known = cast("AgentState", state).get("remembered")
        lines += [known] if known else []
        notes = cast("list[dict[str, Any]]", cast("AgentState", state).get("notes", []))
        turn = state.get("turn", 0)
        retries = [each for each in notes if "retry" in each and each.get("turn") == turn]
        lines += [f"A draft was sent back: {each['retry']}" for each in retries[-_NOTES:]]
        return "\n\n".join(lines)

    return persona


def _quoted(state: GuardedState, fence: str, redact: Callable[[str], str]) -> str:
    results = cast("AgentState", state).get("tool_results", [])
    return block(results, fence=fence, redact=redact)
