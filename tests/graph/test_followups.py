import pytest

from turnwire.graph.followups import continues, leaned_on


@pytest.mark.parametrize(
    "question",
    ["and for children?", "And when it is hot?", "¿Y si hace calor?", "Is it dangerous?", "Why?"],
)
def test_a_continuation_leans_on_the_question_before(question: str):
    assert leaned_on(["Do naps help?", "What is a fever?"], question) == ["What is a fever?"]


@pytest.mark.parametrize(
    "question", ["What is a fever?", "diabetes", "How much water should I drink?", "¿Qué es?"]
)
def test_a_question_of_its_own_does_not(question: str):
    assert not continues(question)


def test_a_chain_goes_back_to_the_question_that_stands_alone():
    asked = ["What is a fever?", "And for children?"]
    assert leaned_on(asked, "and at night?") == asked
    assert leaned_on([], "and at night?") == []
