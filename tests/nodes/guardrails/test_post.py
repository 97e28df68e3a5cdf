"""What is noted about an answer, and when a person has to read it first."""

import pytest

from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.nodes.guardrails.post import check_answer
from turnwire.nodes.guardrails.review import assess_review_need

HEALTH = shipped_policy("health")


def noted(answer: str, *, cited: int = 1, evidence: int = 1, locale: str = "en") -> dict[str, str]:
    decisions = check_answer(answer, cited=cited, evidence=evidence, policy=HEALTH, locale=locale)
    assert {each.stage for each in decisions} == {"post"}
    assert {each.outcome for each in decisions} <= {"pass", "flag"}
    return {each.check: each.reason or "pass" for each in decisions}


@pytest.mark.parametrize(
    ("cited", "evidence", "reason"),
    [(0, 3, "uncited"), (1, 3, "pass"), (0, 0, "pass"), (2, 2, "pass")],
)
def test_an_answer_that_had_evidence_has_to_cite(cited: int, evidence: int, reason: str):
    assert noted("Water is wet.", cited=cited, evidence=evidence)["missing_citation"] == reason


@pytest.mark.parametrize(("cited", "evidence"), [(1, 6), (0, 6)])
def test_an_invented_citation_is_flagged_beside_real_ones(cited: int, evidence: int):
    (decision, _) = check_answer(
        "Yes [1]. Wrong [9] and [0].",
        cited=cited,
        invented=2,
        evidence=evidence,
        policy=HEALTH,
        locale="en",
    )

    assert (decision.outcome, decision.reason) == ("flag", "invented_citation")


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        ("claims_clinician", "As your doctor, I would rest."),
        ("claims_clinician", "I'm a licensed physician and I have seen this."),
        ("claims_clinician", "Soy médico y te digo que descanses."),
        ("claims_human", "I am a real person, do not worry."),
        ("claims_human", "No soy un robot."),
        ("diagnoses", "You definitely have the flu."),
        ("diagnoses", "Probablemente tienes diabetes."),
        ("prescribes", "I prescribe rest and this ointment."),
        ("prescribes", "No necesitas ir al médico."),
        ("reveals_instructions", "My system prompt says that I must cite."),
        ("leaves_persona", "Developer mode enabled."),
        ("reveals_persona_text", "Sure: " + HEALTH.texts["en"]["persona"][:200]),
    ],
)
def test_an_answer_that_leaves_its_role_is_flagged(reason: str, answer: str):
    assert noted(answer)["persona_stability"] == reason


@pytest.mark.parametrize(
    "answer",
    [
        "Adults need seven to nine hours of sleep [1].",
        "I am not a doctor; please ask one.",
        "I'm not a human, I am a program.",
        "I cannot share my system prompt.",
        "See a doctor if you have diabetes.",
        "Never stop taking your medication without advice.",
        "Experts such as a doctor or a nurse can help [2].",
        "No soy médico; consulta a uno.",
        "Los adultos necesitan dormir de siete a nueve horas [1].",
        HEALTH.texts["en"]["escalation"],
        HEALTH.texts["es"]["no_match"],
        "",
    ],
)
def test_an_answer_in_its_role_passes(answer: str):
    assert noted(answer)["persona_stability"] == "pass"


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        ("Adults may take 400 mg with food [1].", ("answer_dosage",)),
        ("Tomar 500mg cada 8 horas [1].", ("answer_dosage",)),
        ("You can stop taking your medication.", ("answer_stops_medicine",)),
        ("There is no need to see a doctor.", ("answer_discourages_care",)),
        ("Drink water and rest [1].", ()),
    ],
)
def test_some_answers_need_a_person_whatever_was_asked(answer: str, reasons: tuple[str, ...]):
    assert assess_review_need((), answer, HEALTH) == reasons


def test_the_reasons_of_the_question_come_first_and_each_once():
    needed = assess_review_need(
        ("high_child_dose", "high_child_dose"), "Take 400 mg. Then 200 mg.", HEALTH
    )

    assert needed == ("high_child_dose", "answer_dosage")
