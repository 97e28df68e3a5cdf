"""The language of a text is told by its little words, or not at all."""

import pytest

from turnwire.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How long does a fever last?", "en"),
        ("¿Cuánto dura la fiebre?", "es"),
        ("The word fiebre is Spanish for fever.", "en"),
        ("La palabra fever es inglesa.", "es"),
        ("mañana", "es"),
        ("ibuprofeno 400 mg", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text_is_told_or_left_open(text: str, language: str):
    assert language_of(text) == language
