"""The node that answers: with a fixed text where no model may be called, else from the evidence."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from turnwire.agents.guarded.guards import Node, context_of
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.privacy import Privacy
from turnwire.agents.guarded.state import GuardedState, split_new
from turnwire.agents.guarded.voice import NAME, Voice
from turnwire.errors import UpstreamUnavailable
from turnwire.events import CitationAdded, Cost, GuardrailDecided, GuardrailDecision
from turnwire.events.guardrail import Check, GuardOutcome
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import Speaker, nobody, speaker
from turnwire.models.quoting import NAME as QUOTING
from turnwire.models.quoting import Quoting
from turnwire.nodes.answer.completion import Completion, complete
from turnwire.nodes.answer.gate import Gate, SentenceCheck, Trip, unchanged
from turnwire.nodes.answer.prompt import build_prompt
from turnwire.nodes.evidence.citations import find_citations
from turnwire.nodes.evidence.source import Source, from_state
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.post import breaks_persona
from turnwire.nodes.guardrails.redactor import Masking, mask
from turnwire.nodes.guardrails.review import assess_review_need

_FENCE_BYTES = 12


Wording: TypeAlias = Callable[[GuardedState, str], str]
"""Returns who answers, from the state and for a locale."""
Quoted: TypeAlias = Callable[[GuardedState, str, Callable[[str], str]], str]
"""Returns what is quoted to a model, from the state, with a fence, after a redaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a node asks its model, where that is not as the policy says."""

    node: str = NAME
    persona: Wording | None = None
    """Who answers; by the locale."""
    quoted: Quoted | None = None
    """Material in front of the question, between delimiters with the fence."""


PLAIN: Final = Asking()


def generate_response(parts: GuardedParts, asking: Asking = PLAIN) -> Node:
    """Return a node that says the answer, then its citations."""

    async def generate_response(state: GuardedState, runtime: Runtime[TurnContext]) -> GuardedState:
        said = speaker()
        fixed = _fixed(state, parts)
        if fixed is not None:
            said.say(fixed.text)
            return {"draft": fixed.text, "finish_reason": fixed.finish_reason}
        evidence = from_state(state.get("evidence", []))
        # In a thread: private details are looked for in every message that is recalled.
        prompt, voice = await asyncio.to_thread(_prepared, state, parts, evidence, said, asking)
        context = context_of(runtime)
        name, model = parts.chosen(context.model if context else None)
        completion = await complete(model, prompt, say=voice.say, think=voice.think)
        name = completion.model or name
        voice.end()
        draft = voice.draft
        if not draft.strip() and (isinstance(model, Quoting) or name == QUOTING):
            none = _no_match(state, parts)
            speaker().say(none.text)
            return {"draft": none.text, "finish_reason": none.finish_reason}
        if not draft.strip():
            raise UpstreamUnavailable(f"the model '{name}' said nothing")
        answer = _cited(nobody() if voice.held else said, draft, evidence, completion)
        return {
            **account(parts, name, completion),
            **(answer if voice.stopped is None else stopped(state, draft)),
            **checked(state, said, voice),
        }

    return generate_response


@dataclass(frozen=True, slots=True)
class _Fixed:
    text: str
    finish_reason: str


def _fixed(state: GuardedState, parts: GuardedParts) -> _Fixed | None:
    """Return the text to say without a model, or none where a model may answer."""
    verdict = state.get("verdict", {})
    locale = state.get("locale", parts.policy.default_locale)
    match verdict.get("outcome"):
        case "proceed" if verdict.get("fixed_text"):
            return _Fixed(verdict["fixed_text"], "stop")
        case "proceed" if parts.retriever is None or state.get("evidence"):
            return None
        case "proceed":
            return _no_match(state, parts)
        case "escalate":
            text = verdict.get("fixed_text") or parts.policy.text("escalation", locale)
            return _Fixed(text, "escalated")
        case _:
            text = verdict.get("fixed_text") or parts.policy.text("refusal", locale)
            return _Fixed(text, "refused")


def _no_match(state: GuardedState, parts: GuardedParts) -> _Fixed:
    """Return what is said where nothing was found, or the quoting model saw no answer in it."""
    locale = state.get("locale", parts.policy.default_locale)
    return _Fixed(parts.policy.text("no_match", locale), "no_match")


def _prompt(
    state: GuardedState,
    parts: GuardedParts,
    evidence: Sequence[Source],
    privacy: Privacy,
    asking: Asking,
) -> list[BaseMessage]:
    earlier, new = split_new(state.get("messages", []))
    # First what came first: `guardrail_pre` numbered the placeholders in this order.
    history = privacy.recall(earlier, limit=parts.history)
    question = [privacy.redact(str(each.text)) for each in new]
    locale = state.get("locale", parts.policy.default_locale)
    fence = secrets.token_hex(_FENCE_BYTES)
    if asking.quoted is not None and (quoted := asking.quoted(state, fence, privacy.redact)):
        question = [quoted, *question]
    persona = parts.policy.text("persona", locale)
    return build_prompt(
        persona=persona if asking.persona is None else asking.persona(state, locale),
        question="\n\n".join(question),
        evidence=evidence,
        locale=locale,
        fence=fence,
        history=history,
    )


def _prepared(
    state: GuardedState,
    parts: GuardedParts,
    evidence: Sequence[Source],
    said: Speaker,
    asking: Asking,
) -> tuple[list[BaseMessage], Voice]:
    """Return the prompt, and the voice for the answer to it."""
    policy = parts.policy
    locale = state.get("locale", policy.default_locale)
    privacy = Privacy(policy, locale)
    prompt = _prompt(state, parts, evidence, privacy, asking)
    masking = privacy.for_answer(each.text for each in evidence)
    risky = parts.hitl and bool(state.get("verdict", {}).get("review_reasons"))
    voice = Voice(
        said,
        masking=masking,
        mapping=privacy.mapping,
        gate=Gate(
            _no_check if risky else sentence_check(parts, locale),
            reach=policy.answer_reach,
            edit=without_names(policy, locale, masking),
        ),
        # Where the question is risky, a person reads the answer first, and says it or another.
        manner="silent" if risky else policy.stream_policy,
        refusal=policy.text("refusal", locale),
    )
    voice.node = asking.node
    return prompt, voice


def _no_check(_sentence: str) -> None:
    """Let a sentence pass: a person reads it."""


def without_names(policy: Policy, locale: str, masking: Masking) -> Callable[[str], str]:
    """Return what takes names out of a sentence of the answer, where the policy asks for that."""
    names = policy.pii.names("answer", locale)
    if names is None:
        return unchanged
    return lambda sentence: mask(sentence, masking, names=names).text


def sentence_check(parts: GuardedParts, locale: str) -> SentenceCheck:
    """Return what looks at a sentence of the answer before it leaves."""

    def check(sentence: str) -> Trip | None:
        unstable = breaks_persona(sentence, parts.policy, locale)
        if unstable is not None:
            return Trip("persona_stability", (unstable,))
        reasons = assess_review_need((), sentence, parts.policy) if parts.hitl else ()
        return Trip("hitl_review", reasons) if reasons else None

    return check


def stopped(state: GuardedState, refusal: str) -> GuardedState:
    """Return the state after an answer that may not be said: from here on like any refusal."""
    return {
        "draft": refusal,
        "citations": [],
        "finish_reason": "refused",
        "verdict": {**state.get("verdict", {}), "fixed_text": refusal},
    }


def checked(state: GuardedState, said: Speaker, voice: Voice) -> GuardedState:
    """Say what the checks in the stream decided; return it, and what waits for a person."""
    decisions: list[GuardrailDecision] = []
    if voice.redacted and (voice.stopped is None or voice.stopped.check != "pii"):
        reason = "+".join(sorted(each.lower() for each in voice.redacted))
        decisions.append(_decision("pii", "redact", reason))
    if voice.stopped is not None:
        decisions.append(_decision(voice.stopped.check, "refuse", voice.stopped.reasons[0]))
    for each in decisions:
        said.emit(GuardrailDecided(decision=each))
    noted = [each.model_dump(mode="json") for each in decisions]
    changed: GuardedState = {
        "guardrail_decisions": [*state.get("guardrail_decisions", []), *noted],
        "held": voice.held,
        "said": voice.characters_said,
    }
    if voice.reasons and voice.held:
        verdict = state.get("verdict", {})
        reasons = [*verdict.get("review_reasons", ()), *voice.reasons]
        changed["verdict"] = {**verdict, "review_reasons": reasons}
    return changed


def _decision(check: Check, outcome: GuardOutcome, reason: str) -> GuardrailDecision:
    return GuardrailDecision(stage="post", check=check, outcome=outcome, reason=reason)


def account(parts: GuardedParts, name: str, completion: Completion) -> GuardedState:
    """Return the state's account of one call."""
    usage = completion.usage
    cost = Cost(
        model=name,
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
        llm_latency_ms=completion.latency_ms,
        usd=parts.price(name, usage) if completion.usd is None else completion.usd,
    )
    return {"usage": usage.model_dump(), "cost": cost.model_dump()}


def _cited(
    said: Speaker, draft: str, evidence: Sequence[Source], completion: Completion
) -> GuardedState:
    check = find_citations(draft, evidence)
    for each in check.citations:
        said.emit(CitationAdded(citation=each))
    backed = check.is_backed and (bool(check.citations) or not evidence)
    answered = "stop" if backed else "insufficient_evidence"
    return {
        "draft": draft,
        "citations": [each.model_dump(mode="json") for each in check.citations],
        "finish_reason": "length" if completion.finish == "length" else answered,
    }
