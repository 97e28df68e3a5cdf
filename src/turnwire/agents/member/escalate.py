"""The node that hands the member over to people."""

from langgraph.runtime import Runtime

from turnwire.agents.member.before import Node, locale_of
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.state import MemberState
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker


def escalate(parts: MemberParts) -> Node:
    """Return the node that hands the member over to people, in a fixed text."""

    async def escalate(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        verdict = state.get("verdict", {})
        locale = locale_of(parts, state)
        text = parts.texts.say("handed_over", locale)
        if verdict.get("outcome") == "escalate":
            text = verdict.get("fixed_text") or parts.policy.text("escalation", locale)
        speaker().say(text)
        return {"draft": text, "finish_reason": "escalated", "route": "escalate", "open": {}}

    return escalate
