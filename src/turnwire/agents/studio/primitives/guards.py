"""The guardrails and the review as primitives."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from turnwire.agents.guarded import guards
from turnwire.agents.guarded.guards import context_of, needs_review
from turnwire.agents.guarded.privacy import Privacy
from turnwire.agents.guarded.state import split_new
from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.primitives.common import Work, user_of
from turnwire.agents.studio.primitives.interview import forget_interview
from turnwire.agents.studio.primitives.memory import remember
from turnwire.agents.studio.primitives.talking import say_more
from turnwire.agents.studio.spec import GuardrailInput, GuardrailOutput, Review
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.nodes.review.review import review_response

_CLEARED: Final = ("context", "scratchpad", "reasoning_steps", "tool_results", "extra")
_ROUTES: Final = {"proceed": "proceed", "escalate": "escalate"}


def guardrail_input(_node: GuardrailInput, building: Building) -> Work:
    """Return the node that examines the new messages and routes by the verdict."""
    examine = guards.guardrail_pre(building.guarded)

    async def guardrail_input(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        update = cast("AgentState", await examine(state, runtime))
        verdict = update.get("verdict", {})
        outcome = _ROUTES.get(str(verdict.get("outcome")), "refuse")
        fixed = outcome == "proceed" and verdict.get("fixed_text")  # small talk, nothing to look up
        return {**update, "route": "refuse" if fixed else outcome}

    return guardrail_input


def guardrail_output(_node: GuardrailOutput, building: Building) -> Work:
    """Return the node that notes what is odd about the answer."""
    return cast("Work", guards.guardrail_post(building.guarded))


def review(node: Review, building: Building) -> Work:
    """Return the node that shows the draft to a reviewer where the policy asks for that."""
    assess = needs_review(building.guarded)
    ask = review_response(
        assess=cast("Any", assess),
        rejected=lambda locale: building.policy.text("review_rejected", locale),
        expires_in=node.expires_seconds,
    )

    async def review(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        return cast("AgentState", await ask(cast("Any", state)))

    return review


def intake(building: Building) -> Work:
    """Return the node that begins each turn: what the one before left behind is forgotten."""
    begin = guards.intake(building.guarded)
    screened = any(isinstance(each, GuardrailInput) for each in building.spec.nodes)

    async def intake(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        update = cast("AgentState", await begin(state, runtime))
        context = context_of(runtime)
        if not screened:  # else the guardrail says what is asked, and whether it is answered
            locale = update.get("locale", building.policy.default_locale)
            question = await asyncio.to_thread(_question, building, state, locale)
            update = {**update, "verdict": {"outcome": "proceed"}, "question": question}
        fresh: AgentState = {
            "error": None,
            "done": False,
            "remembered": "",
            "iteration": 0,
            "usd": 0.0,
            "since_ms": building.parts.now(),
            "username": user_of(runtime),
            "agent_slug": building.spec.slug,
            "session_id": context.conversation_id if context else "",
        }
        return cast("AgentState", {**update, **dict.fromkeys(_CLEARED), **fresh})

    return intake


def _question(building: Building, state: AgentState, locale: str) -> str:
    privacy = Privacy(building.policy, locale)
    earlier, new = split_new(state.get("messages", []))
    privacy.recall(earlier, limit=building.guarded.history)
    return "\n\n".join(privacy.redact(str(each.text)) for each in new)


def closing(building: Building) -> Work:
    """Return the node that ends each turn: what has to be said and was not, and the history."""
    close = guards.closing(building.guarded)

    async def closing(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        verdict = state.get("verdict", {})
        ending: AgentState = {}
        if not state.get("draft"):
            ending = _fixed(building, state, verdict)
        update = cast("AgentState", await close({**state, **ending}, runtime))
        remember(building, cast("AgentState", {**state, **ending, **update}))
        forget_interview(building, state)
        return {**ending, **update, "remembered": "", "done": True}

    return closing


def _fixed(building: Building, state: AgentState, verdict: dict[str, Any]) -> AgentState:
    """Say the policy's text where nobody has answered."""
    locale = state.get("locale", building.policy.default_locale)
    key, reason = {
        "proceed": ("no_match", "no_match"),
        "escalate": ("escalation", "escalated"),
    }.get(str(verdict.get("outcome")), ("refusal", "refused"))
    fixed = verdict.get("fixed_text")
    if fixed and reason == "no_match":
        reason = "stop"
    return {
        **say_more(state, str(fixed or building.policy.text(cast("Any", key), locale))),
        "finish_reason": reason,
    }


def raw_question(state: AgentState) -> str:
    """Return the user's new messages as they were written; no model outside reads them."""
    _, new = split_new(state.get("messages", []))
    users: Sequence[HumanMessage] = new
    return "\n\n".join(str(each.text) for each in users)
