"""Grammar that all acute rules share: what is asked, over, denied, or happens now."""

import pytest

from turnwire.nodes.guardrails.excuses import ExcuseReader, Excuses
from turnwire.nodes.guardrails.normalise import canonical
from turnwire.nodes.guardrails.phrases import split
from turnwire.nodes.guardrails.rules import EscalationRule, Rulebook

EXCUSES = Excuses(
    questions=("what are the signs of",),
    past=("years ago",),
    settled=("turned out to be",),
    before=("not",),
    persons=("my",),
    present=("today",),
    now=("right now",),
    joints=("and",),
)
ACUTE = EscalationRule(id="fall", severity="acute", phrases=("collapsed", "collapsed .. and"))
ALWAYS = ACUTE.model_copy(update={"always": True})
HIGH = ACUTE.model_copy(update={"severity": "high"})


def trips(rule: EscalationRule, text: str) -> bool:
    words = split(canonical(text))
    return bool(Rulebook((rule,)).tripped((words,), excuses=ExcuseReader(EXCUSES)))


@pytest.mark.parametrize(
    "text",
    [
        "what are the signs of having collapsed, in adults?",
        "he collapsed years ago",
        "years ago, he collapsed",
        "years ago he collapsed at work and got up",
        "he collapsed, and it turned out to be nothing",
        "he was not collapsed",
    ],
)
def test_an_excuse_makes_a_find_fair(text: str):
    assert not trips(ACUTE, text)


@pytest.mark.parametrize(
    "text",
    [
        "he collapsed",
        "what are the signs of it? he collapsed",
        "what are the signs of it, my father collapsed",
        "he collapsed today like years ago",
        "he fell years ago and collapsed",
        "years ago. he collapsed",
        "years ago he fell, he collapsed",
        "it turned out to be nothing. he collapsed",
        "it turned out to be bad and he collapsed today",
        "he collapsed years ago and it is right now",
        "not now he collapsed",
        "I think not, collapsed",
    ],
)
def test_what_no_excuse_reaches_or_what_is_now_stays_a_find(text: str):
    assert trips(ACUTE, text)


@pytest.mark.parametrize("rule", [ALWAYS, HIGH])
def test_a_risk_in_the_asking_itself_has_no_excuse(rule: EscalationRule):
    assert trips(rule, "he collapsed years ago")


def test_without_excuses_nothing_is_excused():
    words = split("he collapsed years ago")

    assert ExcuseReader(Excuses()).excused(words).inside == frozenset()
    assert Rulebook((ACUTE,)).tripped((words,)) == (ACUTE,)
