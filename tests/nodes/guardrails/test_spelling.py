"""Words that matter are read through slips of the finger; right words stay what they are."""

import pytest
from pydantic import ValidationError

from turnwire.nodes.guardrails.spelling import Speller, Spelling

RIGHT = {"breath", "ignore", "chest", "light"}
SPELLER = Speller(
    Spelling(
        words=("breathe", "tight", "no puedo", "unconscious"),
        short_forms={"wanna": "want to"},
    ),
    RIGHT.__contains__,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("cant brethe", "cant breathe"),
        ("breahte", "breathe"),
        ("breatthe", "breathe"),
        ("so tihgt", "so tight"),
        ("nopuedo mas", "no puedo mas"),
        ("nopuedoo", "no puedo"),
        ("unconscioos", "unconscious"),
        ("i wanna", "i want to"),
        ("1gn0r3 ch3st", "ignore chest"),
        ("l1ght", "light"),
    ],
)
def test_a_slip_is_read_as_the_word_that_was_meant(written: str, meant: str):
    assert SPELLER.mended(written) == meant


@pytest.mark.parametrize(
    "written",
    ["a breath of air", "light", "night", "might", "taght", "b12", "400mg", "h1n1", "12345"],
)
def test_another_word_stays_what_it_is(written: str):
    assert SPELLER.mended(written) == written


def test_a_very_long_word_is_left_alone():
    assert SPELLER.mended("b" * 10_000) == "b" * 10_000


def test_a_word_too_short_to_be_told_from_others_is_refused():
    with pytest.raises(ValidationError):
        Spelling(words=("pain",))
