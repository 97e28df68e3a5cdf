"""The node that searches: once for all that is asked, so that the evidence is told once."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from langgraph.runtime import Runtime

from turnwire.agents.guarded.screening import noted
from turnwire.agents.member.before import Node
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.state import MemberState, Plain
from turnwire.events import RetrievalCompleted, Search
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import emit
from turnwire.nodes.evidence.retrieve import Retriever, look_up
from turnwire.nodes.evidence.source import Source, from_state, to_state
from turnwire.nodes.guardrails.evidence import Screen

MOST: Final = 10
"""Passages that one answer stands on."""
QUERIES: Final = 4
"""Searches of one turn."""
_LONGEST: Final = 2_000


async def found_by(
    retriever: Retriever, query: str, locale: str, *, tool_call_id: str | None = None
) -> Plain:
    """Search, and return what was found as plain values."""
    evidence, search = await look_up(retriever, {"query": query[:_LONGEST], "locale": locale})
    account = search.model_copy(update={"tool_call_id": tool_call_id})
    return {
        "tool_call_id": tool_call_id,
        "evidence": to_state(evidence),
        "search": account.model_dump(mode="json"),
    }


def search(parts: MemberParts) -> Node:
    """Return the node that fixes the evidence: what a model's searches brought, or its own."""
    screen = Screen(parts.policy)

    async def search(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        retriever = parts.retriever
        if retriever is None:
            return {}
        found = list(state.get("found", []))
        if not found:
            locale = state.get("locale", "")
            queries = dict.fromkeys(state.get("queries", []))
            found = [await found_by(retriever, each, locale) for each in list(queries)[:QUERIES]]
        kept = from_state(state.get("evidence", []))
        evidence = merged(kept, [from_state(each["evidence"]) for each in found])
        shown = [f"{each.passage.title}\n{each.text}" for each in evidence]
        screening = await asyncio.to_thread(screen.look, shown)
        changed: MemberState = {"found": []}
        if screening is not None:
            changed["guardrail_decisions"] = noted(state, (screening.decision,))
            if parts.policy.evidence.injection == "drop":
                evidence = _without(evidence, kept, screening.trips)
        _tell(evidence, [Search.model_validate(each["search"]) for each in found])
        changed["evidence"] = to_state(evidence)
        return changed

    return search


def merged(kept: Sequence[Source], found: Sequence[Sequence[Source]]) -> list[Source]:
    """Return the passages of several searches, each once, numbered anew behind those kept.

    The best of each search come first. What was kept has its number in words that were said.
    """
    evidence = list(kept)
    known = {each.passage.id for each in kept}
    for each in _in_turn(found):
        if len(evidence) >= MOST:
            break
        if each.passage.id not in known:
            known.add(each.passage.id)
            index = max((one.passage.index for one in evidence), default=0) + 1
            passage = each.passage.model_copy(update={"index": index})
            evidence.append(each.model_copy(update={"passage": passage}))
    return evidence


def _in_turn(found: Sequence[Sequence[Source]]) -> Iterable[Source]:
    longest = max(map(len, found), default=0)
    return (several[at] for at in range(longest) for several in found if at < len(several))


def _without(
    evidence: Sequence[Source], kept: Sequence[Source], trips: Sequence[bool]
) -> list[Source]:
    """Return the evidence without what holds instructions; the numbers have no gaps."""
    fair = [each for each, trip in zip(evidence, trips, strict=True) if not trip]
    stays = [each for each in fair if each in kept]
    return merged(stays, [[each for each in fair if each not in kept]])


def _tell(evidence: Sequence[Source], searches: Sequence[Search]) -> None:
    emit(
        RetrievalCompleted(
            query=" | ".join(dict.fromkeys(each.query for each in searches)),
            duration_ms=sum(each.duration_ms for each in searches),
            documents=tuple(each.passage for each in evidence),
            searches=tuple(searches),
        )
    )


def shown_to_model(found: Mapping[str, Any]) -> str:
    """Return what one search brought, for the model that called it."""
    passages = from_state(cast("Sequence[Mapping[str, Any]]", found["evidence"]))
    if not passages:
        return '{"status": "ok", "result": "nothing was found"}'
    return "\n\n".join(f"{each.passage.title}\n{each.text}" for each in passages)
