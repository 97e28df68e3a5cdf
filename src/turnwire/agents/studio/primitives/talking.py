"""What the user reads: an answer, a fixed text, and what comes after either."""

from langgraph.runtime import Runtime

from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work, text_for
from turnwire.agents.studio.spec import Message
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker


def say_more(state: AgentState, text: str) -> AgentState:
    """Say a text, below what the user has read in this turn."""
    before = state.get("draft", "")
    if state.get("held"):  # a reviewer has not let it out
        before = ""
    added = f"\n\n{text}" if before else text
    speaker().say(added)
    return {"draft": before + added, "held": False}


def message(node: Message, building: Building) -> Work:
    """Return the node that says a fixed text."""

    async def message(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        locale = state.get("locale", building.policy.default_locale)
        said = say_more(state, text_for(node.text, locale))
        return {**said, "finish_reason": node.finish_reason}

    return message
