"""Approvals: a gate in front of a node asks a person, and routes by what they say.

The gate asks and does nothing else; LangGraph runs it again from its start after the answer. What
was approved stands in the state, named by its hash, and the action's grant is for nothing else.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, cast

from langgraph.runtime import Runtime
from pydantic import JsonValue

from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work, call_of, owner_of
from turnwire.agents.studio.primitives.results import plain
from turnwire.agents.studio.spec import Gate, PortalTask
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.graph.pause import ask
from turnwire.nodes.tools.tool import Call, Outcome, Proposal

APPROVED: Final = "approved"
REJECTED: Final = "rejected"


def gate(node_id: str, rule: Gate, building: Building) -> Work:
    """Return the gate in front of a node."""
    guarded = building.spec.node(node_id)
    acts = isinstance(guarded, PortalTask)

    async def gate(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        locale, owner = state.get("locale", "en"), owner_of(runtime)
        if not acts:
            answer = ask("approval", _bare(node_id), response_schema=_schema(None), **_wait(rule))
            return _routed(building, {}, is_approved=_says_yes(answer))
        call = call_of(state)
        if call is None:
            return _routed(building, {}, is_approved=False)
        proposal = building.actions.propose(call, principal=owner, locale=locale)
        if isinstance(proposal, Outcome):
            return _failed(building, proposal)
        tool = building.tools.tool(call.name)
        schema = _schema(tool.parameters if tool else None)
        answer = ask("approval", _asked(node_id, proposal), response_schema=schema, **_wait(rule))
        given = _edited(proposal, answer)
        proposal = building.actions.propose(given, principal=owner, locale=locale)
        if isinstance(proposal, Outcome):
            return _failed(building, proposal)
        decision = _decision(answer)
        if decision["decision"] != "approve":
            outcome = await building.actions.decided(
                proposal, decision, principal=owner, locale=locale
            )
            return _failed(building, outcome)
        kept: dict[str, Any] = {
            "approval": {"proposal": asdict(proposal), "answer": decision},
            "tool_call": {
                **state.get("extra", {})["tool_call"],
                "params": dict(given.arguments),
            },
        }
        return _routed(building, {"extra": kept}, is_approved=True)

    return gate


def approved(state: AgentState) -> tuple[Proposal, JsonValue] | None:
    """Return what was approved and by which answer, or none where nothing was."""
    kept = state.get("extra", {}).get("approval")
    if not isinstance(kept, dict):
        return None
    held = cast("Mapping[str, Any]", kept)
    proposal = Proposal(**held["proposal"])
    return replace(proposal, call=Call(**held["proposal"]["call"])), held["answer"]


def _wait(rule: Gate) -> dict[str, Any]:
    return {"expires_in": rule.expires_seconds}


def _bare(node_id: str) -> dict[str, JsonValue]:
    return {"action": node_id, "node": node_id, "params": {}}


def _asked(node_id: str, proposal: Proposal) -> dict[str, JsonValue]:
    return {
        "action": proposal.call.name,
        "node": node_id,
        "params": dict(proposal.arguments_preview),
        "summary": proposal.summary,
        "name": proposal.call.name,
        "risk": proposal.risk,
        "arguments_hash": proposal.arguments_hash,
    }


def _schema(parameters: Mapping[str, JsonValue] | None) -> dict[str, Any]:
    properties: dict[str, Any] = {"approved": {"type": "boolean"}}
    if parameters is not None:
        properties["edited_params"] = dict(parameters)
    properties["feedback"] = {"type": "string", "maxLength": 2000}
    return {
        "type": "object",
        "required": ["approved"],
        "properties": properties,
        "additionalProperties": False,
    }


def _said(answer: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", answer) if isinstance(answer, Mapping) else {}


def _says_yes(answer: object) -> bool:
    return _said(answer).get("approved") is True


def _decision(answer: object) -> dict[str, JsonValue]:
    """Return the answer as the executor reads one; whatever can't be read is a rejection."""
    said = _said(answer)
    feedback = said.get("feedback")
    return {
        "decision": "approve" if _says_yes(answer) else "reject",
        "feedback": feedback if isinstance(feedback, str) else None,
        "confirmation_id": str(said.get("approval_id") or ""),
    }


def _edited(proposal: Proposal, answer: object) -> Call:
    """Return the call with the parameters that the person gave, if they gave some."""
    edited = _said(answer).get("edited_params") if _says_yes(answer) else None
    if not isinstance(edited, dict):
        return proposal.call
    return replace(proposal.call, arguments=cast("Mapping[str, Any]", edited))


def _failed(building: Building, outcome: Outcome) -> AgentState:
    result = plain(outcome)
    update: AgentState = {
        "tool_results": [result],
        "context": [result],
        "extra": {"tool_call": None, "approval": None},
        "error": str(outcome.code),
    }
    return _routed(building, update, is_approved=False)


def _routed(building: Building, update: AgentState, *, is_approved: bool) -> AgentState:
    """Return the update with the route; the clock of the limits begins anew after the wait."""
    route = APPROVED if is_approved else REJECTED
    return {**update, "route": route, "since_ms": building.parts.now()}
