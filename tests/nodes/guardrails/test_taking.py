"""A policy may take over what another one knows, and an error still points into its own file."""

from typing import Any

import pytest

from turnwire.errors import SetupError
from turnwire.nodes.guardrails.policy import Policy, parse_policy, shipped_policy

HEALTH = shipped_policy("health")
TEXTS = "\n".join(
    f"    {key}: {key}"
    for key in (
        *("persona", "refusal", "injection", "escalation", "no_match"),
        *("review_rejected", "too_long", "empty", "unreadable", "pii_blocked"),
        *("crisis", "poisoning"),  # which acute rules answer with
    )
)
HEAD = f"name: own\ndefault_locale: en\ntexts:\n  en:\n{TEXTS}\n"
TAKES = "takes: {policy: health, sections: [spelling, excuses, acute, injection]}\n"


def policy(more: str) -> Policy:
    return parse_policy(HEAD + more, name="own.yaml")


def line_of(text: str, more: str) -> int:
    return (HEAD + more).splitlines().index(text) + 1


def test_what_is_taken_over_is_what_the_other_policy_has():
    own = policy(TAKES)

    assert own.spelling == HEALTH.spelling
    assert own.excuses == HEALTH.excuses
    assert own.injection == HEALTH.injection
    assert own.escalation == tuple(e for e in HEALTH.escalation if e.severity == "acute")


def test_only_what_is_named_is_taken_over():
    own = policy("takes: {policy: health, sections: [injection]}\n")

    assert own.injection == HEALTH.injection
    assert not own.escalation
    assert own.spelling == policy("").spelling != HEALTH.spelling


def test_rules_of_ones_own_follow_those_that_are_taken_over():
    own = policy(TAKES + "escalation:\n  - {id: angry, severity: high, phrases: [angry]}\n")

    assert [each.id for each in own.escalation][-1] == "angry"
    assert len(own.escalation) == len(policy(TAKES).escalation) + 1


def test_a_rule_that_is_taken_over_may_be_given_more_fair_wordings():
    own = policy(TAKES + "escalation:\n  - {id: acute_stroke, unless: [stroke of luck]}\n")
    rule = next(each for each in own.escalation if each.id == "acute_stroke")
    known = next(each for each in HEALTH.escalation if each.id == "acute_stroke")

    assert set(rule.unless) == {"stroke of luck", *known.unless}
    assert (rule.phrases, rule.severity) == (known.phrases, known.severity)
    assert [each.id for each in own.escalation] == [each.id for each in policy(TAKES).escalation]


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("takes: {policy: wealth, sections: []}", None, "docs, health, insurance"),
        ("takes: {policy: health, sections: [texts]}", None, "'spelling', 'excuses', 'acute'"),
        ("takes: health", None, "takes"),
        ("takes: {policy: health}", None, "this key is missing"),
        (
            "takes: {policy: health, sections: [injection]}\ninjection: []",
            "injection: []",
            "taken from 'health'",
        ),
        (
            f"{TAKES}escalation:\n  - {{id: acute_stroke, severity: high}}",
            "  - {id: acute_stroke, severity: high}",
            "only be given more `unless`",
        ),
        (
            f"{TAKES}escalation:\n  - {{id: odd, severity: odd, phrases: [odd]}}",
            "  - {id: odd, severity: odd, phrases: [odd]}",
            "escalation.0.severity",
        ),
        (f"{TAKES}escalation:\n  - odd", "  - odd", "escalation.0"),
    ],
)
def test_a_mistake_is_told_with_the_line_of_ones_own_file(more: str, line: str | None, said: str):
    with pytest.raises(SetupError) as raised:
        policy(more)

    at = line_of(line or more.splitlines()[0], more)
    assert str(raised.value).startswith(f"own.yaml:{at}: ")
    assert said in str(raised.value)


def test_the_insurance_policy_knows_every_sign_of_danger_that_the_health_policy_knows():
    known: dict[str, Any] = {each.id: each for each in shipped_policy("insurance").escalation}

    for rule in policy(TAKES).escalation:
        assert known[rule.id].phrases == rule.phrases
