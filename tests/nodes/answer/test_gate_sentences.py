"""A stream is cut where a reader would end a sentence, and the cuts of its pieces do not matter."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.nodes.answer.gate_sentences import BOUND, Sentences


def units(*pieces: str) -> list[str]:
    sentences = Sentences()
    return [*(unit for each in pieces for unit in sentences.feed(each)), *sentences.flush()]


@pytest.mark.parametrize(
    "expected",
    [
        ["A fever is 38.5 °C or more. ", "Rest."],
        ["Rest [1]. ", "Drink [2]."],
        ["Rest. [1] ", "Drink. [2][3] [4, 5] ", "Sleep."],
        ["Ask Dr. Smith, e.g. by mail, etc. and wait. ", "Then go."],
        ["Pregunte a la Dra. Gómez, p.ej. hoy. ", "¿Tiene fiebre? ", "¡Descanse!"],
        ["Hola.", "¿Qué tal? ", "Bien."],
        ["Really?! ", "Yes... ", "No… ", "Fine."],
        ['"Rest." ', "(Or drink.) ", "**Now.** ", "So."],
        ['He said "wait!" and left. ', "Good."],
        ["1. Rest.\n", "2. Drink water. ", "Slowly.\n", "- a. First\n", "- Second\n", "\n", "End."],
        ["Run `a. B` and `c. D`. ", "Then stop."],
        ["Code:\n", "```py\na = 1. \nb = 'X. Y'\n```\n", "Done. ", "So."],
        ["~~~\nA. B\n~~~\n", "Done."],
        ["See example.com or v1.2.3 now. ", "It is in the U.S. Army [note]. ", "Ok."],
        ["休息。", "喝水。", "好。"],
        ["Brackets follow. ", "[Note] they do."],
        ["No end at all"],
        ["```\n" + "code\n" * 79, "code\n" * 5 + "```\n", "So. ", "Yes."],
    ],
)
def test_units_end_where_sentences_do(expected: list[str]):
    text = "".join(expected)
    assert units(text) == expected
    assert units(*text) == expected
    for seed in range(20):
        cuts = sorted(random.Random(seed).choices(range(len(text)), k=4))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert units(*pieces) == expected


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            [*"aZ19 .!?\n`~[]¿。:", "```\n", "Dr. ", ". ", "[1]", "\n- ", "word " * 30]
        ),
        max_size=60,
    )
)
def test_the_units_are_the_text_and_the_same_for_any_pieces(parts: list[str]):
    text = "".join(parts)

    assert "".join(units(text)) == text
    assert units(*text) == units(text)
    assert all(len(each) <= BOUND for each in units(text))


def test_a_sentence_leaves_when_the_next_one_begins():
    sentences = Sentences()

    assert list(sentences.feed("Rest. ")) == []
    assert list(sentences.feed("[1] ")) == []
    assert list(sentences.feed("T")) == ["Rest. [1] "]


@pytest.mark.parametrize("unit", ["word ", "x", "```\ncode\n", "1. ", "[1] ", "a. ", "`"])
def test_a_sentence_without_an_end_leaves_at_a_bound(unit: str):
    sentences = Sentences()
    text = (unit * 2_000)[:2_000]

    said = "".join(part for each in text for part in sentences.feed(each))

    assert len(said) >= len(text) - BOUND - 64
    assert text.startswith(said)
