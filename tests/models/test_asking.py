import pytest

from turnwire.models.asking import is_of, kind_of, strength, subject_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How much does a blood test cost?", "price"),
        ("¿Cuánto cuesta un análisis?", "price"),
        ("How long do colds last?", "duration"),
        ("¿Cuántos días dura?", "duration"),
        ("What is the waiting period for maternity?", "duration"),
        ("¿Cuál es la carencia de maternidad?", "duration"),
        ("What is a waiting period?", "definition"),
        ("¿Qué es un periodo de carencia?", "definition"),
        ("What is a normal blood pressure?", "norm"),
        ("¿A partir de qué temperatura es fiebre?", "level"),
        ("How much salt may I eat?", "amount"),
        ("What should I do about a fever?", "advice"),
        ("¿Qué hago si tengo fiebre?", "advice"),
        ("Who invented the thermometer?", None),
    ],
)
def test_the_form_of_a_question_tells_what_is_asked_for(question: str, kind: str | None):
    assert kind_of(question) == kind


def test_the_words_that_show_the_kind_are_no_part_of_the_subject():
    assert subject_of("What is a normal blood pressure?").split() == [
        "What",
        "is",
        "a",
        "blood",
        "pressure?",
    ]


def test_a_sentence_with_a_price_is_an_answer_to_a_price_and_one_with_another_figure_is_not():
    assert is_of("price", "The test is 20 € for members.")
    assert not is_of("price", "The test takes 20 minutes.")


def test_what_a_healthy_reading_is_says_more_than_what_to_do_about_one():
    healthy = "A reading below 120/80 mmHg is considered healthy."
    high = "Make an appointment if readings are 135/85 mmHg or higher."
    assert strength("level", healthy) > strength("level", high) > strength("level", "Sit quietly.")


def test_advice_is_looked_for_below_headings_that_promise_it():
    sentence = "Rest and regular drinks are the main home treatment."
    assert strength("advice", sentence, "Looking after yourself at home") > strength(
        "advice", sentence, "What counts as a fever"
    )


def test_a_sentence_that_says_what_a_thing_is_defines_it_and_one_that_says_more_of_it_does_not():
    assert is_of("definition", "A waiting period is the time during which nothing is paid.")
    assert is_of("definition", "Un periodo de carencia es el tiempo sin prestaciones.")
    assert not is_of("definition", "The waiting period is 3 months.")
    assert not is_of("definition", "A newborn has no waiting periods.")
