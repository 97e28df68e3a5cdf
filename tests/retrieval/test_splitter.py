import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_linear
from turnwire.retrieval.documents import Section
from turnwire.retrieval.splitter import LONGEST, SHORTEST, sentences, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith pays $3.50 at 5 p.m. on Monday. Then he goes.", 2),
        (
            "See e.g. Section 4, i.e. The Plan. It is short.",
            ["See e.g. Section 4, i.e. The Plan.", "It is short."],
        ),
        ("J. R. Tolkien wrote it. No. 5 is lost.", ["J. R. Tolkien wrote it.", "No. 5 is lost."]),
        ("¿Cuánto cuesta? ¡Nada! La Sra. López paga 1.200,50 €. Fin.", 4),
        (
            "Vea el art. 12 y la pág. 3. ¿Está claro?",
            ["Vea el art. 12 y la pág. 3.", "¿Está claro?"],
        ),
        (
            "Vive en EE. UU. desde 2020. Trabaja allí.",
            ["Vive en EE. UU. desde 2020.", "Trabaja allí."],
        ),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("A line\nbroken softly. Next.", ["A line broken softly.", "Next."]),
        (
            "Covered:\n- glasses\n- lenses\n1. First. Second.",
            ["Covered:", "- glasses", "- lenses", "1. First.", "Second."],
        ),
        ("plan | price\nA. B | $5", ["plan | price", "A. B | $5"]),
        ("Wait... What?", ["Wait...", "What?"]),
        ("See www.x.test. it is lower", ["See www.x.test. it is lower"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str] | int):
    found = sentences(text)
    assert found == expected or len(found) == expected


@given(st.text(alphabet="aB1. \n|-¿?\"'…é", max_size=400))
def test_no_word_is_lost_between_sentences(text: str):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.lists(st.text(alphabet="abcdefgh. \n", max_size=3000), max_size=3))
def test_passages_are_never_longer_than_the_limit_and_lose_nothing(texts: list[str]):
    sections = [Section(str(at), None, text) for at, text in enumerate(texts)]
    pieces = list(split(sections))
    assert all(0 < len(piece.text) <= LONGEST for piece in pieces)
    for section in sections:
        joined = "".join(piece.text for piece in pieces if piece.heading == section.heading)
        assert "".join(joined.split()) == "".join(section.text.split())


def test_passages_of_prose_have_a_fair_length_and_end_at_a_sentence():
    prose = "\n\n".join(" ".join(["This is one sentence of the paragraph."] * 12) for _ in range(9))
    pieces = list(split([Section("A", 7, prose)]))
    assert all(SHORTEST <= len(piece.text) <= LONGEST for piece in pieces[:-1])
    assert all(piece.text.endswith(".") for piece in pieces)
    assert {(piece.heading, piece.page) for piece in pieces} == {("A", 7)}


def test_a_passage_never_runs_across_two_sections():
    pieces = list(split([Section("A", 1, "Short."), Section("B", 2, "Also short.")]))
    assert [(piece.heading, piece.page, piece.text) for piece in pieces] == [
        ("A", 1, "Short."),
        ("B", 2, "Also short."),
    ]


@pytest.mark.parametrize("hostile", [".", "\n", "a", '." '])
def test_hostile_text_takes_time_in_proportion_to_its_length(hostile: str):
    def splitting(text: str) -> object:
        return list(split([Section(None, None, text)]))

    assert_linear(splitting, lambda size: hostile * (size // len(hostile)), 12_000)
