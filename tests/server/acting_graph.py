"""A graph that puts actions to the member: `<address> | <reason> | <reason> …`, one for each.

Of an action that is approved, the reason ``stall`` waits for ever before it is begun, and ``break``
fails. The tool stands behind the address, or for one action behind its reason: `<reason> @ <tool>`.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from operator import add
from typing import Annotated, Any, Final

import httpx
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import JsonValue

from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker
from turnwire.nodes.tools.confirming import ask_member
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Call, Caller, Outcome, Proposal, Tool, ToolFailed

SHORT: Final = 0.4
"""Seconds for which the tool ``soon_call`` can be confirmed."""


stalled: Final = threading.Event()
"""Whether an approved action waits to be begun, in this process."""


async def _book(arguments: Mapping[str, JsonValue], caller: Caller) -> JsonValue:
    headers = {"Idempotency-Key": caller.idempotency_key or ""}
    async with httpx.AsyncClient(timeout=10) as http:
        url = f"{arguments['upstream']}/calls"
        try:
            answer = await http.post(url, json={"reason": arguments["reason"]}, headers=headers)
        except httpx.ConnectError:
            raise ToolFailed("The line is down.", code="down") from None
    if answer.status_code >= 500:
        raise ToolFailed("The call centre did not answer well.", code="upstream", happened=None)
    return answer.json()


def _tool(name: str, **about: Any) -> Tool:  # noqa: ANN401
    return Tool(
        name=name,
        description="Book a call.",
        parameters={
            "type": "object",
            "additionalProperties": False,
            "required": ["reason", "upstream"],
            "properties": {"reason": {"type": "string"}, "upstream": {"type": "string"}},
        },
        run=_book,
        risk="send",
        timeout=1.0,
        summary={"en": "Book a call about: {reason}", "es": "Reservar una llamada: {reason}"},
        receipt="callback_id",
        **about,
    )


TOOLS: Final = Executor(
    Registry(
        [
            _tool("book_call"),
            _tool("safe_call", idempotent=True),
            _tool("soon_call", expires_in=SHORT),
        ],
        locales=("en", "es"),
    )
)


class Asked(MessagesState, total=False):
    proposed: list[dict[str, Any]]
    done: Annotated[list[str], add]


class One(MessagesState):
    proposal: dict[str, Any]


async def _plan(state: Asked, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    address, *reasons = [each.strip() for each in str(state["messages"][-1].text).split("|")]
    upstream, _, name = address.partition(" ")
    proposed: list[dict[str, Any]] = []
    for number, each in enumerate(reasons, 1):
        reason, _, own = each.partition(" @ ")
        call = Call(
            tool_call_id=f"call_{number}",
            name=own or name or "book_call",
            arguments={"upstream": upstream, "reason": reason},
        )
        proposal = TOOLS.propose(call, principal=runtime.context.principal, locale="en")
        assert isinstance(proposal, Proposal)
        proposed.append(asdict(proposal))
    return {"proposed": proposed}


def _each(state: Asked) -> list[Send]:
    return [Send("confirm", {"proposal": each}) for each in state.get("proposed", [])]


async def _confirm(state: One, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    given = state["proposal"]
    proposal = replace(Proposal(**given), call=Call(**given["call"]))
    answer = ask_member(proposal)
    if proposal.call.arguments["reason"] == "stall":
        stalled.set()
        await asyncio.Event().wait()
    if proposal.call.arguments["reason"] == "break":
        raise RuntimeError("before anything was begun")
    context = runtime.context
    outcome = await TOOLS.decided(
        proposal, answer, principal=context.principal, locale=context.locale
    )
    return {"done": [_line(outcome)]}


def _line(outcome: Outcome) -> str:
    said = outcome.result if outcome.code == "rejected" else outcome.error
    return f"{outcome.call.arguments['reason']}: {outcome.code or 'ok'} {said or ''}".strip()


async def _answer(state: Asked) -> dict[str, Any]:
    text = "; ".join(sorted(state.get("done", [])))
    speaker().say(text)
    return {"messages": [AIMessage(text)]}


def acting() -> StateGraph[Asked, TurnContext, Asked, Asked]:
    """Asks, and acts on each answer."""
    graph: StateGraph[Asked, TurnContext, Asked, Asked] = StateGraph(
        Asked, context_schema=TurnContext
    )
    graph.add_node("plan", _plan)
    graph.add_node("confirm", _confirm)
    graph.add_node("answer", _answer)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", _each, ["confirm"])
    graph.add_edge("confirm", "answer")
    graph.add_edge("answer", END)
    return graph
