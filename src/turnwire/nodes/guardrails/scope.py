"""Whether a question that no rule refused is in scope: by likeness, then by the judge."""

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import Final

from turnwire.nodes.guardrails.examples import Examples
from turnwire.nodes.guardrails.judge import Judge
from turnwire.nodes.guardrails.policy import Policy, TextKey
from turnwire.nodes.guardrails.pre import Clock, Verdict

UNLIKE: Final = "unlike_examples"
UNCOMPARED: Final = "similarity_unavailable"

_LOG: Final = logging.getLogger("turnwire.nodes.guardrails")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a use is for, as far as rules can't say it."""

    policy: Policy
    examples: Examples | None = None
    """None: no question is compared; the judge, if there is one, is asked about each."""
    judge: Judge | None = None
    """None: a question that is like no example is refused."""
    clock: Clock = time.perf_counter

    def concerns(self, verdict: Verdict) -> bool:
        """Whether :meth:`hold` has anything to ask about a verdict."""
        if verdict.outcome != "proceed" or verdict.fixed_text is not None:
            return False
        asks = self.examples is not None or self.judge is not None
        return asks and (self._always_judged or not verdict.is_known)

    async def hold(self, verdict: Verdict, question: str, *, locale: str) -> Verdict:
        """Return the verdict after likeness and judge.

        Args:
            verdict: that of the rules.
            question: the member's words without private details, behind those of earlier turns
                that they cannot be read without.
            locale: the member's language, for the fixed texts (BCP 47).
        """
        if not self.concerns(verdict):
            return verdict
        doubtful = not verdict.is_known
        if self.examples is not None and doubtful:
            verdict = await self._compared(verdict, question, self.examples, locale)
            doubtful = verdict.decisions[-1].outcome == "flag"
        if self.judge is None or not (doubtful or self._always_judged):
            return verdict
        return await self._judged(verdict, question, self.judge, locale)

    @property
    def _always_judged(self) -> bool:
        return self.judge is not None and self.policy.scope.judge.asked == "always"

    async def _compared(
        self, verdict: Verdict, question: str, examples: Examples, locale: str
    ) -> Verdict:
        started = self.clock()
        try:
            # In a thread: encoding takes a while, and others are waiting.
            like = await asyncio.to_thread(examples.likeness, question)
            doubt = None if like.holds else UNLIKE
        except Exception as error:  # the policy says what follows; the turn does not break
            _LOG.error("comparison failed: %s", type(error).__name__)
            doubt = UNCOMPARED
        # The rules and the likeness are one check: its last word takes the place of the first.
        verdict = replace(verdict, decisions=verdict.decisions[:-1])
        if doubt is None:
            return verdict.noted("scope_rules", "pass", None, seconds=self.clock() - started)
        if self.judge is not None or (doubt == UNCOMPARED and self._fails_open):
            return verdict.noted("scope_rules", "flag", doubt, seconds=self.clock() - started)
        verdict = verdict.noted("scope_rules", "refuse", doubt, seconds=self.clock() - started)
        return self._refused(verdict, doubt, "refusal", locale)

    async def _judged(self, verdict: Verdict, question: str, judge: Judge, locale: str) -> Verdict:
        started = self.clock()
        opinion = await judge.opinion(question, locale=locale)
        match opinion:
            case "in_scope":
                return verdict.noted("scope_judge", "pass", None, seconds=self.clock() - started)
            case "out_of_scope" | "injection":
                text: TextKey = "injection" if opinion == "injection" else "refusal"
                verdict = verdict.noted(
                    "scope_judge", "refuse", opinion, seconds=self.clock() - started
                )
                return self._refused(verdict, opinion, text, locale)
            case _ if self._fails_open:
                return verdict.noted("scope_judge", "flag", opinion, seconds=self.clock() - started)
            case _:
                verdict = verdict.noted(
                    "scope_judge", "refuse", opinion, seconds=self.clock() - started
                )
                return self._refused(verdict, opinion, "refusal", locale)

    @property
    def _fails_open(self) -> bool:
        return self.policy.scope.on_failure == "open"

    def _refused(self, verdict: Verdict, reason: str, text: TextKey, locale: str) -> Verdict:
        return verdict.ended("refuse", reason, self.policy.text(text, locale))
