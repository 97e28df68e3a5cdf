"""A verdict rule by rule, for whoever writes a policy; never for a log, for it quotes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from turnwire.events.guardrail import Check, GuardrailDecision
from turnwire.nodes.guardrails.examples import Examples, Likeness
from turnwire.nodes.guardrails.excuses import ExcuseReader
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.pre import Verdict, examine
from turnwire.nodes.guardrails.reading import read
from turnwire.nodes.guardrails.rules import Finding, Rule, Rulebook
from turnwire.nodes.guardrails.scope import Scope

CHECKS: Final[tuple[Check, ...]] = ("input_validation", "pii", "escalation", "scope_rules")
"""The checks that need no model, in the order in which they are made."""


@dataclass(frozen=True, slots=True)
class Section:
    """What the rules of one section of the policy found."""

    name: str
    """As in the policy: ``escalation``, ``scope.out_of_scope`` …"""
    findings: tuple[Finding[Rule], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One check."""

    check: Check
    decision: GuardrailDecision | None
    """None: it was not made, because an earlier one ended the turn."""
    sections: tuple[Section, ...] = ()
    """Those in which a rule found something."""
    likeness: Likeness | None = None
    """What the question is like, where that was asked."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict, and how it came about."""

    verdict: Verdict
    steps: tuple[Step, ...]


async def explain(
    messages: Sequence[str], *, policy: Policy, locale: str, examples: Examples | None = None
) -> Explanation:
    """Return the verdict on the new messages of one turn, check by check; no judge is asked."""
    scope = Scope(policy=policy, examples=examples)
    verdict = examine(messages, policy=policy, locale=locale)
    question = "\n\n".join(verdict.messages)
    asked = examples is not None and scope.concerns(verdict)
    likeness = examples.likeness(question) if examples is not None and asked else None
    verdict = await scope.hold(verdict, question, locale=locale)
    made = {each.check: each for each in verdict.decisions}
    found = _found(messages, policy, verdict) if "escalation" in made else {}
    steps = (
        Step(
            check=each,
            decision=made.get(each),
            sections=tuple(found.get(each, ())) if each in made else (),
            likeness=likeness if each == "scope_rules" else None,
        )
        for each in CHECKS
    )
    return Explanation(verdict, tuple(steps))


def plain(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON has it."""
    verdict = explanation.verdict
    return {
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "fixed_text": verdict.fixed_text,
        "review_reasons": list(verdict.review_reasons),
        "messages": list(verdict.messages),
        "checks": [_plain_step(each) for each in explanation.steps],
    }


def _plain_step(step: Step) -> dict[str, Any]:
    decision, like = step.decision, step.likeness
    return {
        "check": step.check,
        "outcome": decision.outcome if decision else None,
        "reason": decision.reason if decision else None,
        "rules": [
            {
                "section": section.name,
                "rule": finding.rule.id,
                "trips": finding.trips,
                "found": [
                    {
                        "phrase": each.phrase,
                        "words": each.words,
                        "part": each.part,
                        "spared_by": each.spared_by,
                    }
                    for each in finding.traces
                ],
            }
            for section in step.sections
            for finding in section.findings
        ],
        "likeness": None
        if like is None
        else {
            "example": like.example,
            "nearness": round(like.nearness, 3),
            "needed": like.needed,
            "counterexample": like.counterexample,
            "counter_nearness": round(like.counter_nearness, 3),
            "holds": like.holds,
        },
    }


def _found(messages: Sequence[str], policy: Policy, verdict: Verdict) -> dict[Check, list[Section]]:
    words = read(messages, known=policy.knows, spelt=policy.spelt, mended=policy.speller.mended)

    def sections(
        *named: tuple[str, Rulebook[Any]], excuses: ExcuseReader | None = None
    ) -> Iterator[Section]:
        for name, book in named:
            findings = book.findings(words, excuses=excuses)
            if findings:
                yield Section(name, findings)

    scope = sections(
        ("injection", policy.injection_book),
        ("refusals", policy.refusal_book),
        ("scope.out_of_scope", policy.scope_book),
        ("scope.in_scope", policy.in_scope_book),
    )
    # Small talk counts only where it is all that was said.
    greeted = verdict.outcome == "proceed" and verdict.fixed_text is not None
    talk = sections(("small_talk", policy.small_talk_book)) if greeted else ()
    return {
        "escalation": list(
            sections(("escalation", policy.escalation_book), excuses=policy.excuse_reader)
        ),
        "scope_rules": [*scope, *talk],
    }
