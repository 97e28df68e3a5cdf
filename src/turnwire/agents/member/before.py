"""The nodes before anything is looked up: intake, guardrails, and what the message is for."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from langgraph.runtime import Runtime

from turnwire.agents.guarded.guards import context_of, guardrail_pre, intake
from turnwire.agents.guarded.state import split_new
from turnwire.agents.member.corrections import corrected
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.private import Private
from turnwire.agents.member.routing import Wish, asks
from turnwire.agents.member.slots import details, told
from turnwire.agents.member.state import FORGOTTEN, MemberState, Plain, to_plain
from turnwire.graph.context import TurnContext
from turnwire.ids import new_id
from turnwire.nodes.guardrails.redactor import mask
from turnwire.nodes.tools.tool import Call, Tool

Node: TypeAlias = Callable[[MemberState, Runtime[TurnContext]], Awaitable[MemberState]]

CONFIRMATION: Final = "confirmation"
"""What the member was asked for where an action waited for their word, and they write instead."""
ADDRESS: Final[tuple[str, ...]] = ("line1", "city", "postcode", "country")
"""Details that are asked for together where none of them is known."""


def member_intake(parts: MemberParts) -> Node:
    """Return the node that forgets the turn before, but what it asked the member for."""
    begin = intake(parts)

    async def member_intake(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        context = context_of(runtime)
        begun = await begin(state, runtime)
        channel = context.channel if context else "app"
        opened = {"open": waited} if (waited := _waited(state)) else {}
        return cast("MemberState", {**begun, **FORGOTTEN, **opened, "channel": channel})

    return member_intake


def _waited(state: MemberState) -> Plain:
    """Return what waited for the member's word when they wrote something instead."""
    ended = {each["call"]["tool_call_id"] for each in state.get("outcomes", [])}
    calls = [each["call"] for each in state.get("proposals", [])]
    left = [each for each in calls if each["tool_call_id"] not in ended]
    if len(left) != 1:
        return {}
    return {"tool": left[0]["name"], "arguments": left[0]["arguments"], "asked": CONFIRMATION}


def member_guardrail(parts: MemberParts) -> Node:
    """Return the node that examines the message.

    What a rule knows as a wish, and what answers a question of ours, need not be like an example.
    """

    def expected(state: Any) -> bool:  # noqa: ANN401 - the guarded agent's state
        known = cast("MemberState", state)
        wish = parts.router.wish(own_words(parts, known))
        return bool(known.get("open") or wish.tools or wish.takes_back or wish.no_wish_for)

    examine = guardrail_pre(parts, expected=expected)

    async def member_guardrail(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        examined = await examine(state, runtime)
        verdict = examined.get("verdict", {})
        reason = str(verdict.get("reason") or "")
        if verdict.get("outcome") == "refuse" and parts.texts.has(reason):
            text = parts.texts.say(reason, locale_of(parts, state))
            verdict = {**verdict, "fixed_text": text}
        if verdict.get("outcome") == "proceed" and verdict.get("fixed_text"):
            verdict = {**verdict, "fixed_text": _small_talk(parts, state, verdict["fixed_text"])}
        changed = {**examined, "verdict": verdict, "route": _onwards(verdict)}
        return cast("MemberState", changed)

    return member_guardrail


def _small_talk(parts: MemberParts, state: MemberState, text: str) -> str | None:
    """Return what small talk is answered with; none where it answers a question of ours."""
    wish = parts.router.wish(own_words(parts, state))
    if state.get("open") and (wish.agrees or wish.declines):
        return None
    return parts.texts.say("thanks", locale_of(parts, state)) if wish.thanks else text


def _onwards(verdict: Mapping[str, Any]) -> str:
    if verdict.get("outcome") == "escalate" or verdict.get("review_reasons"):
        return "escalate"
    if verdict.get("outcome") == "refuse":
        return "out_of_scope"
    return "answer" if verdict.get("fixed_text") else "route"


def route(parts: MemberParts) -> Node:
    """Return the node that tells what the message is for; with a model for it, that one does."""

    async def route(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        if parts.executor is not None:
            return {"route": "gather"}
        return await asyncio.to_thread(_planned, parts, state)

    return route


def _planned(parts: MemberParts, state: MemberState) -> MemberState:
    private = Private(parts, state)
    wish = parts.router.wish(private.question)
    words = private.give(private.question)
    before = state.get("open") or {}
    drops = wish.takes_back and not wish.tools and not asks(words)
    taken_back = wish.takes_back or wish.declines or wish.no_wish_for == before.get("tool")
    if (before and taken_back) or drops:
        said = parts.texts.say("never_mind", locale_of(parts, state))
        return {"route": "action", "open": {}, "asking": said}
    if before and _answers(parts, before, wish, words):
        return _with_detail(parts, state, before, words)
    if before and (given := _corrected(parts, before, wish, words)):
        tool = parts.tool(str(before["tool"]))
        return _called(parts, state, [(tool, given)] if tool else [], [])
    if wish.no_wish_for and not wish.tools and not wish.knowledge:
        return {"route": "action", "open": {}, "asking": _no_wish(parts, state, wish)}
    if not wish.tools:
        wish = _followed(parts, state, wish, private.question)
    return _fresh(parts, state, wish, private)


def _no_wish(parts: MemberParts, state: MemberState, wish: Wish) -> str:
    """Return what is said to a message that speaks of an action without asking for it."""
    key = parts.texts.first(f"no_wish_{wish.no_wish_for}", "no_wish")
    return parts.texts.say(key, locale_of(parts, state))


def _answers(parts: MemberParts, before: Mapping[str, Any], wish: Wish, words: str) -> bool:
    """Whether the message answers our question, and is not another wish."""
    name = str(before["tool"])
    if before["asked"] == CONFIRMATION:
        return wish.agrees
    others = [parts.tool(each) for each, _ in wish.tools if each != name]
    if any(each is not None and each.risk != "read" for each in others):
        return False
    return not asks(words) or bool(details(name, words, asks=parts.requests(name)))


def _corrected(
    parts: MemberParts, before: Mapping[str, Any], wish: Wish, words: str
) -> dict[str, str]:
    """Return the details of what waits as the message corrects them, or nothing."""
    name = str(before["tool"])
    repeated = [each for each, _ in wish.tools]
    if before["asked"] != CONFIRMATION or ((repeated or asks(words)) and repeated != [name]):
        return {}
    given: dict[str, str] = dict(before["arguments"])
    return corrected(name, words, before=given, asks=parts.requests(name))


def _with_detail(
    parts: MemberParts, state: MemberState, before: Mapping[str, Any], words: str
) -> MemberState:
    """Return the plan with what the member adds to what they asked for before."""
    asked, name = str(before["asked"]), str(before["tool"])
    given: dict[str, str] = dict(before["arguments"])
    if asked != CONFIRMATION:
        given = told(name, asked, words, before=given, asks=parts.requests(name))
    tool = parts.tool(name)
    return _called(parts, state, [(tool, given)] if tool else [], [])


def _followed(parts: MemberParts, state: MemberState, wish: Wish, question: str) -> Wish:
    """Return the wish of a question such as "And for physio?", which is for the same reads."""
    earlier = state.get("query", "").removesuffix(question).strip()
    if not earlier or wish.is_general:
        return wish
    reads = [name for name, _ in parts.router.wish(earlier).tools if parts.is_read(name)]
    return Wish(tools=tuple((name, question) for name in reads)) if reads else wish


def _fresh(parts: MemberParts, state: MemberState, wish: Wish, private: Private) -> MemberState:
    wanted: list[tuple[Tool, dict[str, str]]] = []
    one_of = ""
    for name, part in wish.tools:
        tool, given = parts.tool(name), details(name, private.give(part), asks=parts.requests(name))
        listed = parts.tool(parts.phrasings.lists(name))
        if tool is not None and listed is not None and missing(tool, given):
            tool, given, one_of = listed, {}, listed.name
        if tool is not None and all(tool.name != each.name for each, _ in wanted):
            wanted.append((tool, given))
    whole = len(wish.knowledge) == 1 and not wanted
    asked = [state.get("query", "")] if whole or not wish.tools else list(wish.knowledge)
    planned = _called(parts, state, wanted, asked)
    if wish.no_wish_for and not planned.get("asking"):
        planned["asking"] = _no_wish(parts, state, wish)
    return {**planned, "one_of": one_of}


def _called(
    parts: MemberParts,
    state: MemberState,
    wanted: list[tuple[Tool, dict[str, str]]],
    queries: list[str],
) -> MemberState:
    """Return the plan: calls that are complete, and what is asked for one that is not."""
    plan: list[Plain] = []
    changed: MemberState = {"open": {}}
    for tool, given in wanted:
        lacks = missing(tool, given)
        if not lacks:
            call = Call(tool_call_id=new_id("call"), name=tool.name, arguments=dict(given))
            plan.append(to_plain(call))
        elif not changed.get("asking"):
            changed |= asking_for(parts, state, tool, given, lacks)
    changed |= {"plan": plan, "queries": queries, "route": _kind(parts, plan, queries, changed)}
    return changed


def asking_for(
    parts: MemberParts,
    state: MemberState,
    tool: Tool,
    given: Mapping[str, Any],
    lacks: tuple[str, ...],
) -> MemberState:
    """Return the question for a missing detail, and what it is for."""
    asked = "address" if set(lacks) >= set(ADDRESS) else lacks[0]
    key = parts.texts.first(f"ask_{asked}", "ask_details")
    return {
        "asking": parts.texts.say(key, locale_of(parts, state)),
        "open": {"tool": tool.name, "arguments": dict(given), "asked": asked},
    }


def missing(tool: Tool, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the details that a tool needs and that are not given, in its own order."""
    required = tool.parameters.get("required")
    names = [str(each) for each in required] if isinstance(required, list) else []
    return tuple(each for each in names if not given.get(each))


def _kind(parts: MemberParts, plan: list[Plain], queries: list[str], asked: MemberState) -> str:
    tools = [parts.tool(each["name"]) for each in plan]
    if asked.get("asking") or any(each is not None and each.risk != "read" for each in tools):
        return "action"
    if not plan:
        return "knowledge"
    return "mixed" if queries else "member"


def own_words(parts: MemberParts, state: MemberState) -> str:
    """Return the member's new messages as tools may get them: in their own words."""
    _, new = split_new(state.get("messages", []))
    masking = parts.policy.pii.masking("tools")
    return "\n\n".join(mask(str(each.text), masking).text for each in new)


def locale_of(parts: MemberParts, state: MemberState) -> str:
    """Return the language of the texts that the member gets."""
    return state.get("locale", parts.policy.default_locale)
