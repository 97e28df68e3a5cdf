"""Results are told in the member's language, with its figures and dates."""

from typing import Any

import pytest

from turnwire.agents.member.sentences import sentences

DENTAL: Any = {
    "name": "Dental treatment", "covered": True, "limit": 1600, "unit": "GBP", "per": "year",
    "copay_percent": 20, "waiting_months": 0, "used": 180.5, "remaining": 1419.5,
}  # fmt: skip


def test_money_and_dates_are_written_as_the_language_does():
    claim: Any = {
        "reference": "CLM-2026-1", "treatment": "Crown", "treated_on": "2026-10-06",
        "updated_on": "2026-10-20", "status": "paid", "claimed": 1600, "paid": 1450.5, "note": None,
    }  # fmt: skip
    (english,) = sentences("get_claim_status", claim, locale="en")
    (spanish,) = sentences("get_claim_status", claim, locale="es")
    assert english == (
        "Claim CLM-2026-1 (Crown, 6 October 2026): paid since 20 October 2026; "
        "claimed £1,600, paid £1,450.50."
    )
    assert "6 de octubre de 2026" in spanish
    assert "1450,50" in spanish.replace(".", "")


def test_what_is_empty_is_left_out_of_a_sentence():
    (told,) = sentences("get_covered_benefits", [DENTAL], locale="en")
    assert told == (
        "Your plan covers dental treatment, up to £1,600 a year; £180.50 used, £1,419.50 left; "
        "your share of each bill is 20%."
    )


@pytest.mark.parametrize(("locale", "word"), [("en", "does not cover"), ("es", "no lo cubre")])
def test_a_benefit_that_is_not_covered_is_told_so(locale: str, word: str):
    (told,) = sentences("get_covered_benefits", [{**DENTAL, "covered": False}], locale=locale)
    assert word in told


@pytest.mark.parametrize(
    ("locale", "count", "months", "sessions"),
    [
        ("en", 1, "1 month from", "1 session a year"),
        ("en", 6, "6 months from", "6 sessions a year"),
        ("es", 1, "1 mes desde", "1 sesión por año"),
        ("es", 6, "6 meses desde", "6 sesiones por año"),
    ],
)
def test_what_is_counted_is_in_its_singular_or_plural(
    locale: str, count: int, months: str, sessions: str
):
    physio: Any = {**DENTAL, "limit": count, "unit": "sessions", "waiting_months": count, "used": 0}
    (told,) = sentences("get_covered_benefits", [physio], locale=locale)
    assert months in told
    assert sessions in told


def test_money_has_its_sign_in_every_language():
    (told,) = sentences("get_covered_benefits", [DENTAL], locale="es")
    assert "1.600\xa0£" in told
    assert "GBP" not in told


PLAN: Any = {
    "name": "Family", "started_on": "2025-05-01", "renews_on": "2027-05-01", "excess": 150,
    "monthly_premium": 96, "annual_limit": 150000, "people_covered": ["Ana", "Leo"],
    "member_number": "M-1", "currency": "GBP",
}  # fmt: skip


@pytest.mark.parametrize(
    ("locale", "question", "answer"),
    [
        ("en", "whats my excess", "Your excess is £150 a year."),
        ("en", "Which plan am I on and what is my premium?",
         "You are on the Family plan. Your premium is £96 a month."),
        ("en", "is my son covered", "Your plan covers Ana and Leo."),
        ("es", "¿Cuál es mi número de socia?", "Su número de asegurado es M-1."),
    ],
)  # fmt: skip
def test_of_a_plan_what_was_asked_for_is_told_and_no_more(locale: str, question: str, answer: str):
    assert sentences("get_plan_details", PLAN, locale=locale, question=question) == [answer]


def test_a_question_about_the_whole_plan_is_told_all_of_it():
    (told,) = sentences("get_plan_details", PLAN, locale="en", question="Show me my plan")
    assert all(each in told for each in ("Family", "£96", "£150", "£150,000", "M-1", "Leo"))


def test_no_excess_is_told_once():
    (told,) = sentences(
        "get_plan_details", {**PLAN, "excess": 0}, locale="en", question="my excess?"
    )
    assert told == "There is no excess."


def test_nothing_is_told_of_nothing():
    assert sentences("get_claims", [], locale="en") == []


def test_a_tool_without_templates_is_told_as_it_is_and_bounded():
    (told,) = sentences("weather", {"sky": "clear", "note": "x" * 1000, "gone": None}, locale="en")
    assert told.startswith("sky: clear; note: xxx")
    assert len(told) < 400


def test_of_a_long_list_no_more_is_told_than_a_person_reads():
    assert len(sentences("get_covered_benefits", [DENTAL] * 30, locale="en")) == 8


@pytest.mark.parametrize(
    ("used", "remaining", "said"),
    [(0, 8, "0 sessions used, 8 sessions left"), (8, 0, "8 sessions used, 0 sessions left"),
     (7, 1, "7 sessions used, 1 session left")],
)  # fmt: skip
def test_an_allowance_that_is_untouched_or_used_up_is_told(used: int, remaining: int, said: str):
    benefit = {**DENTAL, "unit": "sessions", "limit": 8, "used": used, "remaining": remaining}
    (told,) = sentences("get_covered_benefits", [benefit], locale="en")
    assert said in told
