"""The nodes around the answer: intake, what is checked before and after, and the closing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.privacy import Privacy
from turnwire.agents.guarded.screening import noted, scope_of
from turnwire.agents.guarded.state import GuardedState, split_new
from turnwire.events import Cost, GuardrailDecision, Usage
from turnwire.graph.context import TurnContext
from turnwire.graph.followups import FURTHEST, leaned_on
from turnwire.ids import new_trace_id
from turnwire.nodes.evidence.citations import find_citations
from turnwire.nodes.evidence.source import from_state
from turnwire.nodes.guardrails.post import check_answer
from turnwire.nodes.guardrails.pre import Earlier, Verdict, doubt_answers, examine
from turnwire.nodes.guardrails.review import assess_review_need

Node: TypeAlias = Callable[[GuardedState, Runtime[TurnContext]], Awaitable[GuardedState]]

ANSWERED: Final = frozenset({"stop", "length", "insufficient_evidence"})
"""The endings of a turn whose text a model or a reviewer wrote from the evidence."""


def context_of(runtime: Runtime[TurnContext]) -> TurnContext | None:
    """Return the turn's context, or none where the graph is used without turnwire."""
    return cast("TurnContext | None", runtime.context)


def intake(parts: GuardedParts) -> Node:
    """Return a node that counts the turn and forgets what the one before left behind."""

    async def intake(state: GuardedState, runtime: Runtime[TurnContext]) -> GuardedState:
        context = context_of(runtime)
        wanted = context.locale if context else parts.policy.default_locale
        return {
            "turn": state.get("turn", 0) + 1,
            "locale": parts.policy.locale(wanted),
            "trace_id": (context.trace_id if context else "") or new_trace_id(),
            "verdict": {},
            "route": "",
            "question": "",
            "query": "",
            "evidence": [],
            "draft": "",
            "held": False,
            "citations": [],
            "guardrail_decisions": [],
            "finish_reason": "",
            "usage": Usage().model_dump(),
            "cost": Cost(model="none").model_dump(),
        }

    return intake


def _sent_along(earlier: Sequence[BaseMessage], context: TurnContext | None) -> list[BaseMessage]:
    """Return the messages of a history that the client sent with this turn.

    They are as new to us as the question, so they are examined like it.
    """
    mine = f"{context.turn_id}:" if context else None
    return [each for each in earlier if mine and (each.id or "").startswith(mine)]


def _nothing(_: GuardedState) -> bool:
    return False


def guardrail_pre(
    parts: GuardedParts, *, expected: Callable[[GuardedState], bool] = _nothing
) -> Node:
    """Return a node that examines every new message and carries the verdict on the state.

    ``expected`` says whether the message answers a question of ours, so that it need not be like
    an example of what is in scope; rules hold for it all the same.
    """
    scope = scope_of(parts)

    async def guardrail_pre(state: GuardedState, runtime: Runtime[TurnContext]) -> GuardedState:
        earlier, new = split_new(state.get("messages", []))
        along = _sent_along(earlier, context_of(runtime))
        sent = [each for each in along if isinstance(each, HumanMessage)]
        # In a thread: a long hostile text takes a while, and others are waiting.
        verdict = await asyncio.to_thread(_examined, parts, state, earlier, along, new)
        verdict = await asyncio.to_thread(
            doubt_answers,
            verdict,
            [str(each.text) for each in along if isinstance(each, AIMessage)],
            policy=parts.policy,
            locale=_locale(parts, state),
        )
        doubtful = verdict.outcome == "proceed" and not verdict.is_known
        if doubtful and await asyncio.to_thread(expected, state):
            verdict = replace(verdict, is_known=True)
        question = "\n\n".join(verdict.messages[len(sent) :])
        query = question
        if scope.concerns(verdict) or _searches(parts, verdict):
            before = await asyncio.to_thread(_leaned_on, parts, state, earlier, question)
            query = "\n\n".join([*before, question])
        verdict = await scope.hold(verdict, query, locale=_locale(parts, state))
        searches = _searches(parts, verdict)
        return {
            "verdict": _plain(verdict),
            "question": question,
            "query": query,
            "route": "retrieve_context" if searches else "generate_response",
            "guardrail_decisions": noted(state, verdict.decisions),
        }

    return guardrail_pre


def _searches(parts: GuardedParts, verdict: Verdict) -> bool:
    proceeds = verdict.outcome == "proceed" and verdict.fixed_text is None
    return proceeds and parts.retriever is not None


def _locale(parts: GuardedParts, state: GuardedState) -> str:
    return state.get("locale", parts.policy.default_locale)


def _examined(
    parts: GuardedParts,
    state: GuardedState,
    earlier: Sequence[BaseMessage],
    along: Sequence[BaseMessage],
    new: Sequence[BaseMessage],
) -> Verdict:
    sent = [each for each in along if isinstance(each, HumanMessage)]
    answered = [each for each in earlier if isinstance(each, HumanMessage) and each not in sent]
    privacy = Privacy(parts.policy, state.get("locale", parts.policy.default_locale))
    privacy.recall(earlier, limit=parts.history)
    return examine(
        [str(each.text) for each in (*sent, *new)],
        policy=parts.policy,
        locale=_locale(parts, state),
        mapping=privacy.mapping,
        earlier=Earlier(
            answered=[str(each.text) for each in answered[-FURTHEST:]], along=len(sent)
        ),
    )


def _leaned_on(
    parts: GuardedParts, state: GuardedState, earlier: Sequence[BaseMessage], question: str
) -> list[str]:
    """Return the earlier questions that a follow-up needs, without private details.

    None that was refused or escalated in its time, for such a one is never embedded.
    """
    asked = [str(each.text) for each in earlier if isinstance(each, HumanMessage)]
    verdicts = [
        examine([each], policy=parts.policy, locale=_locale(parts, state))
        for each in leaned_on(asked, question)
    ]
    return [text for each in verdicts if each.outcome == "proceed" for text in each.messages]


def route(state: GuardedState) -> Literal["retrieve_context", "generate_response"]:
    """Return the node after ``guardrail_pre``: rejected input is never embedded."""
    found = state.get("route") == "retrieve_context"
    return "retrieve_context" if found else "generate_response"


def needs_review(parts: GuardedParts) -> Callable[[GuardedState], Sequence[str]]:
    """Return a function from the state to the reasons why a person has to see the draft."""

    def needs_review(state: GuardedState) -> Sequence[str]:
        verdict = state.get("verdict", {})
        if verdict.get("outcome") != "proceed" or verdict.get("fixed_text"):
            return ()
        reasons = cast("Sequence[str]", verdict.get("review_reasons", ()))
        return assess_review_need(reasons, state.get("draft", ""), parts.policy)

    return needs_review


def guardrail_post(parts: GuardedParts) -> Node:
    """Return a node that notes what is odd about the answer; it changes nothing.

    A fixed text is not the answer of anybody, and nothing is noted about it.
    """

    async def guardrail_post(state: GuardedState, runtime: Runtime[TurnContext]) -> GuardedState:
        answered = state.get("finish_reason") in ANSWERED
        if not answered or state.get("verdict", {}).get("fixed_text"):
            return {}
        decisions = await asyncio.to_thread(_checked, parts, state)
        return {"guardrail_decisions": noted(state, decisions)}

    return guardrail_post


def _checked(parts: GuardedParts, state: GuardedState) -> Sequence[GuardrailDecision]:
    draft = state.get("draft", "")
    evidence = from_state(state.get("evidence", []))
    check = find_citations(draft, evidence)
    return check_answer(
        draft,
        cited=len(state.get("citations", [])),
        evidence=len(evidence),
        invented=check.invented,
        unsupported=check.reason,
        policy=parts.policy,
        locale=_locale(parts, state),
    )


def closing(_parts: GuardedParts) -> Node:
    """Return a node that adds the answer to the conversation."""

    async def closing(state: GuardedState, runtime: Runtime[TurnContext]) -> GuardedState:
        context = context_of(runtime)
        turn = context.turn_id if context else state.get("trace_id", "")
        answer = AIMessage(content=state.get("draft", ""), id=f"{turn}:answer")
        return {"messages": [answer]}

    return closing


def _plain(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "fixed_text": verdict.fixed_text,
        "review_reasons": list(verdict.review_reasons),
    }
