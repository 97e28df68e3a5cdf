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
        "Dental treatment is covered by your plan, up to £1,600 a year; £180.50 used, £1,419.50 "
        "left; your share of each bill is 20%."
    )


@pytest.mark.parametrize(("locale", "word"), [("en", "is not covered"), ("es", "no lo cubre")])
def test_a_benefit_that_is_not_covered_is_told_so(locale: str, word: str):
    (told,) = sentences("get_covered_benefits", [{**DENTAL, "covered": False}], locale=locale)
    assert word in told


def test_nothing_is_told_of_nothing():
    assert sentences("get_claims", [], locale="en") == []


def test_a_tool_without_templates_is_told_as_it_is_and_bounded():
    (told,) = sentences("weather", {"sky": "clear", "note": "x" * 1000, "gone": None}, locale="en")
    assert told.startswith("sky: clear; note: xxx")
    assert len(told) < 400


def test_of_a_long_list_no_more_is_told_than_a_person_reads():
    assert len(sentences("get_covered_benefits", [DENTAL] * 30, locale="en")) == 8
