"""The phrase language finds what it says, and says what is wrong with a phrase."""

import pytest

from turnwire.nodes.guardrails.matching import Index
from turnwire.nodes.guardrails.normalise import canonical
from turnwire.nodes.guardrails.phrases import parse, split


def finds(phrase: str, text: str) -> bool:
    index = Index((0, wording) for wording in parse(phrase))
    return any(index.hits(split(canonical(text))))


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("chest pain", "My chest, pain!"),
        ("can't stop", "I cant stop"),
        ("chest (pain|is tight)", "chest is tight"),
        ("(really)? tight", "tight"),
        ("a (b (c|d)?)? e", "a b d e"),
        ("pain .. chest", "pain in the right chest"),
        ("pain ..1 chest", "pain my chest"),
        ("suicid*", "suicidality"),
        ("take NUMBER mg", "take 2.5 mg"),
        ("take NUMBER mg", "take 400mg"),
        ("took NUMBER>14 pills", "took 15 pills"),
        ("took NUMBER>14 pills", "took 1,000 pills"),
        ("took NUMBER>14 pills", "took 1.000 pills"),
        ("NUMBER mg", "400 mg"),
        ("respiración", "RESPIRACION"),
    ],
)
def test_a_phrase_is_found(phrase: str, text: str):
    assert finds(phrase, text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("chest pain", "chest of pain"),
        ("took NUMBER>14 pills", "took 2,5 pills"),
        ("took NUMBER>14 pills", "took 1.25 pills"),
        ("chest pain", "chestpain"),
        ("pain .. chest", "pain in one two three chest"),
        ("pain .. chest", "pain in. my chest"),
        ("suicid*", "sui"),
        ("took NUMBER>14 pills", "took 14 pills"),
        ("ice", "iced"),
        ("chest pain", "chest"),
    ],
)
def test_a_phrase_is_not_found(phrase: str, text: str):
    assert not finds(phrase, text)


@pytest.mark.parametrize(
    ("phrase", "problem"),
    [
        ("", "no word"),
        ("(a)?", "no word"),
        (".. pain", "between two words"),
        ("pain ..", "between two words"),
        ("(pain", "without a ')'"),
        ("pain)", "without a '('"),
        ("pain ..99 chest", "too wide"),
        ("ab*", "too short"),
        ("an? ice", "needs brackets"),
        ("&!", "no letters"),
        ("(a b|c d|e f)" * 8, "too many variants"),
    ],
)
def test_a_phrase_that_cannot_be_used_says_why(phrase: str, problem: str):
    with pytest.raises(ValueError, match=r".*") as raised:
        parse(phrase)

    assert problem in str(raised.value)
