import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from turnwire.retrieval.words import codes, content_words, match_expression, terms


def test_content_words_are_the_same_with_and_without_accents_and_plurals():
    assert content_words("¿Cuáles son las habitaciones?") == content_words("habitación")
    assert content_words("the reimbursement") == content_words("reimbursed")


def test_a_query_of_stop_words_looks_up_nothing():
    assert match_expression("what is it about? ¿qué es?") == ""


def test_identifiers_are_codes_and_years_are_not():
    assert codes("Form DC-204, zip 90210, year 2024, plan B2B") == {"dc-204", "90210", "b2b"}


def test_a_long_query_is_cut_to_a_number_of_terms():
    assert len(terms(" ".join(f"word{at}" for at in range(50_000)))) == 32


@given(st.text())
def test_any_text_makes_an_expression_that_fts5_takes(text: str):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
        if expression := match_expression(text):
            connection.execute("SELECT * FROM words WHERE words MATCH ?", (expression,))
