"""A graph for members: the question names a script, and nothing happens without a delay.

A script has what is said at first, what is asked of a person, and what is said afterwards. No
node says anything before it asks, for LangGraph runs it again from its start.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from tests.scenarios.members import AGAIN, CALL, CALLED, CONFIRM, SIGN_IN
from tests.scenarios.turns import FOUND, cited
from turnwire.events import (
    ActionCompleted,
    Event,
    Pause,
    ReasoningDelta,
    RetrievalCompleted,
    Search,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
)
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker
from turnwire.graph.pause import ask
from turnwire.ids import PauseId

Said = Sequence[Event | str | float]
"""Words, events, and pauses in seconds."""

MOST_DELAY: Final = 0.02
ledger: list[str] = []
"""What was really done, in this process."""


@dataclass(frozen=True)
class Script:
    first: Said = ()
    asks: Pause | None = None
    then: Said = ()
    rejected: Said = ()
    expires_in: float | None = 60.0
    finish_reason: str = ""


def _ended(status: str, error: str | None = None) -> Event:
    decision = "reject" if status == "rejected" else "approve"
    made = {"confirmation_id": "cnf_?", "decision": decision, "status": status, "error": error}
    return ActionCompleted.model_validate(made)


_BUSY: Final = CALLED.model_copy(
    update={"status": "error", "result": None, "error": "The line is busy."}
)
_ASKED: Final = ToolCompleted(
    tool_call_id="call_1",
    name="get_plan_details",
    status="error",
    error="Not signed in.",
    code="sign_in_required",
)
_THINKS: Final = [0.05, ReasoningDelta(node="answer", text="hm")]

SCRIPTS: Final[Mapping[str, Script]] = {
    "plain": Script(first=["Rest ", "for ", "two days."]),
    "search": Script(first=[FOUND, "Rest. [1]", cited(1)]),
    "searches": Script(
        first=[
            FOUND,
            ToolStarted(tool_call_id="call_1", name="search"),
            AGAIN,
            ToolCompleted(tool_call_id="call_1", name="search", status="ok"),
            "Two days [1], ",
            cited(1),
            "then easy [2].",
            cited(2),
            cited(9),
        ]
    ),
    "search-failed": Script(
        first=[
            RetrievalCompleted(
                query="x", duration_ms=1, searches=(Search(query="x", status="error"),)
            ),
            "I found nothing.",
        ],
        finish_reason="no_match",
    ),
    "tools": Script(first=[CALL, CALLED, "They will call."]),
    "tool-refused": Script(first=[CALL, _BUSY, "That did not work."]),
    "confirm": Script(
        asks=CONFIRM,
        then=[CALL, CALLED, _ended("ok"), "They will ", "call you."],
        rejected=[_ended("rejected"), "Nobody will call you."],
    ),
    "confirm-fails": Script(
        asks=CONFIRM, then=[CALL, _BUSY, _ended("error", "The line is busy."), "It did not work."]
    ),
    "confirm-slow": Script(asks=CONFIRM, then=[CALL, 0.6, CALLED, _ended("ok"), "Done."]),
    "confirm-soon": Script(asks=CONFIRM, then=["Done."], expires_in=0.05),
    "sign-in": Script(
        first=[FOUND, "In general, two days. "],
        asks=SIGN_IN,
        then=[AGAIN, "You have ten days. [2]", cited(2)],
    ),
    "sign-in-tool": Script(
        first=[
            ToolStarted(tool_call_id="call_1", name="get_plan_details"),
            _ASKED,
            "Please sign in.",
        ],
        finish_reason="sign_in_required",
    ),
    "review": Script(
        first=[FOUND],
        asks=Pause(pause_id=PauseId(""), kind="review", payload={"draft": "x"}, requested_ms=0),
        then=["The draft. [1]", cited(1)],
    ),
    "input": Script(
        asks=Pause(pause_id=PauseId(""), kind="input", payload="How much?", requested_ms=0),
        then=["Thank you."],
    ),
    "approval": Script(
        asks=Pause(pause_id=PauseId(""), kind="approval", payload="Really?", requested_ms=0),
        then=["Thank you."],
    ),
    "replaced": Script(first=["Take ", "ten pills.", TextReplaced(text="No.", reason="persona")]),
    "lengthened": Script(first=["Take ", TextReplaced(text="Take it ", reason="x"), "easy."]),
    "raise": Script(first=["one ", "two ", "raise"]),
    "slow": Script(first=[CALL, CALLED, *(each for n in range(200) for each in (f"w{n} ", 0.05))]),
    "slow-tool": Script(first=[CALL, 30.0, CALLED, "never"]),
    "thinks": Script(first=[*_THINKS * 30, "At last."]),
}


class Scripted(MessagesState, total=False):
    text: str
    given: Any
    finish_reason: str


def _script(state: Scripted) -> Script:
    question = next(each for each in reversed(state["messages"]) if each.type == "human")
    return SCRIPTS[str(question.text).split()[0]]


async def _play(said: Said, text: str, confirmation_id: str = "") -> str:
    voice = speaker()
    for each in said:
        await asyncio.sleep(random.uniform(0, MOST_DELAY))
        match each:
            case float() | int():
                await asyncio.sleep(each)
            case "raise":
                raise RuntimeError("CANARY-7f3a")
            case str():
                voice.say(each)
                text += each
            case TextReplaced():
                voice.emit(each)
                text = each.text
            case ActionCompleted():
                voice.emit(each.model_copy(update={"confirmation_id": confirmation_id}))
            case _:
                voice.emit(each)
                if each is CALLED:
                    ledger.append("done call_2")
    return text


async def _first(state: Scripted) -> dict[str, Any]:
    script = _script(state)
    text = await _play(script.first, "")
    return {"text": text, "given": None, "finish_reason": script.finish_reason}


async def _gate(state: Scripted) -> dict[str, Any]:
    script = _script(state)
    if script.asks is None:
        return {}
    payload = script.asks.payload
    asked: dict[str, Any] = payload if isinstance(payload, dict) else {"question": payload}
    given = ask(script.asks.kind, asked, expires_in=script.expires_in)
    return {"given": given}


async def _answer(state: Scripted, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    script, given = _script(state), state.get("given")
    said: Said = script.then
    if "reject" in str(given) and script.rejected:
        said = script.rejected
    text = await _play(said, state.get("text", ""), "cnf_asked")
    context = runtime.context
    ledger.append(f"{context.timezone} {context.rerank} {context.locale} {given}")
    return {"messages": [AIMessage(text)], "text": text}


def member() -> StateGraph[Scripted, TurnContext, Scripted, Scripted]:
    """Plays the script that the question names."""
    graph: StateGraph[Scripted, TurnContext, Scripted, Scripted] = StateGraph(
        Scripted, context_schema=TurnContext
    )
    graph.add_node("first", _first)
    graph.add_node("gate", _gate)
    graph.add_node("answer", _answer)
    graph.add_edge(START, "first")
    graph.add_edge("first", "gate")
    graph.add_edge("gate", "answer")
    graph.add_edge("answer", END)
    return graph


@dataclass
class SignIns:
    """Whoever is told to be signed in is."""

    members: set[str] = field(default_factory=set[str])
    everybody: bool = False
    asked: list[str] = field(default_factory=list[str])

    async def is_signed_in(self, principal: Any, /) -> bool:  # noqa: ANN401
        self.asked.append(principal.id)
        return self.everybody or principal.id in self.members
