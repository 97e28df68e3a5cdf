"""A node that shows a draft to a person and does what the person says."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from typing_extensions import TypedDict

from turnwire.events import (
    Citation,
    CitationAdded,
    GuardrailDecided,
    GuardrailDecision,
    TextReplaced,
)
from turnwire.graph.emit import Speaker, speaker
from turnwire.graph.pause import ask
from turnwire.nodes.evidence.citations import find_citations
from turnwire.nodes.evidence.source import from_state
from turnwire.nodes.review.decision import DECISION_SCHEMA, Decision, read_decision


class Drafted(TypedDict, total=False):
    """The part of a graph's state that the node reads and writes."""

    locale: str
    question: str
    draft: str
    held: bool
    said: int
    verdict: dict[str, Any]
    evidence: list[dict[str, Any]]
    citations: list[dict[str, Any]]
    guardrail_decisions: list[dict[str, Any]]
    finish_reason: str


def review_response(
    *,
    assess: Callable[[Drafted], Sequence[str]],
    rejected: Callable[[str], str],
    expires_in: float | None = None,
) -> Callable[[Drafted], Awaitable[Drafted]]:
    """Return a node that asks a person about the drafts that need it.

    Args:
        assess: returns why a person has to see the draft, or nothing. It is called in a thread,
            and again when the node goes on, so it only looks at what it is given.
        rejected: returns, for a locale, what the member reads instead of a rejected draft.
        expires_in: seconds until nobody waits for the person any more.
    """

    async def review_response(state: Drafted) -> Drafted:
        reasons = list(await asyncio.to_thread(assess, state))
        if not reasons:
            return {}
        # LangGraph runs the node again from its start: nothing is said or done before this.
        answer = ask(
            "review",
            _question(state, reasons),
            response_schema=DECISION_SCHEMA,
            expires_in=expires_in,
        )
        return _settle(state, read_decision(answer), rejected)

    return review_response


def _question(state: Drafted, reasons: Sequence[str]) -> Mapping[str, JsonValue]:
    return {
        "reasons": list(reasons),
        "question": state.get("question", ""),
        "draft": state.get("draft", ""),
        "citations": [dict(each) for each in state.get("citations", [])],
    }


def _settle(state: Drafted, decision: Decision, rejected: Callable[[str], str]) -> Drafted:
    said = speaker()
    noted = GuardrailDecision(
        stage="review",
        check="hitl_review",
        outcome=decision.outcome,
        reason=decision.reason,
    )
    said.emit(GuardrailDecided(decision=noted))
    decisions = [*state.get("guardrail_decisions", []), noted.model_dump(mode="json")]
    changed: Drafted = {"guardrail_decisions": decisions}
    match decision.outcome:
        case "approve":
            if state.get("held"):
                said.say(state.get("draft", "")[state.get("said", 0) :])
                for each in state.get("citations", []):
                    said.emit(CitationAdded(citation=Citation.model_validate(each)))
            return changed
        case "edit":
            return {**changed, **_edited(state, decision.text, said)}
        case "reject":
            text = rejected(state.get("locale", "en"))
            _say(state, text, "reviewer_reject", said)
            return {
                **changed,
                "draft": text,
                "citations": [],
                "finish_reason": "refused",
            }


def _say(state: Drafted, text: str, reason: str, said: Speaker) -> None:
    """Say the answer in place of the draft, or for the first time where nothing was said."""
    if state.get("held") and not state.get("said"):
        said.say(text)
    else:
        said.emit(TextReplaced(text=text, reason=reason))


def _edited(state: Drafted, text: str, said: Speaker) -> Drafted:
    _say(state, text, "reviewer_edit", said)
    check = find_citations(text, from_state(state.get("evidence", [])))
    for each in check.citations:
        said.emit(CitationAdded(citation=each))
    return {
        "draft": text,
        "citations": [each.model_dump(mode="json") for each in check.citations],
        "finish_reason": "stop" if check.is_backed else "insufficient_evidence",
    }
