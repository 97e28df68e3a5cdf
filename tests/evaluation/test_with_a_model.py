"""The configuration ``model`` asks a model over HTTP, as an operator's would be asked."""

from collections.abc import Iterator

import pytest

from evaluation.cases import Sets, load
from evaluation.observe import observe
from evaluation.product import Model, product
from tests.providers.serving import Provider, answer


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as each:
        yield each


def test_the_evaluation_runs_with_a_model_behind_a_provider(provider: Provider):
    provider.steps = [answer("A fever is 38 °C ", "or more [1].")]
    asked = [each for each in load().of("tuned").questions if each.documents][:2]
    sets = Sets(verdicts=(), details=(), names=(), questions=tuple(asked))

    with product("model", Model("openai:demo", provider.url, "none")) as built:
        seen = observe(built, sets)

    assert built.quotes is False
    assert [each["model"] for each in provider.requests] == ["demo"] * len(provider.requests)
    assert provider.requests, "the model was asked"
    assert any(each.answered for each in seen.asked)
