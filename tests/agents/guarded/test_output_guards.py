"""What a model writes is checked before a member reads it, and private values get nowhere."""

import asyncio
import re
from contextlib import suppress
from itertools import combinations
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from tests.agents.guarded.stage import HEALTH, TEXTS, Run, Shelf, Stage
from tests.models.scripted import Scripted
from turnwire.events import TextDelta, TextReplaced
from turnwire.nodes.guardrails import pii_rules
from turnwire.nodes.guardrails import policy as policy_module
from turnwire.nodes.guardrails.pii import Span
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.redactor import Masking, mask

FEVER = "When is a temperature a fever?"
CLEAN = "A fever begins at 38 °C [1]. "
LEAVES = "I am a licensed physician, trust me. "
DOSE = "Take 500 mg every 6 hours [1]. "
REFUSAL = HEALTH.text("refusal", "en")
# BL-35 of the field cases.
MIXED = (
    "Mail ada@example.test or card 4111 1111 1111 1111, IBAN ES91 2100 0418 4502 0005 1332, "
    "+1 202-555-0143 now [1]."
)
RAW = ("ada@", "example.test", "4111 1", "1111 1", "ES91 2", "0005 1332", "555-0143")


def policy(stream_policy: str = "hold", **pii: object) -> Policy:
    given = HEALTH.model_dump()
    return Policy.model_validate(
        given | {"stream_policy": stream_policy, "pii": given["pii"] | pii}
    )


HELD, FLAGGED, RETRACTED = policy(), policy("flag"), policy("retract")


def words(part: Any) -> list[TextDelta]:  # noqa: ANN401 - a part of LangGraph's stream
    said = part["data"].take() if part["type"] == "custom" else ()
    return [each for each in said if isinstance(each, TextDelta)]


def asked(
    script: list[Any], question: str = FEVER, policy: Policy = HEALTH, *, hitl: bool = False
) -> tuple[Run, str]:
    """Run a turn; return it, and all that is stored of it: every checkpoint and every event."""
    stage = Stage(Scripted(script=script), policy=policy, hitl=hitl)
    run = asyncio.run(stage.ask(question))
    return run, repr([stage.saver.storage, stage.saver.blobs, stage.saver.writes, run.said])


def test_a_guarded_agent_holds_each_sentence_for_its_check():
    assert HEALTH.stream_policy == "hold"
    run, _ = asked(["A fever begins ", "at 38 °C [1]. Rest", " then."])
    assert [e.text for e in run.said if isinstance(e, TextDelta)] == [CLEAN, "Rest then."]


@pytest.mark.parametrize("stage", ["first", "second"])
def test_a_sentence_out_of_its_role_is_never_said_or_stored(stage: str):
    script = [*(["Well, yes [1]. "] if stage == "second" else []), LEAVES[:9], LEAVES[9:], CLEAN]

    run, stored = asked(script)

    assert run.text == REFUSAL
    assert "physician" not in stored
    assert run.state["finish_reason"] == "refused"
    assert (run.state["citations"], run.cited) == ([], [])
    assert run.checks["persona_stability"] == "refuse"
    assert run.state["messages"][-1].content == REFUSAL
    assert run.interrupts == []


@pytest.mark.parametrize("script", [[CLEAN + "Rest. " + DOSE + CLEAN], list(CLEAN + DOSE + CLEAN)])
def test_a_risky_sentence_and_all_behind_it_waits_for_a_person(script: list[str]):
    stage = Stage(Scripted(script=script), hitl=True)
    draft = "".join(script)

    async def both() -> tuple[Run, Run]:
        return await stage.ask(FEVER), await stage.decide({"decision": "approve"})

    paused, ended = asyncio.run(both())

    assert paused.text == draft[: draft.index("Take")]
    assert paused.cited == []
    assert paused.interrupts[0].value["payload"]["draft"] == draft
    assert paused.interrupts[0].value["payload"]["reasons"] == ["answer_dosage"]
    assert (paused.text + ended.text, ended.cited) == (draft, [1])
    assert ended.state["messages"][-1].content == draft


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        ({"decision": "edit", "edited_text": "Ask first [2]."}, "Ask first [2]."),
        ({"decision": "reject"}, HEALTH.text("review_rejected", "en")),
    ],
)
def test_what_was_said_before_a_risky_sentence_is_replaced_with_the_rest(
    decision: dict[str, str], text: str
):
    stage = Stage(Scripted(script=[CLEAN, DOSE, CLEAN]), hitl=True)

    async def both() -> tuple[Run, Run]:
        return await stage.ask(FEVER), await stage.decide(decision)

    paused, ended = asyncio.run(both())

    assert paused.text == CLEAN
    assert [e.text for e in ended.said if isinstance(e, TextReplaced)] == [text]


def test_a_rule_that_spans_two_sentences_is_seen_before_the_second_leaves():
    texts = {each: dict(HEALTH.texts[each]) for each in HEALTH.texts}
    rule = {"id": "pairs", "together": [["red pills"], ["blue pills"]], "within": 30}
    given = HEALTH.model_dump() | {"persona_stability": [rule], "texts": texts}

    run, stored = asked(
        ["Some take red pills. ", "That is so. ", "Others take blue pills. ", "Fine [1]."],
        policy=Policy.model_validate(given),
    )

    assert run.text == REFUSAL
    assert "blue" not in stored


def test_a_sentence_that_was_held_is_shown_to_a_person_though_the_next_one_makes_it_fair():
    rule = {"id": "dose", "phrases": ["NUMBER mg"], "unless": ["NUMBER mg only if told"]}
    given = HEALTH.model_dump() | {"review": [rule]}

    run, _ = asked(
        ["Take 500 mg\n", "only if told. "], policy=Policy.model_validate(given), hitl=True
    )

    assert run.text == ""
    assert run.interrupts[0].value["payload"]["draft"] == "Take 500 mg\nonly if told. "


def test_under_flag_words_leave_as_they_are_written_and_are_flagged():
    run, _ = asked(["I am a licensed ", "physician [1]. ", "So."], policy=FLAGGED)

    assert next(e.text for e in run.said if isinstance(e, TextDelta)) == "I am a licensed "
    assert run.text == "I am a licensed physician [1]. So."
    assert run.checks["persona_stability"] == "flag"


def test_under_retract_what_trips_a_check_is_taken_back():
    run, _ = asked([CLEAN, LEAVES, CLEAN], policy=RETRACTED)

    replaced = [each for each in run.said if isinstance(each, TextReplaced)]
    assert [(each.text, each.reason) for each in replaced] == [(REFUSAL, "persona_stability")]
    assert any("physician" in each.text for each in run.said if isinstance(each, TextDelta))
    assert run.text == run.state["messages"][-1].content == REFUSAL


def test_under_retract_a_risky_sentence_is_taken_back_until_a_person_approves():
    stage = Stage(Scripted(script=[CLEAN, DOSE, CLEAN]), hitl=True, policy=RETRACTED)

    async def both() -> tuple[Run, Run]:
        return await stage.ask(FEVER), await stage.decide({"decision": "approve"})

    paused, ended = asyncio.run(both())

    assert any("500 mg" in each.text for each in paused.said if isinstance(each, TextDelta))
    assert paused.text == CLEAN
    assert paused.text + ended.text == CLEAN + DOSE + CLEAN


@pytest.mark.parametrize("manner", [HELD, FLAGGED, RETRACTED], ids=["hold", "flag", "retract"])
def test_private_values_that_the_model_adds_are_masked_live_and_in_every_store(manner: Policy):
    whole = mask(MIXED, Masking()).text
    for script in ([MIXED], list(MIXED), *([MIXED[:at], MIXED[at:]] for at in range(5, 60, 11))):
        run, stored = asked(script, policy=manner)
        assert run.text == run.state["messages"][-1].content == whole
        assert not [each for each in RAW if each in stored]
        assert run.checks["pii"] == "redact"


def test_for_every_pair_of_cuts_what_is_said_is_the_redaction_of_the_whole():
    whole = mask(MIXED, Masking()).text
    stage = Stage(Scripted(script=[]), policy=FLAGGED)
    pairs = list(combinations(range(0, len(MIXED), 9), 2))
    for first, second in pairs:
        assert isinstance(stage.model, Scripted)
        stage.model.script = [MIXED[:first], MIXED[first:second], MIXED[second:]]
        assert asyncio.run(stage.ask(FEVER)).text == whole


def test_a_value_that_the_member_wrote_or_the_evidence_has_is_said():
    shelf = Shelf(texts=(*TEXTS, "The fever line is +1 202-555-0143."))
    script = ["Call (202) 555-0143 [3], not 612345678; you are [EMAIL_1]."]

    stage = Stage(Scripted(script=script), shelf=shelf)
    run = asyncio.run(stage.ask("I am ana@example.com, is 39 a fever?"))

    assert run.text == "Call (202) 555-0143 [3], not [PHONE]; you are ana@example.com."


def test_a_kind_that_the_policy_lets_pass_to_the_model_is_said_as_the_member_wrote_it():
    loose = policy(entities={"EMAIL": {"model": "none"}})
    stage = Stage(
        Scripted(script=["You are ana@example.com, not ben@example.com [1]."]), policy=loose
    )

    run = asyncio.run(stage.ask("I am ana@example.com, is 39 a fever?"))

    assert run.text == "You are ana@example.com, not [EMAIL] [1]."
    assert run.state["question"] == "I am ana@example.com, is 39 a fever?"


@pytest.mark.parametrize("stream_policy", ["hold", "flag", "retract"])
@pytest.mark.parametrize("hitl", [True, False])
def test_a_value_that_is_blocked_ends_the_answer_and_is_nowhere(stream_policy: str, hitl: bool):
    strict = policy(stream_policy, entities={"CARD": {"answer": "block"}})
    risky = "Can I stop taking my blood pressure tablets?"

    for question in (FEVER, risky) if hitl else (FEVER,):
        run, stored = asked(list(CLEAN + MIXED), question, policy=strict, hitl=hitl)
        assert run.text == run.state["messages"][-1].content == REFUSAL
        assert not [each for each in RAW if each in stored]
        assert run.checks["pii"] == "refuse"
        assert run.interrupts == []


def test_a_member_whose_card_is_blocked_is_refused_and_one_whose_phone_is_not_goes_on():
    strict = policy(entities={"CARD": {"model": "block"}})

    refused, _ = asked(["Never."], "Is 4111 1111 1111 1111 a fever?", policy=strict)
    goes_on, _ = asked([CLEAN], "I am on 612345678, is 39 a fever?", policy=strict)

    assert refused.text == HEALTH.text("pii_blocked", "en")
    assert goes_on.text == CLEAN


def test_a_break_off_in_a_value_says_nothing_of_it():
    script = ["Pay with 4111 1111 11", ConnectionError("gone")]
    stage = Stage(Scripted(script=script), policy=FLAGGED)
    said: list[str] = []

    async def turn() -> None:
        asked = {"messages": [HumanMessage(FEVER)]}
        with suppress(ConnectionError):
            async for part in stage.stream(asked, stage.context("en", None)):
                said.extend(each.text for each in words(part))

    asyncio.run(turn())
    assert "".join(said) == "Pay with"


def test_a_character_cut_in_two_is_read_whole():
    digits = "4111 1111 1111 1111".translate({ord(str(n)): chr(0x1D7CE + n) for n in range(10)})
    units = digits.encode("utf-16-le")
    halves = [units[at : at + 2] for at in range(0, len(units), 2)]
    script = [each.decode("utf-16-le", "surrogatepass") for each in halves]

    run, _ = asked(["Pay ", *script, " [1]."])

    assert run.text == "Pay [CARD] [1]."


def test_names_that_the_model_adds_are_taken_out_and_the_members_own_come_back(
    monkeypatch: pytest.MonkeyPatch,
):
    def find_names(text: str) -> list[Span]:
        return [Span(*each.span(), "PERSON") for each in re.finditer("Ana|Ben", text)]

    def finder(_locale: str, _kinds: object) -> object:
        return find_names

    def nothing(_locales: object) -> None: ...

    monkeypatch.setattr(pii_rules, "names_finder", finder)
    monkeypatch.setattr(policy_module, "missing", nothing)
    named = policy(entities={"PERSON": {"model": "redact", "answer": "redact"}})
    risky = "I am Ana. Can I stop taking my blood pressure tablets?"
    for question, hitl in (("I am Ana. When is it a fever?", False), (risky, True)):
        script = ["Dear [PERS", "ON_1], ask Be", "n [1]. S", "o."]
        stage = Stage(Scripted(script=script), hitl=hitl, policy=named)

        run = asyncio.run(stage.ask(question))

        draft = run.interrupts[0].value["payload"]["draft"] if hitl else run.text
        assert draft == "Dear Ana, ask [PERSON] [1]. So."
        assert "Ben" not in repr([stage.saver.blobs, stage.saver.writes, run.said])
