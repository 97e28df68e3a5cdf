"""After text went out, a failover is never silent: the words are taken back, or the turn fails."""

from collections.abc import Callable
from typing import TypeAlias

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from turnwire.agents.studio.primitives.common import Work
from turnwire.agents.studio.state import AgentState
from turnwire.errors import TurnBroken
from turnwire.events import TextReplaced
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker
from turnwire.models.gateway import Gateway

Answers: TypeAlias = Callable[[BaseChatModel], Work]
"""Returns what answers with a model."""


def in_turn(model: BaseChatModel, answers: Answers, *, retracts: bool) -> Work:
    """Return what answers with a model, and with the rest of its chain where one breaks off.

    Before the first word the chain itself goes on to the next provider, and nobody has to hear of
    that. With ``retracts`` the words of one that breaks off later are taken back, and the next one
    begins anew; without it, or where nobody is left, the turn fails and the words stay.
    """
    first = answers(model)
    if not retracts or not isinstance(model, Gateway):
        return first
    rests = {each.key: model.after(each.key) for each in model.upstreams}
    others = {key: answers(rest) for key, rest in rests.items() if rest is not None}

    async def answer(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        work = first
        while True:
            try:
                return await work(state, runtime)
            except TurnBroken as error:
                following = others.get(error.broke_off or "")
                if following is None or following is work:
                    raise
                speaker().emit(TextReplaced(text="", reason="failover"))
                work = following

    return answer
