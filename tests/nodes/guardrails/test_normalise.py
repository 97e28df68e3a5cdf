"""One form for all disguises, at a cost that grows with the text and no faster."""

import unicodedata

import pytest

from turnwire.nodes.guardrails.normalise import canonical, readings


def test_case_accents_and_white_space_are_folded():
    assert canonical("  RESPIRACIÓN\n\tStraße ") == "respiracion strasse"


def test_an_apostrophe_inside_a_word_goes_whatever_its_form():
    assert canonical("can't can\u2019t can`t 'quoted'") == "cant cant cant 'quoted'"


def test_look_alikes_become_latin_in_a_word_of_two_scripts():
    assert canonical("\u0441hest") == "chest"


def test_a_word_all_in_cyrillic_stays_unless_a_rule_looks_for_it():
    word = "\u0440\u0430\u0441\u0435"

    assert canonical(word) == word
    assert canonical(word, known=lambda latin: latin == "pace") == "pace"


def test_capital_look_alikes_follow_their_own_shape():
    assert canonical("\u0421\u041d\u0415ST \u039dow") == "chest now"


def test_both_normal_forms_read_alike():
    text = "Tiếng Việt có dấu"

    forms = {canonical(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKD")}

    assert forms == {"tieng viet co dau"}


def test_an_invisible_character_is_read_within_a_word_and_between_two():
    assert readings("chest\u200bpain") == ("chestpain", "chest pain")
    assert readings("chest pain") == ("chest pain",)


def test_hangul_survives():
    assert canonical("안녕하세요") == "안녕하세요"


@pytest.mark.parametrize(
    "unit",
    [
        "\u0301\u0316",
        "\u093c\u094d",
        "\ufdfa",
        "\u0430 ",
        "a\u0430",
        "a'",
        "\u200b",
        "\U000e0041",
        "각",
    ],
)
def test_two_hundred_thousand_characters_of_one_kind_are_folded(unit: str):
    text = (unit * 200_000)[:200_000]

    assert len(canonical(text)) <= len(text)
