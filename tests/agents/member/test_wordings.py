"""A sentence of a policy wording is quoted alone, so it has to say of which plan it speaks."""

import re
from importlib.resources import files

import pytest

SECTIONS = {"en": ("Limits and excess", "excess"), "es": ("Límites y franquicia", "franquicia")}


@pytest.mark.parametrize("locale", ["en", "es"])
@pytest.mark.parametrize("plan", ["essential", "family", "plus", "senior"])
def test_how_high_an_excess_is_stands_beside_the_plans_name(plan: str, locale: str):
    path = files("turnwire.corpora") / "insurance" / locale / f"{plan}.md"
    heading, excess = SECTIONS[locale]
    section = path.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    sentences = [each for each in re.split(r"(?<=\.)\s", section) if excess in each]
    assert sentences
    assert [each for each in sentences if plan.capitalize() not in each] == []


@pytest.mark.parametrize("locale", ["en", "es"])
@pytest.mark.parametrize("plan", ["essential", "family", "plus", "senior"])
def test_no_sentence_says_this_plan_and_means_one_that_it_does_not_name(plan: str, locale: str):
    path = files("turnwire.corpora") / "insurance" / locale / f"{plan}.md"
    text = path.read_text(encoding="utf-8").lower()
    sentences = [each for each in re.split(r"(?<=\.)\s", text) if plan not in each]
    assert [each for each in sentences if "this plan" in each or "este plan" in each] == []
