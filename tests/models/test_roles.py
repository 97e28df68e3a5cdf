import pytest
from pydantic import ValidationError

from turnwire.errors import SetupError
from turnwire.models.roles import Link, Price, link_of


def test_a_price_is_for_a_million_tokens():
    assert Price(input=0.25, output=2).of(1_000_000, 500_000) == pytest.approx(1.25)


def test_a_link_has_a_spec_and_the_name_that_clients_read():
    link = Link(provider="ollama", model="llama3:8b")
    assert (link.spec, link.name) == ("ollama:llama3:8b", "llama3:8b")
    assert link_of("ollama:llama3:8b") == link


def test_quoting_is_a_link_without_a_model():
    link = link_of("quoting")
    assert (link.spec, link.name) == ("quoting", "quoting")


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai:", ":gpt-5", "quoting:x", "Open AI:x"])
def test_a_spec_that_names_no_model_is_refused(spec: str):
    with pytest.raises(SetupError, match="provider:name"):
        link_of(spec)


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "openai"},
        {"provider": "openai", "model": "m", "timeout": 0},
        {"provider": "openai", "model": "m", "timeout": float("inf")},
        {"provider": "openai", "model": "m", "price": {"input": -1}},
        {"provider": "openai", "model": "m", "price": {"cached": 1}},
        {"provider": "openai", "model": "m", "api_key": "sk-in-the-file"},
        {"provider": "openai", "model": "m", "api_key_env": ""},
    ],
)
def test_a_link_that_is_wrong_is_refused(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        Link.model_validate(wrong)
