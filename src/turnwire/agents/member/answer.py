"""The node that answers: the only one, with `escalate`, whose words reach the member.

Fixed texts are said as they are. What a model writes goes past the policy's checks; after an action
that was not done, a sentence that says otherwise is left out.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from turnwire.agents.guarded.generate import account, checked, sentence_check, without_names
from turnwire.agents.guarded.guards import context_of
from turnwire.agents.guarded.screening import noted
from turnwire.agents.guarded.voice import Voice
from turnwire.agents.member.before import Node, locale_of
from turnwire.agents.member.behind import Behind
from turnwire.agents.member.grounds import citations_of
from turnwire.agents.member.outcomes import ending_of, is_action, lacks_sign_in, reading_of
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.phrasings import CLAIMS_DONE
from turnwire.agents.member.private import Private
from turnwire.agents.member.results import RULES, block, written
from turnwire.agents.member.state import MemberState, added, feedback_of, outcomes_of
from turnwire.errors import UpstreamUnavailable
from turnwire.events import (
    CitationAdded,
    Cost,
    GuardrailDecision,
    Usage,
)
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import Speaker, speaker
from turnwire.models.quoting import NAME as QUOTING
from turnwire.models.quoting import Quoting
from turnwire.nodes.answer.completion import Completion, complete
from turnwire.nodes.answer.gate import Gate
from turnwire.nodes.answer.prompt import build_prompt
from turnwire.nodes.evidence.source import from_state
from turnwire.nodes.tools.tool import SIGN_IN_REQUIRED, Outcome

_FENCE_BYTES: Final = 12

_GENERAL_ONLY: Final = (
    "Answer only the general part of the question, from the passages; what concerns the member's "
    "own file follows later, and you do not mention it."
)
_OWN_ONLY: Final = (
    "The general part of the question has been answered already; answer only what concerns the "
    "member's own file."
)
_AFTER_ACTIONS: Final = (
    "The member has already read how each action ended; do not repeat it. Reply briefly to what "
    "they said to it and to what else they asked. Nothing more can be done in this turn."
)


def answer(parts: MemberParts) -> Node:
    """Return the node that says the answer, or its first part where a sign-in comes next."""

    async def answer(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        context = context_of(runtime)
        telling = _Telling(parts, state, context.model if context else None)
        await telling.tell()
        return telling.changed()

    return answer


class _Telling:
    """One answer, part by part."""

    def __init__(self, parts: MemberParts, state: MemberState, wanted: str | None) -> None:
        self._parts = parts
        self._state = state
        self._locale = locale_of(parts, state)
        self._said: Speaker = speaker()
        self._model_name, self._model = parts.chosen(wanted)
        self._outcomes = outcomes_of(state)
        self._actions = [each for each in self._outcomes if is_action(parts, each)]
        self._reads = [each for each in self._outcomes if not is_action(parts, each)]
        self._draft = state.get("draft", "")
        self._finish = state.get("finish_reason", "")
        self._changed: MemberState = {}
        self._length = self._left_out = False

    async def tell(self) -> None:
        """Say all that there is to say now."""
        verdict = self._state.get("verdict", {})
        if verdict.get("outcome") == "refuse" or verdict.get("fixed_text"):
            refused = verdict.get("outcome") == "refuse"
            text = verdict.get("fixed_text") or self._parts.policy.text("refusal", self._locale)
            self._say(text)
            self._finish = "refused" if refused else "stop"
            self._changed["open"] = {}
            return
        for each in self._actions:
            if each.code != SIGN_IN_REQUIRED:
                self._say(ending_of(self._parts, each, self._locale))
        if self._state.get("waiting"):
            await self._tell_general()
            return
        await self._tell_rest()
        asking = self._state.get("asking", "")
        if lacks_sign_in(self._outcomes):
            is_text = self._state.get("channel") == "text"
            asking = self._text("sign_in_in_app" if is_text else "sign_in_first")
            self._finish = SIGN_IN_REQUIRED
        if asking:
            self._say(asking)
        if not self._draft:
            self._say(self._parts.policy.text("no_match", self._locale))
            self._finish = self._finish or "no_match"

    async def _tell_general(self) -> None:
        """Say the general part before the sign-in; without one, why a sign-in is needed."""
        if self._state.get("evidence"):
            await self._write(self._text("general"), (), _GENERAL_ONLY)
        elif self._state.get("queries"):
            self._say(self._text("nothing_general"))
        if not self._draft:
            self._say(self._text("sign_in"))

    async def _tell_rest(self) -> None:
        """Say what was read, what documents say, and what the member's feedback calls for."""
        reads = [each for each in self._reads if each.code != SIGN_IN_REQUIRED]
        evidence = bool(self._state.get("evidence"))
        label = self._text("own") if self._has_general else ""
        if isinstance(self._model, Quoting):
            if reads:
                self._say(label, *self._told(reads))
            if evidence and not label:
                mixed = self._state.get("route") in ("mixed", "action")
                note = _GENERAL_ONLY if mixed else ""
                await self._write(self._text("general") if mixed else "", (), note)
        elif reads or (evidence and not self._has_general) or any(map(feedback_of, self._actions)):
            await self._write(label, self._outcomes, _OWN_ONLY if label else "")

    @property
    def _has_general(self) -> bool:
        """Whether the general part was said before the sign-in that the turn has waited for."""
        return bool(self._state.get("resumed")) and self._text("general") in self._draft

    def _told(self, reads: Sequence[Outcome]) -> list[str]:
        question, one_of = self._state.get("question", ""), self._state.get("one_of", "")
        return [
            reading_of(self._parts, each, question, self._locale, is_one=each.call.name == one_of)
            for each in reads
        ]

    def _text(self, key: str) -> str:
        return self._parts.texts.say(key, self._locale)

    def _say(self, *texts: str) -> None:
        """Say texts as they are, each in a paragraph of its own."""
        for each in filter(None, texts):
            text = f"\n\n{each}" if self._draft else each
            self._said.say(text)
            self._draft += text

    async def _write(self, label: str, results: Sequence[Outcome], note: str) -> None:
        """Let the model write a part, behind a label that is said only if it writes anything."""
        opening = ("\n\n" if self._draft else "") + (f"{label}\n\n" if label else "")
        said = Behind(self._said, before=self._draft, opening=opening)
        prompt, voice = await asyncio.to_thread(self._prepared, said, results, note)
        completion = await complete(self._model, prompt, say=voice.say, think=voice.think)
        voice.end()
        name = completion.model or self._model_name
        self._account(name, completion)
        if not voice.draft.strip() and not self._left_out:
            self._write_nothing(name, label, results)
            return
        self._draft += (opening if said.spoke else "") + voice.draft
        self._changed |= cast("MemberState", checked(self._now, self._said, voice))
        if self._left_out:
            decided = GuardrailDecision(
                stage="post", check="persona_stability", outcome="redact", reason="claims_action"
            )
            self._changed["guardrail_decisions"] = noted(self._now, (decided,))
        if voice.stopped is not None:
            self._finish = "refused"
        self._length = self._length or completion.finish == "length"

    def _write_nothing(self, name: str, label: str, results: Sequence[Outcome]) -> None:
        """Say what was read, where the model that quotes had nothing to quote."""
        if not isinstance(self._model, Quoting) and name != QUOTING:
            raise UpstreamUnavailable(f"the model '{name}' said nothing")
        reads = [each for each in results if not is_action(self._parts, each)]
        if reads:
            self._say(label, *self._told(reads))

    @property
    def _now(self) -> MemberState:
        """The state with what has changed so far."""
        return cast("MemberState", {**self._state, **self._changed})

    def _account(self, name: str, completion: Completion) -> None:
        used = account(self._parts, name, completion)
        usage = added(
            Usage.model_validate(self._now.get("usage", {})),
            Usage.model_validate(used.get("usage", {})),
        )
        before = Cost.model_validate(self._now.get("cost") or {"model": "none"})
        cost = Cost.model_validate(used.get("cost"))
        whole = cost.model_copy(
            update={
                "tokens_in": usage.prompt_tokens,
                "tokens_out": usage.completion_tokens,
                "llm_latency_ms": before.llm_latency_ms + cost.llm_latency_ms,
                "usd": before.usd + cost.usd,
            }
        )
        self._changed |= {"usage": usage.model_dump(), "cost": whole.model_dump()}

    def _prepared(
        self, said: "Behind", results: Sequence[Outcome], note: str
    ) -> tuple[list[BaseMessage], Voice]:
        """Return the prompt, and the voice for the answer to it."""
        policy, locale = self._parts.policy, self._locale
        privacy = Private(self._parts, self._state)
        evidence = from_state(self._state.get("evidence", []))
        general = self._state.get("queries", []) if note == _GENERAL_ONLY else []
        question = "\n\n".join(general) or privacy.question
        fence = secrets.token_hex(_FENCE_BYTES)
        data = block(results, fence=fence, redact=privacy.redact)
        notes = [note, _AFTER_ACTIONS if self._actions else ""]
        rules = [RULES.format(fence=fence)] if results else []
        prompt = build_prompt(
            persona="\n\n".join(filter(None, [policy.text("persona", locale), *rules, *notes])),
            question="\n\n".join(filter(None, [data, question])),
            evidence=evidence,
            locale=locale,
            fence=fence,
            history=privacy.history,
        )
        own = [written(each.result) for each in results]
        masking = privacy.for_answer([*(each.text for each in evidence), *own])
        voice = Voice(
            said,
            masking=masking,
            mapping=privacy.mapping,
            gate=Gate(
                sentence_check(replace(self._parts, hitl=False), locale),
                reach=policy.answer_reach,
                edit=self._honest(without_names(policy, locale, masking)),
            ),
            manner=policy.stream_policy,
            refusal=policy.text("refusal", locale),
        )
        return prompt, voice

    def _honest(self, edit: Callable[[str], str]) -> Callable[[str], str]:
        """Return ``edit``, which also leaves out that something was done, where it was not."""
        done = [each.status == "ok" for each in self._actions]
        if (done and all(done)) or (not done and self._state.get("route") != "action"):
            return edit

        def honest(sentence: str) -> str:
            if CLAIMS_DONE not in self._parts.phrasings.rules_for(sentence):
                return edit(sentence)
            self._left_out = True
            return ""

        return honest

    def changed(self) -> MemberState:
        """Return what the answer changes in the state; its new citations are said."""
        evidence = self._state.get("evidence")
        check = citations_of(self._draft, self._state, self._parts.phrasings, locale=self._locale)
        known = {each["id"] for each in self._state.get("citations", [])}
        for each in check.citations:
            if each.id not in known:
                self._said.emit(CitationAdded(citation=each))
        backed = check.is_backed and (bool(check.citations) or not evidence or bool(self._outcomes))
        ending = "stop" if backed else "insufficient_evidence"
        ending = self._finish or ("length" if self._length else ending)
        return {
            **self._changed,
            "draft": self._draft,
            "citations": [each.model_dump(mode="json") for each in check.citations],
            "finish_reason": "" if self._state.get("waiting") else ending,
        }
