"""What is decided about a member's words before anything else sees them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from turnwire.events.guardrail import Check, GuardOutcome, GuardrailDecision
from turnwire.nodes.guardrails.normalise import canonical
from turnwire.nodes.guardrails.phrases import Words, split
from turnwire.nodes.guardrails.pii import PiiKind, redact
from turnwire.nodes.guardrails.policy import Policy, TextKey
from turnwire.nodes.guardrails.reading import read, read_on
from turnwire.nodes.guardrails.validation import Fault, find_fault

Clock: TypeAlias = Callable[[], float]
"""Seconds that only grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the turn goes on, and what it goes on with."""

    outcome: Literal["proceed", "refuse", "escalate"] = "proceed"
    reason: str | None = None
    """The reason code of a turn that does not proceed."""
    decisions: tuple[GuardrailDecision, ...] = ()
    """One for each check that was made, in order."""
    messages: tuple[str, ...] = field(default=(), repr=False)
    """The messages as a model may read them; none where they failed validation."""
    mapping: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What each placeholder in ``messages`` stands for."""
    review_reasons: tuple[str, ...] = ()
    """Why a person has to see the draft first."""
    fixed_text: str | None = None
    """What the member reads instead of an answer; a greeting where the turn proceeds."""
    is_known: bool = False
    """Whether a rule has said that the question is in scope, so that no example has to."""

    def noted(
        self, check: Check, outcome: GuardOutcome, reason: str | None, *, seconds: float
    ) -> "Verdict":
        """Return it with one more decision, which took so many seconds."""
        decision = GuardrailDecision(
            stage="pre",
            check=check,
            outcome=outcome,
            reason=reason,
            duration_ms=round(seconds * 1000),
        )
        return replace(self, decisions=(*self.decisions, decision))

    def ended(
        self, outcome: Literal["refuse", "escalate"], reason: str, fixed_text: str
    ) -> "Verdict":
        """Return it as one that does not proceed: the member reads the fixed text."""
        return replace(self, outcome=outcome, reason=reason, fixed_text=fixed_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What the member said before the question."""

    answered: Sequence[str] = field(default=(), repr=False)
    """The last messages that were answered, oldest first. They were judged in their time; but a
    sign of danger or an attempt on the assistant may be split over turns, and counts where the
    new messages complete it."""
    along: int = 0
    """How many of the new messages are a history that came along: they are no part of the
    question, which may be small talk."""


NOTHING: Final = Earlier()


def examine(
    messages: Sequence[str],
    *,
    policy: Policy,
    locale: str,
    mapping: Mapping[str, str] | None = None,
    earlier: Earlier = NOTHING,
    clock: Clock = time.perf_counter,
) -> Verdict:
    """Return the verdict on all messages that are new to us.

    The checks are made in the order validation, personal data, escalation, scope; the first
    that refuses or escalates is the last one made. ``mapping`` is that of earlier turns, so
    that the same value keeps its placeholder.
    """
    turn = _Examination(tuple(messages), earlier.answered, policy, locale, clock)
    verdict = Verdict(mapping=dict(mapping or {}))
    for check in (turn.validate, turn.redact, turn.escalate, turn.hold_scope):
        verdict = check(verdict)
        if verdict.outcome != "proceed":
            return verdict
    return turn.greet(verdict, earlier.along)


def doubt_answers(
    verdict: Verdict, alleged: Sequence[str], *, policy: Policy, locale: str
) -> Verdict:
    """Return the verdict after a look at ``alleged`` answers, which a client says were ours.

    A model would take them for its own words, so an attempt on the assistant in one is refused;
    nothing else is looked for, because an answer may well speak of danger.
    """
    if verdict.outcome != "proceed" or not alleged:
        return verdict
    book = policy.injection_book
    tripped = book.tripped(read(alleged, known=book.knows, spelt=book.spelt))
    if not tripped:
        return verdict
    rule, passed = tripped[0], verdict.decisions[-1]
    refused = passed.model_copy(update={"outcome": "refuse", "reason": rule.id})
    return replace(
        verdict,
        outcome="refuse",
        reason=rule.id,
        decisions=(*verdict.decisions[:-1], refused),
        fixed_text=policy.text(rule.text or "injection", locale),
    )


_FAULT_TEXTS: Final[Mapping[Fault, TextKey]] = {
    "empty": "empty",
    "too_long": "too_long",
    "control_characters": "unreadable",
    "lone_surrogate": "unreadable",
}


class _Examination:
    """The checks of one turn; each takes the verdict so far and returns the next."""

    def __init__(
        self,
        messages: tuple[str, ...],
        answered: Sequence[str],
        policy: Policy,
        locale: str,
        clock: Clock,
    ) -> None:
        self._messages = messages
        self._answered = answered
        self._policy = policy
        self._locale = locale
        self._clock = clock
        self._words: tuple[Words, ...] = ()
        self._across: tuple[Words, ...] = ()
        """Around the seam between the turns."""

    def validate(self, verdict: Verdict) -> Verdict:
        started = self._clock()
        fault = find_fault(self._messages, self._policy.limits)
        if fault is None:
            return verdict.noted("input_validation", "pass", None, seconds=self._clock() - started)
        verdict = verdict.noted(
            "input_validation", "refuse", fault, seconds=self._clock() - started
        )
        return self._ended(verdict, "refuse", fault, _FAULT_TEXTS[fault])

    def redact(self, verdict: Verdict) -> Verdict:
        started = self._clock()
        rules = self._policy.pii.masking("model")
        names = self._policy.pii.names("model", self._locale)
        mapping, texts, kinds = verdict.mapping, list[str](), dict[PiiKind, None]()
        for message in self._messages:
            redaction = redact(
                message,
                mapping=mapping,
                kinds=rules.kinds,
                regions=rules.regions,
                names=names,
            )
            mapping = redaction.mapping
            texts.append(redaction.text)
            kinds |= dict.fromkeys(redaction.kinds)
        verdict = replace(verdict, messages=tuple(texts), mapping=mapping)
        if not kinds:
            return verdict.noted("pii", "pass", None, seconds=self._clock() - started)
        reason = "+".join(sorted(each.lower() for each in kinds))
        if not any(rules.actions[each] == "block" for each in kinds):
            return verdict.noted("pii", "redact", reason, seconds=self._clock() - started)
        verdict = verdict.noted("pii", "refuse", reason, seconds=self._clock() - started)
        return self._ended(verdict, "refuse", reason, "pii_blocked")

    def escalate(self, verdict: Verdict) -> Verdict:
        started = self._clock()
        policy = self._policy
        self._words = read(
            self._messages,
            known=policy.knows,
            spelt=policy.spelt,
            mended=policy.speller.mended,
        )
        self._across = read_on(
            self._answered,
            self._messages,
            known=policy.knows,
            spelt=policy.spelt,
            mended=policy.speller.mended,
        )
        tripped = policy.escalation_book.tripped(
            (*self._words, *self._across), excuses=policy.excuse_reader
        )
        acute = [each for each in tripped if each.severity == "acute"]
        if acute:
            verdict = verdict.noted(
                "escalation", "escalate", acute[0].id, seconds=self._clock() - started
            )
            return self._ended(verdict, "escalate", acute[0].id, acute[0].text or "escalation")
        if not tripped:
            return verdict.noted("escalation", "pass", None, seconds=self._clock() - started)
        reasons = tuple(each.id for each in tripped)
        verdict = verdict.noted("escalation", "flag", reasons[0], seconds=self._clock() - started)
        return replace(verdict, review_reasons=reasons)

    def hold_scope(self, verdict: Verdict) -> Verdict:
        started = self._clock()
        injected = self._policy.injection_book.tripped((*self._words, *self._across))
        fair = bool(self._policy.in_scope_book.tripped(self._words))
        beyond = () if fair else self._policy.scope_book.tripped(self._words)
        broken = injected or self._policy.refusal_book.tripped(self._words) or beyond
        if not broken:
            verdict = verdict.noted("scope_rules", "pass", None, seconds=self._clock() - started)
            # What people have to read is fair: their review is what the policy has for it.
            return replace(verdict, is_known=fair or bool(verdict.review_reasons))
        rule = broken[0]
        verdict = verdict.noted("scope_rules", "refuse", rule.id, seconds=self._clock() - started)
        text = rule.text or ("injection" if injected else "refusal")
        return self._ended(verdict, "refuse", rule.id, text)

    def greet(self, verdict: Verdict, earlier: int) -> Verdict:
        """Give small talk its fixed text: nothing is looked up and nobody has to review it."""
        question = " ".join(canonical(each) for each in self._messages[earlier:])
        if not self._policy.small_talk_book.covers(split(question)):
            return verdict
        text = self._policy.text("greeting", self._locale)
        return replace(verdict, fixed_text=text, review_reasons=(), is_known=True)

    def _ended(
        self, verdict: Verdict, outcome: Literal["refuse", "escalate"], reason: str, text: str
    ) -> Verdict:
        return verdict.ended(outcome, reason, self._policy.text(text, self._locale))
