"""Carries out the call that the state holds, through the executor of tools.

The thinker never reaches a system itself: what it wants done stands in the state, and here it is
checked, done with the grant of its approval where it changes something, audited, and noted.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from turnwire.agents.guarded.screening import noted
from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work, call_of, owner_of
from turnwire.agents.studio.primitives.gates import approved
from turnwire.agents.studio.primitives.results import plain, refused
from turnwire.agents.studio.spec import PortalTask
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.nodes.guardrails.evidence import Screen
from turnwire.nodes.tools.texts import text


def portal_task(node: PortalTask, building: Building) -> Work:
    """Return the node."""
    screen = Screen(building.policy)

    async def portal_task(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        result = await _done(node, building, state, runtime)
        shown = json.dumps(result.get("result"), ensure_ascii=False)
        # In a thread: a long result takes a while, and others are waiting.
        found = await asyncio.to_thread(screen.look, [shown])
        update: AgentState = {
            "tool_results": [result],
            "context": [result],
            "extra": {"tool_call": None, "approval": None},
            "error": None if result["status"] == "ok" else str(result["code"]),
        }
        if found is None:
            return update
        return {**update, "guardrail_decisions": noted(state, (found.decision,))}

    return portal_task


async def _done(
    node: PortalTask, building: Building, state: AgentState, runtime: Runtime[TurnContext]
) -> Mapping[str, Any]:
    call, locale = call_of(state), state.get("locale", "en")
    if call is None or call.name not in node.operations:
        operation = call.name if call else "none"
        return refused(operation, "not_allowed", text("not_allowed", locale))
    owner = owner_of(runtime)
    tool = building.tools.tool(call.name)
    if tool is None or tool.risk == "read":
        return plain(await building.actions.read(call, principal=owner, locale=locale))
    agreed = approved(state)
    if agreed is None:
        return refused(call.name, "needs_confirmation", text("needs_confirmation", locale))
    proposal, answer = agreed
    outcome = await building.actions.decided(proposal, answer, principal=owner, locale=locale)
    return plain(outcome)
