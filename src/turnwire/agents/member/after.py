"""What is left of a turn: the answer in the conversation, and as little else as will do."""

from collections.abc import Mapping
from typing import Any, cast

from langgraph.runtime import Runtime

from turnwire.agents.guarded import guards, memory
from turnwire.agents.member.before import Node
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.state import FORGOTTEN, MemberState
from turnwire.graph.context import TurnContext
from turnwire.graph.memory import Remember
from turnwire.graph.plain import change


def closing(parts: MemberParts) -> Node:
    """Return the node that adds the answer to the conversation, and forgets the member's file."""
    close = guards.closing(parts)

    async def closing(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        return cast("MemberState", {**FORGOTTEN, **await close(state, runtime)})

    return closing


def remembering(parts: MemberParts) -> Remember | None:
    """Return how a turn is remembered, or none where its words are kept as they are."""
    remember = memory.remembering(parts)
    if remember is None:
        return None

    async def remembered(state: Mapping[str, Any]) -> Mapping[str, Any]:
        masked = memory.masked_for_memory(parts, state)
        opened: Mapping[str, Any] = state.get("open") or {}
        kept = {"arguments": change(opened["arguments"], masked)} if opened else {}
        return {**await remember(state), "open": {**opened, **kept}}

    return remembered
