"""Recalls earlier conversations, and has the turn's exchange remembered."""

from langgraph.runtime import Runtime

from turnwire.agents.guarded.guards import ANSWERED
from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work
from turnwire.agents.studio.spec import Memory
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.nodes.memory.episodes import EpisodePolicy, EpisodicMemory


def memory(node: Memory, building: Building) -> Work:
    """Return the node."""
    limits = EpisodePolicy(found=node.found, budget=node.budget)
    episodes = EpisodicMemory(
        building.spec.slug, building.policy, limits=limits, now=building.parts.now
    )

    async def recall(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        return {"remembered": await episodes.recall(state.get("question", ""))}

    return recall


def remember(building: Building, state: AgentState) -> None:
    """Have the exchange remembered once the turn is complete, where the agent has a memory."""
    if building.remembers and state.get("finish_reason") in ANSWERED:
        episodes = EpisodicMemory(building.spec.slug, building.policy, now=building.parts.now)
        episodes.remember(state.get("question", ""), state.get("draft", ""))
