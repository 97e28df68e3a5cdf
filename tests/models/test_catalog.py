from typing import Any, cast

import pytest

from turnwire.errors import SetupError
from turnwire.models.catalog import chat_model, model_name
from turnwire.models.quoting import Quoting


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_quoting_is_the_embedded_model():
    assert isinstance(chat_model("quoting"), Quoting)
    ours = Quoting()
    assert chat_model("quoting", quoting=ours) is ours


def test_an_openai_model_never_tries_again_by_itself_and_can_be_cancelled():
    model = cast("Any", chat_model("openai:gpt-4.1", api_key="k", temperature=0))
    assert model.max_retries == 0
    assert model.stream_chunk_timeout is None
    assert model.stream_usage is True
    assert model.temperature == 0


def test_an_anthropic_model_never_tries_again_by_itself():
    model = cast("Any", chat_model("anthropic:claude-x", api_key="k", base_url="http://here"))
    assert model.max_retries == 0
    assert model.anthropic_api_url == "http://here"


def test_a_server_of_ones_own_needs_no_key():
    model = cast("Any", chat_model("openai:local", base_url="http://here/v1"))
    assert model.openai_api_base == "http://here/v1"


@pytest.mark.parametrize("spec", ["openai:gpt-5", "anthropic:claude-x"])
def test_a_missing_key_is_named_with_its_variable(spec: str):
    with pytest.raises(SetupError, match=f"{spec.split(':')[0].upper()}_API_KEY"):
        chat_model(spec)


def test_a_missing_package_is_named():
    with pytest.raises(SetupError, match="pip install langchain-mistralai"):
        chat_model("mistralai:small")


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai:", ":gpt-5", "nobody:gpt-5"])
def test_a_name_that_is_none_is_refused(spec: str):
    with pytest.raises(SetupError):
        chat_model(spec)


def test_clients_read_the_name_without_the_provider():
    assert [model_name("openai:gpt-5"), model_name("quoting")] == ["gpt-5", "quoting"]
