"""A question is compared to examples of what is in scope, in any language."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from turnwire.nodes.guardrails.examples import Examples
from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.nodes.guardrails.sections import ScopeRules
from turnwire.retrieval.encoder import EmbeddedEncoder

INSURANCE = shipped_policy("insurance")
DIRECTIONS = {"north": (1, 0), "north-east": (0.8, 0.6), "east": (0, 1), "south": (-1, 0)}


class Compass:
    """Encodes four words."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str], /) -> npt.NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.asarray([DIRECTIONS[each] for each in texts], dtype=np.float32)


def rules(similarity: float, *, counter: Sequence[str] = ()) -> ScopeRules:
    return ScopeRules(
        examples={"en": ("south", "north")},
        counterexamples={"en": tuple(counter)},
        similarity=similarity,
    )


def test_the_nearest_example_is_named_with_its_cosine():
    like = Examples(rules(0.5), Compass()).likeness("north-east")

    assert (like.example, round(like.nearness, 2)) == ("north", 0.8)
    assert (like.counterexample, like.counter_nearness) == (None, -1)


@pytest.mark.parametrize(("similarity", "holds"), [(0.79, True), (0.81, False)])
def test_a_question_is_like_an_example_from_the_threshold_on(similarity: float, holds: bool):
    assert Examples(rules(similarity), Compass()).likeness("north-east").holds is holds


def test_a_question_that_is_nearer_to_a_counterexample_is_like_none():
    near = Examples(rules(0.5, counter=["east"]), Compass()).likeness("north-east")
    nearer = Examples(rules(0.5, counter=["north-east"]), Compass()).likeness("north-east")

    assert (near.holds, nearer.holds) == (True, False)
    assert nearer.counterexample == "north-east"


def test_the_examples_are_encoded_once():
    compass = Compass()
    examples = Examples(rules(0.5), compass)
    examples.warm()

    examples.likeness("east")
    examples.likeness("north")

    assert compass.asked == [["south", "north"], ["east"], ["north"]]


@pytest.fixture(scope="module")
def insurance() -> Examples:
    return Examples(INSURANCE.scope, EmbeddedEncoder())


@pytest.mark.parametrize(
    "question",
    [
        "can my kids use the dentist",
        "is LASIK included",
        "where do I find my number",
        "how many days do I have to send the papers",
        "my address changed",
        "can I switch doctors",
        "and for my children?",
        "mental health sessions per year",
        "¿dónde envío los papeles?",
        "cuántas sesiones de fisio tengo",
        "¿puedo cambiar de médico?",
        "me he mudado a Valencia",
    ],
)
def test_a_members_question_without_any_word_of_insurance_is_like_an_example(
    insurance: Examples, question: str
):
    assert insurance.likeness(question).holds


@pytest.mark.parametrize(
    "question",
    [
        "how old is the universe",
        "how do I file my income taxes",
        "How do I get a mortgage?",
        "my girlfriend left me, how do I win her back",
        "how do I hack my neighbour's wifi",
        "explain the French revolution",
        "what is quantum entanglement",
        "dame una receta de tortilla",
        "¿qué coche me recomiendas?",
        "traduce esto al inglés",
    ],
)
def test_a_question_on_another_subject_is_like_none(insurance: Examples, question: str):
    assert not insurance.likeness(question).holds
