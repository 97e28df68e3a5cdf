"""What ends a loop: how often, how long and how dear; pure, and a node that says which it was."""

from collections.abc import Mapping
from typing import Final, Literal

from langgraph.runtime import Runtime

from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work, text_for
from turnwire.agents.studio.primitives.talking import say_more
from turnwire.agents.studio.spec import Limits
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext

Reason = Literal["iteration_limit", "time_limit", "cost_limit"]

_TEXTS: Final[Mapping[Reason, Mapping[str, str]]] = {
    "iteration_limit": {
        "en": "I stopped here: this takes more steps than one answer may ({limit}).",
        "es": "Me detengo aquí: esto requiere más pasos de los que puede dar una respuesta ({limit}).",  # noqa: E501
    },
    "time_limit": {
        "en": "I stopped here: this takes longer than one answer may ({limit} s).",
        "es": "Me detengo aquí: esto tarda más de lo que puede durar una respuesta ({limit} s).",
    },
    "cost_limit": {
        "en": "I stopped here: this costs more than one answer may (US$ {limit}).",
        "es": "Me detengo aquí: esto cuesta más de lo que puede costar una respuesta (US$ {limit}).",  # noqa: E501
    },
}


def exceeded(limits: Limits, state: AgentState, *, now: int) -> Reason | None:
    """Return which limit a turn has reached at ``now`` (ms), or none."""
    if limits.iterations is not None and state.get("iteration", 0) >= limits.iterations:
        return "iteration_limit"
    if limits.seconds is not None and now - state.get("since_ms", now) > limits.seconds * 1000:
        return "time_limit"
    if limits.usd is not None and state.get("usd", 0.0) > limits.usd:
        return "cost_limit"
    return None


def limit_reached(building: Building) -> Work:
    """Return the node that a loop ends in: it says why."""
    limits = building.spec.limits

    async def limit_reached(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        reason = exceeded(limits, state, now=building.parts.now()) or "time_limit"
        limit = {
            "iteration_limit": limits.iterations,
            "time_limit": limits.seconds,
            "cost_limit": limits.usd,
        }[reason]
        said = text_for(_TEXTS[reason], state.get("locale", "en")).format(limit=f"{limit or 0:g}")
        return {**say_more(state, said), "error": reason, "finish_reason": reason}

    return limit_reached
