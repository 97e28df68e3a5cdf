"""The nodes that read for the member, wait for their sign-in, and act on their word."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Send

from turnwire.agents.guarded.guards import context_of
from turnwire.agents.guarded.screening import noted
from turnwire.agents.member.before import Node, locale_of
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.results import written
from turnwire.agents.member.state import MemberState, call_of, proposal_of, to_plain
from turnwire.events import ToolCompleted, ToolStarted
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker
from turnwire.graph.pause import ask
from turnwire.graph.plain import preview_arguments
from turnwire.nodes.guardrails.evidence import Screen
from turnwire.nodes.tools.confirming import ask_member
from turnwire.nodes.tools.texts import text
from turnwire.nodes.tools.tool import SIGN_IN_REQUIRED, Call, Outcome, Proposal, Tool


def principal_of(runtime: Runtime[TurnContext]) -> str:
    """Return who asks; nobody where the graph is used without turnwire."""
    context = context_of(runtime)
    return context.principal if context else ""


class Calls:
    """Makes calls for one member: reads at once, actions as proposals."""

    def __init__(
        self, parts: MemberParts, state: MemberState, runtime: Runtime[TurnContext]
    ) -> None:
        self._parts = parts
        self._locale = locale_of(parts, state)
        self._principal = principal_of(runtime)
        self._can_answer = _can_sign_in(runtime)

    async def lacks_sign_in(self, calls: Sequence[Call]) -> bool:
        """Whether one of the calls needs a sign-in that the member does not have."""
        tools = [self._parts.tool(each.name) for each in calls]
        needed = any(each is not None and _needs_sign_in(each) for each in tools)
        return needed and not await self._parts.is_signed_in(self._principal)

    async def make(self, call: Call) -> Outcome | Proposal:
        """Make a read, or return what the member is asked about an action."""
        tool = self._parts.tool(call.name)
        if tool is None or tool.risk == "read":
            return await self._parts.actions.read(
                call, principal=self._principal, locale=self._locale
            )
        # Who has no session is never asked for a word that they could not give.
        if not self._can_answer or await self.lacks_sign_in([call]):
            return self.refused(call, SIGN_IN_REQUIRED, text(SIGN_IN_REQUIRED, self._locale))
        return self._parts.actions.propose(call, principal=self._principal, locale=self._locale)

    def refused(self, call: Call, code: str, public: str) -> Outcome:
        """Say that a call is not made at all, and return that."""
        said, shown = speaker(), self._parts.policy.pii.log_text
        arguments = preview_arguments(dict(call.arguments), text=shown)
        named: dict[str, Any] = {"tool_call_id": call.tool_call_id, "name": call.name}
        said.emit(ToolStarted(**named, arguments=arguments))
        said.emit(ToolCompleted(**named, status="error", error=public, code=code))
        return Outcome(call=call, status="error", error=public, code=code)


def _needs_sign_in(tool: Tool) -> bool:
    return tool.needs_sign_in or bool(tool.scopes)


def plan_reads(parts: MemberParts) -> Node:
    """Return the node that makes the planned calls, or finds that a sign-in is needed first."""
    look = screened(parts)

    async def plan_reads(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        calls = [call_of(each) for each in state.get("plan", [])]
        maker = Calls(parts, state, runtime)
        planned = state.get("route") in ("member", "mixed")
        if planned and await maker.lacks_sign_in(calls):
            if state.get("channel") == "text":
                said = parts.texts.say("sign_in_in_app", locale_of(parts, state))
                return {"plan": [], "asking": said, "finish_reason": SIGN_IN_REQUIRED}
            if _can_sign_in(runtime) and not state.get("resumed"):
                return {"waiting": True}
        made = [await maker.make(each) for each in calls]
        return {"plan": [], **kept(made), **await look(state, made)}

    return plan_reads


def _can_sign_in(runtime: Runtime[TurnContext]) -> bool:
    context = context_of(runtime)
    return context is not None and context.can_sign_in


def kept(made: Sequence[Outcome | Proposal]) -> MemberState:
    """Return what calls came to for the state."""
    return {
        "outcomes": [to_plain(each) for each in made if isinstance(each, Outcome)],
        "proposals": [to_plain(each) for each in made if isinstance(each, Proposal)],
    }


def screened(
    parts: MemberParts,
) -> Callable[[MemberState, Sequence[Outcome | Proposal]], Awaitable[MemberState]]:
    """Return what looks for instructions in the results of tools; they are noted."""
    screen = Screen(parts.policy)

    async def look(state: MemberState, made: Sequence[Outcome | Proposal]) -> MemberState:
        shown = [written(each.result) for each in made if isinstance(each, Outcome)]
        found = await asyncio.to_thread(screen.look, shown)
        if found is None:
            return {}
        return {"guardrail_decisions": noted(state, (found.decision,))}

    return look


def sign_in(parts: MemberParts) -> Node:
    """Return the node that waits for the member's sign-in, and then goes on afresh."""

    async def sign_in(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        tools = [str(each["name"]) for each in state.get("plan", [])]
        message = parts.texts.say("sign_in", locale_of(parts, state))
        # LangGraph runs the node again from its start: nothing is said or done before this.
        ask("sign_in", {"tool": tools[0] if tools else "", "message": message})
        return {"waiting": False, "resumed": True, "found": []}

    return sign_in


def waiting_actions(state: MemberState) -> list[Send]:
    """Return a task for each action that waits for the member's word."""
    about = {"locale": state.get("locale", "")}
    ended = {each["call"]["tool_call_id"] for each in state.get("outcomes", [])}
    return [
        Send("confirm", {**about, "proposals": [each]})
        for each in state.get("proposals", [])
        if each["call"]["tool_call_id"] not in ended
    ]


def confirm(parts: MemberParts) -> Node:
    """Return the node that asks about one action and does what the member decides."""

    async def confirm(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        proposal = proposal_of(state.get("proposals", [])[0])
        # LangGraph runs the node again from its start: nothing is said or done before this.
        answer = ask_member(proposal)
        outcome = await parts.actions.decided(
            proposal,
            answer,
            principal=principal_of(runtime),
            locale=locale_of(parts, state),
        )
        return {"outcomes": [to_plain(outcome)]}

    return confirm
