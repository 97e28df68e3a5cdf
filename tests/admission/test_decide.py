"""May this turn start, and which pause does this answer? The whole table."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue

from tests.scenarios.play import EPOCH, Scenario, opening
from tests.scenarios.play import envelopes as played
from tests.scenarios.turns import asked
from turnwire.admission.decide import (
    Ask,
    Begin,
    IfBusy,
    Interrupt,
    Join,
    WaitFor,
    admit,
    answer_confirmation,
    answer_inputs,
    answer_review,
    answer_sign_in,
)
from turnwire.errors import (
    AlreadyDecided,
    ConfirmationUnavailable,
    NotFound,
    QuotaExceeded,
    RequestInvalid,
    ResumeUnavailable,
    TurnInProgress,
)
from turnwire.events import PauseKind
from turnwire.ids import ConversationId, PauseId, TurnId
from turnwire.storage.base import (
    ConversationFacts,
    ConversationRecord,
    PausePhase,
    PauseRecord,
    TurnPhase,
)
from turnwire.storage.members import Charge, Used

CONVERSATION = ConversationRecord(
    conversation_id=ConversationId("conv_1"),
    principal="key:1",
    agent="helper",
    created_ms=1,
    updated_ms=1,
    turns=3,
)
_SCENARIO = Scenario("t", (), phase="running", content="")
TURN = replace(opening(_SCENARIO, played(_SCENARIO)).turn, body_hash="hash")


def ask(
    *,
    principal: str = "key:1",
    conversation_id: str | None = "conv_1",
    agent: str = "helper",
    if_busy: IfBusy = "reject",
    body_hash: str = "hash",
) -> Ask:
    return Ask(
        principal=principal,
        conversation_id=ConversationId(conversation_id) if conversation_id else None,
        agent=agent,
        if_busy=if_busy,
        body_hash=body_hash,
    )


def facts(phase: TurnPhase | None = None, *, repeated: bool = False) -> ConversationFacts:
    return ConversationFacts(
        conversation=CONVERSATION,
        active=replace(TURN, phase=phase) if phase else None,
        repeated=TURN if repeated else None,
    )


def test_a_turn_without_a_conversation_begins_a_new_one():
    assert admit(ask(conversation_id=None), ConversationFacts()) == Begin()


def test_a_free_conversation_takes_the_turn():
    assert admit(ask(), facts()) == Begin()


def test_a_paused_turn_is_dropped_by_a_new_one():
    assert admit(ask(), facts("paused")) == Begin(dropping=replace(TURN, phase="paused"))


def test_a_busy_conversation_refuses_where_the_caller_says_so():
    with pytest.raises(TurnInProgress):
        admit(ask(if_busy="reject"), facts("running"))


def test_a_busy_conversation_is_waited_for_or_interrupted_where_the_caller_says_so():
    assert admit(ask(if_busy="enqueue"), facts("running")) == WaitFor(TURN)
    assert admit(ask(if_busy="interrupt"), facts("running")) == Interrupt(TURN)


@pytest.mark.parametrize(
    ("asking", "known"),
    [
        (ask(), ConversationFacts()),
        (ask(principal="key:2"), facts()),
        (ask(principal="key:2"), facts("running")),
        (ask(agent="other"), facts()),
    ],
    ids=["unknown", "somebody else's", "somebody else's and busy", "another agent's"],
)
def test_unknown_and_foreign_conversations_are_the_same(asking: Ask, known: ConversationFacts):
    with pytest.raises(NotFound, match=r"^There is no such conversation\.$"):
        admit(asking, known)


@pytest.mark.parametrize("phase", [None, "running", "paused"])
@pytest.mark.parametrize("if_busy", ["reject", "enqueue", "interrupt"])
def test_the_same_request_joins_the_turn_that_it_began(phase: Any, if_busy: Any):  # noqa: ANN401
    assert admit(ask(if_busy=if_busy), facts(phase, repeated=True)) == Join(TURN)


def test_another_request_under_the_same_key_is_refused():
    with pytest.raises(RequestInvalid) as raised:
        admit(ask(body_hash="other"), facts(repeated=True))

    assert raised.value.details[0]["path"] == "Idempotency-Key"


def pause(
    pause_id: str = "rev_1",
    *,
    kind: PauseKind = "review",
    phase: PausePhase = "open",
    expires_ms: int | None = None,
    principal: str = "key:1",
    turn_id: str = "trn_1",
    schema: dict[str, JsonValue] | None = None,
) -> PauseRecord:
    question = asked(pause_id, kind=kind, expires_ms=expires_ms)
    return PauseRecord(
        pause=question.model_copy(update={"response_schema": schema}),
        turn_id=TurnId(turn_id),
        conversation_id=ConversationId("conv_1"),
        principal=principal,
        agent="helper",
        phase=phase,
        decision="approve" if phase == "answered" else None,
    )


def test_the_newest_review_is_answered():
    newest, older = pause("rev_2"), pause("rev_1", phase="answered")

    assert answer_review([newest, older], now=EPOCH) == newest


@pytest.mark.parametrize(
    ("expires_ms", "answerable"),
    [(EPOCH + 1, True), (EPOCH, False), (EPOCH - 1, False), (None, True)],
)
def test_a_review_can_be_answered_until_its_last_millisecond(
    expires_ms: int | None, answerable: bool
):
    record = pause(expires_ms=expires_ms)
    if answerable:
        assert answer_review([record], now=EPOCH) == record
    else:
        with pytest.raises(ResumeUnavailable):
            answer_review([record], now=EPOCH)


@pytest.mark.parametrize(
    "pauses",
    [[], [pause(kind="input")], [pause(phase="dropped")]],
    ids=["none", "other", "dropped"],
)
def test_where_no_review_waits_there_is_nothing_to_resume(pauses: list[PauseRecord]):
    with pytest.raises(ResumeUnavailable):
        answer_review(pauses, now=EPOCH)


def test_a_review_that_was_decided_says_how():
    with pytest.raises(AlreadyDecided, match="approve") as raised:
        answer_review([pause(phase="answered", expires_ms=EPOCH - 1)], now=EPOCH)

    assert raised.value.decision == "approve"


def answers(**values: JsonValue) -> dict[PauseId, JsonValue]:
    return {PauseId(name): value for name, value in values.items()}


def test_inputs_are_answered_by_name():
    first, second = pause("pse_1", kind="input"), pause("pse_2", kind="input")

    assert answer_inputs("key:1", [second, first], answers(pse_1="yes"), now=EPOCH) == [first]
    both = answer_inputs("key:1", [second, first], answers(pse_2=1, pse_1=2), now=EPOCH)
    assert both == [second, first]


@pytest.mark.parametrize(
    "known",
    [
        [],
        [pause("pse_2", kind="input")],
        [pause("pse_1", kind="input", principal="key:2")],
        [pause("pse_1", kind="review")],
        [pause("pse_1", kind="input", phase="dropped")],
        [pause("pse_1", kind="input", expires_ms=EPOCH)],
    ],
    ids=["none", "unknown", "somebody else's", "a review", "dropped", "expired"],
)
def test_what_cannot_be_answered_is_told_in_one_text(known: list[PauseRecord]):
    with pytest.raises(ResumeUnavailable, match=r"^There is nothing to resume here\.$"):
        answer_inputs("key:1", known, answers(pse_1="yes"), now=EPOCH)


def test_answers_of_two_turns_are_not_mixed():
    known = [pause("pse_1", kind="input"), pause("pse_2", kind="input", turn_id="trn_2")]

    with pytest.raises(ResumeUnavailable):
        answer_inputs("key:1", known, answers(pse_1=1, pse_2=2), now=EPOCH)


def test_no_answer_at_all_answers_nothing():
    with pytest.raises(ResumeUnavailable):
        answer_inputs("key:1", [pause("pse_1", kind="input")], {}, now=EPOCH)


def test_an_input_that_was_answered_says_so():
    with pytest.raises(AlreadyDecided):
        answer_inputs(
            "key:1", [pause("pse_1", kind="input", phase="answered")], answers(pse_1=1), now=EPOCH
        )


SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}},
    "required": ["amount"],
}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"amount": 0}, "answers.pse_1.amount"),
        ({"amount": "1"}, "answers.pse_1.amount"),
        ({}, "answers.pse_1"),
        ("yes", "answers.pse_1"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused_by_its_path(value: JsonValue, path: str):
    known = [pause("pse_1", kind="input", schema=SCHEMA)]

    with pytest.raises(RequestInvalid) as raised:
        answer_inputs("key:1", known, answers(pse_1=value), now=EPOCH)

    assert [each["path"] for each in raised.value.details] == [path]


def test_an_answer_of_the_right_shape_passes():
    known = [pause("pse_1", kind="input", schema=SCHEMA)]

    assert answer_inputs("key:1", known, answers(pse_1={"amount": 1}), now=EPOCH) == known


@pytest.mark.parametrize(
    "schema",
    [{"type": "no such type"}, {"$ref": "#/nowhere"}, {"$ref": "https://evil.test/schema.json"}],
)
def test_a_schema_that_is_none_is_left_to_the_graph(schema: dict[str, JsonValue]):
    known = [pause("pse_1", kind="input", schema=schema)]

    assert answer_inputs("key:1", known, answers(pse_1={"amount": 1}), now=EPOCH) == known


USED_UP = Charge(subject="key:1", window_ms=1000, start_ms=0, messages=1)


def test_an_allowance_is_asked_before_the_conversation_and_not_for_a_request_sent_again():
    full = replace(ask(principal="key:2"), charges=(USED_UP,), now=400)
    looked = replace(facts("running"), used=(Used(1, 0),))
    with pytest.raises(QuotaExceeded) as refused:
        admit(full, looked)
    assert refused.value.retry_after == 0.6
    assert admit(full, replace(looked, repeated=TURN)) == Join(TURN)
    with pytest.raises(NotFound):
        admit(full, replace(looked, used=(Used(),)))


def cnf(pause_id: str = "cnf_1", **more: Any) -> PauseRecord:  # noqa: ANN401
    return pause(pause_id, kind="confirmation", **more)


def test_a_confirmation_is_answered_by_its_id():
    pauses = [cnf("cnf_2"), cnf("cnf_1")]

    assert answer_confirmation("key:1", pauses, PauseId("cnf_1")) == pauses[1]


@pytest.mark.parametrize(
    "known",
    [
        [],
        [cnf("cnf_2")],
        [cnf(principal="key:2")],
        [cnf(phase="answered")],
        [cnf(phase="dropped")],
        [pause("cnf_1", kind="review")],
    ],
    ids=["none", "unknown", "foreign", "answered", "dropped", "of another kind"],
)
def test_every_confirmation_that_cannot_be_given_is_refused_alike(known: list[PauseRecord]):
    with pytest.raises(ConfirmationUnavailable) as raised:
        answer_confirmation("key:1", known, PauseId("cnf_1"))

    assert str(raised.value) == "There is nothing to confirm here."


def test_a_sign_in_answers_everything_that_waits_for_it():
    waiting = [pause("pse_1", kind="sign_in"), pause("pse_2", kind="sign_in")]

    assert answer_sign_in("key:1", [*waiting, cnf()], now=EPOCH) == waiting


@pytest.mark.parametrize(
    "known",
    [
        [],
        [cnf()],
        [pause("pse_1", kind="sign_in", principal="key:2")],
        [pause("pse_1", kind="sign_in", phase="answered")],
        [pause("pse_1", kind="sign_in", expires_ms=EPOCH)],
    ],
    ids=["none", "of another kind", "foreign", "answered", "expired"],
)
def test_without_anything_that_waits_for_a_sign_in_nothing_is_resumed(known: list[PauseRecord]):
    with pytest.raises(ResumeUnavailable):
        answer_sign_in("key:1", known, now=EPOCH)
