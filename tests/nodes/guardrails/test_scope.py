"""Rules first, then likeness, then the judge; each is asked only where it has to be."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.models.scripted import Scripted
from turnwire.nodes.guardrails.examples import Examples
from turnwire.nodes.guardrails.judge import Judge
from turnwire.nodes.guardrails.policy import Policy, shipped_policy
from turnwire.nodes.guardrails.pre import Verdict, examine
from turnwire.nodes.guardrails.scope import Scope

INSURANCE = shipped_policy("insurance")
FENCE = "5f0c9a"
STRANGE = "how old is the universe"
USUAL = "can I switch doctors"


@dataclass
class Sorting:
    """Encodes what a member of an insurance might ask one way, all else another way."""

    asked: int = 0
    broken: bool = False

    def encode(self, texts: Sequence[str], /) -> npt.NDArray[np.float32]:
        self.asked += 1
        if self.broken:
            raise RuntimeError("no memory")
        rows = [(0, 1) if each == STRANGE else (1, 0) for each in texts]
        return np.asarray(rows, dtype=np.float32)


def ruled(**scope: object) -> Policy:
    changed = INSURANCE.scope.model_copy(update={"counterexamples": {}, **scope})
    return INSURANCE.model_copy(update={"scope": changed})


def judging(value: str) -> Scripted:
    return Scripted(script=[json.dumps({"message": FENCE, "verdict": value})])


def held(
    message: str,
    *,
    policy: Policy | None = None,
    judge: Scripted | None = None,
    encoder: Sorting | None = None,
    locale: str = "en",
    clock: Callable[[], float] | None = None,
) -> Verdict:
    policy = policy or ruled()
    more: Mapping[str, Any] = {"clock": clock} if clock else {}
    scope = Scope(
        policy=policy,
        examples=Examples(policy.scope, encoder or Sorting()),
        judge=Judge(judge, policy, fresh=lambda: FENCE) if judge else None,
        **more,
    )
    verdict = examine([message], policy=policy, locale=locale)
    return asyncio.run(scope.hold(verdict, message, locale=locale))


def told(verdict: Verdict) -> list[tuple[str, str, str | None]]:
    decisions = [each for each in verdict.decisions if each.check.startswith("scope")]
    return [(each.check, each.outcome, each.reason) for each in decisions]


def test_a_question_like_an_example_passes_without_the_judge():
    judge = judging("out_of_scope")

    verdict = held(USUAL, judge=judge)

    assert (verdict.outcome, told(verdict)) == ("proceed", [("scope_rules", "pass", None)])
    assert judge.prompts == []


def test_without_a_judge_a_question_like_none_is_refused():
    verdict = held(STRANGE, locale="es")

    assert (verdict.outcome, verdict.reason) == ("refuse", "unlike_examples")
    assert told(verdict) == [("scope_rules", "refuse", "unlike_examples")]
    assert verdict.fixed_text == INSURANCE.texts["es"]["refusal"]


@pytest.mark.parametrize(
    ("value", "outcome", "reason", "text"),
    [
        ("in_scope", "pass", None, None),
        ("out_of_scope", "refuse", "out_of_scope", "refusal"),
        ("injection", "refuse", "injection", "injection"),
    ],
)
def test_the_judge_decides_about_a_question_like_none(
    value: str, outcome: str, reason: str | None, text: str | None
):
    verdict = held(STRANGE, judge=judging(value))

    assert told(verdict) == [
        ("scope_rules", "flag", "unlike_examples"),
        ("scope_judge", outcome, reason),
    ]
    assert verdict.outcome == ("proceed" if outcome == "pass" else "refuse")
    assert verdict.fixed_text == (INSURANCE.texts["en"][text] if text else None)


def test_a_judge_may_be_asked_about_everything():
    policy = ruled(judge=INSURANCE.scope.judge.model_copy(update={"asked": "always"}))

    verdict = held("What does my policy cover?", policy=policy, judge=judging("injection"))

    assert told(verdict) == [("scope_rules", "pass", None), ("scope_judge", "refuse", "injection")]


def test_without_examples_the_judge_is_asked_where_no_rule_says_that_it_is_fair():
    policy = ruled(examples={})

    def told_of(message: str) -> list[tuple[str, str, str | None]]:
        judge = Judge(judging("out_of_scope"), policy, fresh=lambda: FENCE)
        scope = Scope(policy=policy, judge=judge)
        verdict = examine([message], policy=policy, locale="en")
        return told(asyncio.run(scope.hold(verdict, message, locale="en")))

    assert told_of("my claim") == [("scope_rules", "pass", None)]
    assert told_of(USUAL)[1] == ("scope_judge", "refuse", "out_of_scope")


@pytest.mark.parametrize(
    "message",
    [
        "What does my policy cover?",
        "You will hear from my lawyer",
        "hello",
        "Approve my claim",
        "I have chest pain",
        "tell me a joke",
        "",
    ],
)
def test_what_a_rule_has_decided_is_neither_encoded_nor_judged(message: str):
    encoder, judge = Sorting(), judging("out_of_scope")
    before = examine([message], policy=ruled(), locale="en")

    after = held(message, judge=judge, encoder=encoder)

    assert (after.outcome, told(after)) == (before.outcome, told(before))
    assert (encoder.asked, judge.prompts) == (0, [])


@pytest.mark.parametrize(
    ("said", "reason"),
    [([ConnectionError()], "judge_unavailable"), (["well, yes"], "judge_unreadable")],
)
def test_a_judge_that_fails_lets_pass_or_refuses_as_the_policy_says(said: list[Any], reason: str):
    closed = held(STRANGE, policy=ruled(on_failure="closed"), judge=Scripted(script=said))
    opened = held(STRANGE, policy=ruled(on_failure="open"), judge=Scripted(script=said))

    assert (closed.outcome, told(closed)[-1]) == ("refuse", ("scope_judge", "refuse", reason))
    assert closed.fixed_text == INSURANCE.texts["en"]["refusal"]
    assert (opened.outcome, told(opened)[-1]) == ("proceed", ("scope_judge", "flag", reason))
    assert opened.fixed_text is None


def test_an_encoder_that_fails_lets_pass_or_refuses_as_the_policy_says():
    closed = held(USUAL, policy=ruled(on_failure="closed"), encoder=Sorting(broken=True))
    opened = held(USUAL, policy=ruled(on_failure="open"), encoder=Sorting(broken=True))

    assert told(closed) == [("scope_rules", "refuse", "similarity_unavailable")]
    assert (closed.outcome, opened.outcome) == ("refuse", "proceed")
    assert told(opened) == [("scope_rules", "flag", "similarity_unavailable")]


def test_where_the_encoder_fails_the_judge_still_decides():
    verdict = held(USUAL, encoder=Sorting(broken=True), judge=judging("in_scope"))

    assert verdict.outcome == "proceed"
    assert told(verdict)[-1] == ("scope_judge", "pass", None)


def test_reasons_for_a_review_outlive_the_judge():
    policy = ruled(judge=INSURANCE.scope.judge.model_copy(update={"asked": "always"}))

    verdict = held("You will hear from my lawyer", policy=policy, judge=judging("in_scope"))

    assert verdict.review_reasons == ("high_legal_threat",)


def test_the_time_that_a_check_took_is_noted():
    ticks = iter(range(100))

    verdict = held(STRANGE, judge=judging("in_scope"), clock=lambda: float(next(ticks)))

    took = [each.duration_ms for each in verdict.decisions if each.check.startswith("scope")]
    assert took == [1000, 1000]
