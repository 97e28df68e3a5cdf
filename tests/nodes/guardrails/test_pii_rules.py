"""What is done about personal data follows the kind and where a text goes."""

from collections.abc import Collection, Iterator

import pytest
from pydantic import ValidationError

from turnwire.nodes.guardrails import pii_rules
from turnwire.nodes.guardrails.pii import Span
from turnwire.nodes.guardrails.pii_names import FindNames
from turnwire.nodes.guardrails.pii_rules import PiiRules, Sink
from turnwire.nodes.guardrails.policy import shipped_policies, shipped_policy

TEXT = "ada@example.test, 4111 1111 1111 1111, 8.8.8.8"


def rules(**given: object) -> PiiRules:
    return PiiRules.model_validate(given)


def test_by_default_models_answers_and_logs_are_redacted():
    usual = rules()

    assert set(usual.masking("model").actions.values()) == {"redact"}
    assert set(usual.masking("answer").actions.values()) == {"redact"}
    assert usual.log_text(TEXT) == "[EMAIL], [CARD], 8.8.8.8"


@pytest.mark.parametrize("sink", ["tools", "index", "memory"])
def test_tools_index_and_memory_get_the_words_as_they_are_where_nothing_is_said(sink: Sink):
    for each in (rules(), *(shipped_policy(name).pii for name in shipped_policies())):
        assert each.masking(sink).kinds == ()


def test_the_older_action_is_what_is_done_about_a_message():
    blocking = rules(action="block")

    assert set(blocking.masking("model").actions.values()) == {"block"}
    assert set(blocking.masking("answer").actions.values()) == {"redact"}


def test_a_kind_may_have_its_own_rule_at_each_sink():
    own = rules(
        sinks={"answer": "none", "log": "none"},
        entities={"CARD": {"answer": "block", "log": "redact"}, "IP": {"log": "redact"}},
    )

    assert own.masking("answer").actions["CARD"] == "block"
    assert own.masking("answer").kinds == ("CARD",)
    assert "IP" not in own.masking("model").actions
    assert own.log_text(TEXT) == "ada@example.test, [CARD], [IP]"


def test_of_a_log_line_that_is_blocked_only_the_kind_stays():
    assert rules(entities={"CARD": {"log": "block"}}).log_text(TEXT) == "[CARD]"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"action": "block", "sinks": {"model": "none"}}, "say different things"),
        ({"sinks": {"printer": "none"}}, "printer"),
        ({"sinks": {"log": "hide"}}, "sinks.log"),
        ({"entities": {"CARD": {"log": "hide"}}}, "entities.CARD.log"),
        ({"entities": {"SHOE_SIZE": {"log": "none"}}}, "SHOE_SIZE"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], complaint: str):
    with pytest.raises(ValidationError, match=complaint):
        rules(**given)


@pytest.mark.parametrize("name", ["health", "docs"])
def test_a_shipped_policy_lets_no_private_value_of_the_model_out(name: str):
    assert set(shipped_policy(name).pii.masking("answer").actions.values()) == {"redact"}


def test_names_are_taken_out_of_a_log_where_the_policy_looks_for_them():
    named = rules(kinds=["EMAIL", "PERSON", "ADDRESS"])
    text = "Mr Jones of 12 Baker Street, jones@example.test"

    assert named.log_text(text) == "Mr [PERSON] of [ADDRESS], [EMAIL]"
    assert rules().log_text(text) == "Mr Jones of 12 Baker Street, [EMAIL]"
    assert (
        rules(kinds=["PERSON"], entities={"PERSON": {"log": "block"}}).log_text("Ask Mr Jones.")
        == "[PERSON]"
    )


def test_of_a_preview_the_model_of_the_language_is_asked_unless_it_is_long(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[str] = []

    def finder(locale: str, kinds: Collection[str]) -> FindNames:
        def find(text: str) -> Iterator[Span]:
            asked.append(locale)
            yield Span(0, 3, "PERSON")

        return find

    monkeypatch.setattr(pii_rules, "names_finder", finder)
    named = rules(kinds=["PERSON"])

    assert named.log_text("Ana called", locale="es") == "[PERSON] called"
    assert named.log_text("Ana called") == "Ana called"
    long = "Ana called. " * 200
    assert named.log_text(long, locale="es") == long
    assert asked == ["es"]
