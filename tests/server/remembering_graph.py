"""A graph with a memory: it answers with what it recalls, and remembers what was said.

The question's first words decide: ``fail …`` raises after asking to remember, ``wait …`` runs on
until it is cancelled, ``work STAGE`` keeps working memory, ``work`` tells it, ``done`` clears it.
Anything else is answered by ``Noted.``, or by what comes after `` | `` in the question.
"""

import asyncio
from typing import Any, Final

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.nodes.memory.episodes import EpisodicMemory
from turnwire.nodes.memory.working import Working, WorkingMemory

_POLICY: Final = shipped_policy("docs")
EPISODES: Final = EpisodicMemory("remembering", _POLICY)
WORK: Final = WorkingMemory("remembering", _POLICY)


async def answer(state: MessagesState) -> dict[str, Any]:
    """Recall, answer, remember."""
    question = str(state["messages"][-1].text)
    first, _, rest = question.partition(" ")
    if first in ("work", "done"):
        said = await _work(first, rest)
    else:
        recalled = await EPISODES.recall(question)
        noted = question.partition(" | ")[2] or "Noted."
        EPISODES.remember(question, noted)
        said = recalled or noted
    if first == "fail":
        raise RuntimeError("on purpose")
    if first == "wait":
        await asyncio.sleep(60)
    return {"messages": [AIMessage(said)]}


async def _work(first: str, stage: str) -> str:
    known = await WORK.restore()
    if first == "done" and known is not None:
        WORK.clear(known)
    elif stage:
        session = known.session if known else None
        WORK.keep(Working(stage=stage, confirmed={"by": "me"}, session=session))
    return f"stage: {known.stage if known else 'none'}"


_graph: StateGraph[Any] = StateGraph(MessagesState)
_graph.add_node("answer", answer)
_graph.add_edge(START, "answer")
_graph.add_edge("answer", END)
graph: Final = _graph.compile()
