import pytest
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from turnwire.nodes.review.decision import DECISION_SCHEMA, read_decision


@pytest.mark.parametrize(
    ("answer", "outcome", "text"),
    [
        ({"decision": "approve"}, "approve", ""),
        ({"decision": "approve", "edited_text": "ignored"}, "approve", ""),
        ({"decision": "edit", "edited_text": "Better."}, "edit", "Better."),
        ({"decision": "reject"}, "reject", ""),
    ],
)
def test_a_decision_is_read(answer: JsonValue, outcome: str, text: str):
    decision = read_decision(answer)
    assert (decision.outcome, decision.text, decision.reason) == (outcome, text, None)
    Draft202012Validator(DECISION_SCHEMA).validate(answer)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "approve",
        [],
        {},
        {"decision": "Approve"},
        {"decision": True},
        {"decision": "edit"},
        {"decision": "edit", "edited_text": "  "},
        {"decision": "edit", "edited_text": 3},
    ],
)
def test_an_unreadable_decision_is_a_rejection(answer: JsonValue):
    decision = read_decision(answer)
    assert (decision.outcome, decision.reason) == ("reject", "unreadable_decision")
    assert not Draft202012Validator(DECISION_SCHEMA).is_valid(answer)


def test_a_draft_that_nobody_decided_on_in_time_is_rejected_for_that():
    decision = read_decision({"decision": "expired"})
    assert (decision.outcome, decision.reason) == ("reject", "expired")
