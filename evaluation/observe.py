"""Run every case through the product and note what came of it."""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, HumanMessage

from evaluation.cases import Case, DetailCase, QuestionCase, Sets, VerdictCase, WishCase
from evaluation.product import Product
from evaluation.scores import Claim, claims, holds, mostly_in
from evaluation.seen import Asked, Judged, Redacted, Seen, Wished
from turnwire.agents.member import MemberParts
from turnwire.events import Citation, Passage
from turnwire.graph.context import TurnContext
from turnwire.nodes.evidence.source import Source, from_state
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.pre import Earlier, Verdict, examine
from turnwire.retrieval.splitter import sentences

_KIND: Final = re.compile(r"\[([A-Z_]+)_\d+\]")


def observe(product: Product, sets: Sets) -> Seen:
    """Return what ``product`` makes of each case of ``sets``."""
    _examined(product.policy, "warm", "en")
    names = sets.names if product.finds_names else ()
    return Seen(
        judged=asyncio.run(_all_judged(product, sets.verdicts)),
        details=tuple(_redacted(product.policy, each) for each in sets.details),
        names=tuple(_redacted(product.policy, each) for each in names),
        asked=asyncio.run(_asked(product, sets.questions)),
        wished=tuple(_wished(product.member, each) for each in sets.wishes),
    )


def _wished(member: MemberParts, case: WishCase) -> Wished:
    verdict = examine([case.text], policy=member.policy, locale=case.locale)
    wish = member.router.wish("\n".join(verdict.messages))
    proceeds = verdict.outcome == "proceed"
    names = frozenset(name for name, _ in wish.tools) if proceeds else frozenset[str]()
    acting = {each.name for each in member.tools if each.risk != "read"}
    return Wished(
        case=case,
        outcome=verdict.outcome,
        tools=names,
        documents=proceeds and bool(wish.knowledge),
        acts=not names.isdisjoint(acting),
    )


def _examined(
    policy: Policy, text: str, locale: str, before: Sequence[str] = ()
) -> tuple[Verdict, float]:
    began = time.perf_counter()
    earlier = Earlier(answered=before)
    verdict = examine([text], policy=policy, locale=locale, earlier=earlier)
    return verdict, (time.perf_counter() - began) * 1000


async def _all_judged(product: Product, cases: Iterable[VerdictCase]) -> tuple[Judged, ...]:
    return tuple([await _judged(product, each) for each in cases])


async def _judged(product: Product, case: VerdictCase) -> Judged:
    policy = product.policy
    verdict, ms = _examined(policy, case.text, case.locale, case.before)
    answerless = case.expect in ("refuse", "injection")
    return Judged(
        case=case,
        outcome=verdict.outcome,
        by_injection_rule=verdict.reason in {each.id for each in policy.injection},
        reviewed=bool(verdict.review_reasons),
        ms=ms,
        finish=(await _turn(product, case, case.before))["finish_reason"] if answerless else None,
    )


def _redacted(policy: Policy, case: DetailCase) -> Redacted:
    verdict, ms = _examined(policy, case.text, case.locale)
    found = tuple((_kind(name), value) for name, value in verdict.mapping.items())
    return Redacted(case=case, text="\n".join(verdict.messages), found=found, ms=ms)


def _kind(placeholder: str) -> str:
    match = _KIND.fullmatch(placeholder)
    return match[1] if match else placeholder


async def _asked(product: Product, cases: Iterable[QuestionCase]) -> tuple[Asked, ...]:
    return tuple([await _ask(product, each) for each in cases])


async def _ask(product: Product, case: QuestionCase) -> Asked:
    found = product.retriever.search(case.text, locale=case.locale, corpus="health")
    state = await _turn(product, case)
    cited = [Citation.model_validate(each) for each in state["citations"]]
    evidence = from_state(state["evidence"])
    by_document = {each.passage.document_id: each.passage for each in evidence}
    return Asked(
        case=case,
        ranked=tuple(_document(product, each.passage) for each in found.evidence),
        finish=state["finish_reason"],
        answer=state["draft"],
        cited=tuple(_document(product, by_document[each.document_id]) for each in cited),
        claims=_claims(product, state, evidence) if cited else (),
    )


async def _turn(product: Product, case: Case, before: Sequence[str] = ()) -> Mapping[str, Any]:
    answered = [said for each in before for said in (HumanMessage(each), AIMessage("Go on."))]
    messages = [*answered, HumanMessage(case.text)]
    return await product.graph.ainvoke({"messages": messages}, context=_context(case))


def _context(case: Case) -> TurnContext:
    return TurnContext(
        turn_id=f"trn_{case.id}",
        conversation_id=case.id,
        principal="evaluation",
        locale=case.locale,
        trace_id="0" * 32,
    )


def _document(product: Product, passage: Passage) -> str:
    return product.documents[passage.locale, passage.document_name]


def _claims(
    product: Product, state: Mapping[str, Any], evidence: Iterable[Source]
) -> tuple[Claim, ...]:
    return claims(
        state["draft"],
        {each.passage.index: each.text for each in evidence},
        supports=_quoted if product.quotes else mostly_in,
        sentences=sentences,
    )


def _quoted(sentence: str, passage: str) -> bool:
    return bool(sentence) and holds(passage, sentence)
