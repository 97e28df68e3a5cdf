"""Judges the draft: by a model, or by whether its sentences are backed by the evidence."""

from langgraph.runtime import Runtime

from turnwire.agents.studio.parts import Building, is_offline
from turnwire.agents.studio.primitives.common import (
    Work,
    accounted,
    consult,
    object_in,
    text_for,
    transcript,
)
from turnwire.agents.studio.spec import Evaluator
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.nodes.evidence.citations import find_citations
from turnwire.nodes.evidence.source import from_state

_TASK = """\
You judge a draft of an answer by these criteria:
{criteria}

Reply with one JSON object and nothing else:
{{"verdict": "pass" | "retry", "note": "what has to be better, in one sentence"}}"""
_LONGEST = 500
_ENDED = frozenset({"refused", "escalated", "no_match"})
"""Endings that no second draft would mend."""


def evaluator(node: Evaluator, building: Building) -> Work:
    """Return the node; what can't be read lets the draft stand."""
    model = building.parts.model(node.role)

    async def evaluate(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        draft = state.get("draft", "")
        if state.get("finish_reason") in _ENDED:
            return {"route": "pass"}
        if is_offline(model):
            return _judged(state, unbacked(state))
        task = _TASK.format(criteria=text_for(node.criteria, state.get("locale", "en")))
        reply, completion = await consult(model, task, transcript(state, [f"draft: {draft}"]))
        read = object_in(reply) or {}
        note = str(read.get("note") or "")[:_LONGEST] or "it does not meet the criteria"
        is_bad = read.get("verdict") == "retry"
        return {**_judged(state, note if is_bad else None), **accounted(state, completion)}

    return evaluate


def unbacked(state: AgentState) -> str | None:
    """Return what is wrong with a draft that nothing backs, or none where it may stand."""
    draft = state.get("draft", "")
    if not draft.strip():
        return "it is empty"
    evidence = from_state(state.get("evidence", []))
    if not evidence:
        return None
    check = find_citations(draft, evidence)
    return None if check.is_backed else f"it is not backed by the evidence: {check.reason}"


def _judged(state: AgentState, note: str | None) -> AgentState:
    if note is None:
        return {"route": "pass"}
    return {"route": "retry", "notes": [{"retry": note, "turn": state.get("turn", 0)}]}
