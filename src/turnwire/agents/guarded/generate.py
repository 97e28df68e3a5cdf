"""The node that answers: with a fixed text where no model may be called, else from the evidence."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from turnwire.agents.guarded.guards import Node, context_of
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.privacy import Privacy
from turnwire.agents.guarded.state import GuardedState, split_new
from turnwire.errors import UpstreamUnavailable
from turnwire.events import CitationAdded, Cost, ReasoningDelta
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import Speaker, nobody, speaker
from turnwire.graph.plain import mend
from turnwire.models.quoting import NAME as QUOTING
from turnwire.models.quoting import Quoting
from turnwire.nodes.answer.completion import Completion, complete
from turnwire.nodes.answer.placeholders import Restorer
from turnwire.nodes.answer.prompt import build_prompt
from turnwire.nodes.evidence.citations import find_citations
from turnwire.nodes.evidence.source import Source, from_state

NAME = "generate_response"
_FENCE_BYTES = 12


def generate_response(parts: GuardedParts) -> Node:
    """Return a node that says the answer, then its citations."""

    async def generate_response(state: GuardedState, runtime: Runtime[TurnContext]) -> GuardedState:
        said = speaker()
        fixed = _fixed(state, parts)
        if fixed is not None:
            said.say(fixed.text)
            return {"draft": fixed.text, "finish_reason": fixed.finish_reason}
        held = parts.hitl and bool(state.get("verdict", {}).get("review_reasons"))
        if held:  # a person reads it first: they say it, or something else
            said = nobody()
        evidence = from_state(state.get("evidence", []))
        privacy = Privacy(parts.policy)
        # In a thread: private details are looked for in every message that is recalled.
        prompt = await asyncio.to_thread(_prompt, state, parts, evidence, privacy)
        voice = _Voice(said, privacy)
        context = context_of(runtime)
        name, model = parts.chosen(context.model if context else None)
        completion = await complete(model, prompt, say=voice.say, think=voice.think)
        name = completion.model or name
        draft = voice.end()
        if not draft.strip() and (isinstance(model, Quoting) or name == QUOTING):
            none = _no_match(state, parts)
            speaker().say(none.text)
            return {"draft": none.text, "finish_reason": none.finish_reason}
        if not draft.strip():
            raise UpstreamUnavailable(f"the model '{name}' said nothing")
        return {
            "held": held,
            **_account(parts, name, completion),
            **_cited(said, draft, evidence, completion),
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
    state: GuardedState, parts: GuardedParts, evidence: Sequence[Source], privacy: Privacy
) -> list[BaseMessage]:
    earlier, new = split_new(state.get("messages", []))
    # First what came first: `guardrail_pre` numbered the placeholders in this order.
    history = privacy.recall(earlier, limit=parts.history)
    question = [privacy.redact(str(each.text)) for each in new]
    locale = state.get("locale", parts.policy.default_locale)
    return build_prompt(
        persona=parts.policy.text("persona", locale),
        question="\n\n".join(question),
        evidence=evidence,
        locale=locale,
        fence=secrets.token_hex(_FENCE_BYTES),
        history=history,
    )


class _Voice:
    """Says a model's words with the private details back in, and remembers what was said."""

    def __init__(self, said: Speaker, privacy: Privacy) -> None:
        self._said = said
        self._restorer = Restorer(privacy.mapping)
        self._parts: list[str] = []

    def say(self, text: str) -> None:
        self._pass_on(self._restorer.feed(text))

    def think(self, text: str) -> None:
        self._said.emit(ReasoningDelta(node=NAME, text=text))

    def end(self) -> str:
        self._pass_on(self._restorer.flush())
        return mend("".join(self._parts))

    def _pass_on(self, text: str) -> None:
        if text:
            self._said.say(text)
            self._parts.append(text)


def _account(parts: GuardedParts, name: str, completion: Completion) -> GuardedState:
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
