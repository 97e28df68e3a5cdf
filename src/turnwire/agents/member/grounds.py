"""What an answer stands on: passages, and what tools returned."""

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from turnwire.agents.guarded.guards import ANSWERED
from turnwire.agents.guarded.screening import noted
from turnwire.agents.member.before import Node, locale_of
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.phrasings import Phrasings
from turnwire.agents.member.results import written
from turnwire.agents.member.sentences import sentences
from turnwire.agents.member.state import MemberState, outcomes_of
from turnwire.events import GuardrailDecision, Passage
from turnwire.graph.context import TurnContext
from turnwire.nodes.evidence.citations import CitationCheck, find_citations
from turnwire.nodes.evidence.source import Source, from_state
from turnwire.nodes.guardrails.post import check_answer
from turnwire.nodes.tools.tool import Outcome


def citations_of(
    draft: str, state: MemberState, phrasings: Phrasings, *, locale: str
) -> CitationCheck:
    """Return what an answer's markers are worth; what tools returned bears out each sentence."""
    evidence = from_state(state.get("evidence", []))
    return find_citations(draft, evidence, beside=_results(state, phrasings, locale))


def guardrail_post(parts: MemberParts) -> Node:
    """Return the node that notes what is odd about the answer; it changes nothing."""

    async def guardrail_post(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        answered = state.get("finish_reason") in ANSWERED
        if not answered or state.get("verdict", {}).get("fixed_text"):
            return {}
        decisions = await asyncio.to_thread(_checked, parts, state)
        return {"guardrail_decisions": noted(state, decisions)}

    return guardrail_post


def _checked(parts: MemberParts, state: MemberState) -> Sequence[GuardrailDecision]:
    draft, locale = state.get("draft", ""), locale_of(parts, state)
    check = citations_of(draft, state, parts.phrasings, locale=locale)
    return check_answer(
        draft,
        cited=len(state.get("citations", [])),
        evidence=0 if state.get("outcomes") else len(state.get("evidence", [])),
        invented=check.invented,
        unsupported=check.reason,
        policy=parts.policy,
        locale=locale,
    )


def _results(state: MemberState, phrasings: Phrasings, locale: str) -> list[Source]:
    read = [each for each in outcomes_of(state) if each.status == "ok"]
    return [
        _source(at, each, phrasings.listed_by(each.call.name), locale)
        for at, each in enumerate(read)
    ]


def _source(index: int, outcome: Outcome, of_one: str, locale: str) -> Source:
    """Return a result with all that may be said of it; ``of_one`` tells of one of its items."""
    tool, result = outcome.call.name, outcome.result
    texts = [written(result)]
    for name in dict.fromkeys((tool, of_one)):
        texts += sentences(name, result, locale=locale)
    passage = Passage(
        index=index,
        id=f"result:{index}",
        title=tool,
        document_id="",
        document_name="",
        score=1.0,
        snippet="",
        source="portal",
    )
    return Source(passage=passage, text="\n".join(texts))
