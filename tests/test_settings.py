"""What an operator may set about models."""

import os
import re
from pathlib import Path

import pytest

from turnwire.app import models
from turnwire.errors import SetupError
from turnwire.models.gateway import Gateway
from turnwire.models.quoting import Quoting
from turnwire.models.roles import Link, Price
from turnwire.settings import Settings, read

PAGE = Path(__file__).parents[1] / "docs/models.md"
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)

JUDGE = '[[roles.judge]]\nprovider = "quoting"\n'
ANSWER = '[[roles.answer]]\nprovider = "openai"\nmodel = "m"\napi_key_env = "MY_KEY"\n'


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [each for each in os.environ if each.startswith("TURNWIRE_")]:  # noqa: TID251
        monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def of_file(text: str, **given: object) -> Settings:
    Path("turnwire.toml").write_text(text, "utf-8")
    return read(**given)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_lines_in_the_documentation_are_taken(block: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "any")
    settings = of_file(block)
    answer = models(settings, Quoting()).roles["answer"]
    assert isinstance(answer, Gateway)
    assert [each.name for each in answer.upstreams] == [
        each.name for each in settings.roles["answer"]
    ]
    assert len(answer.upstreams) >= 2


def test_a_model_is_a_chain_of_one():
    settings = read(model="openai:m", model_base_url="http://here/v1", model_api_key="k")
    [link] = settings.chains["answer"]
    assert link == Link(provider="openai", model="m", base_url="http://here/v1")
    assert settings.key_of(link) == "k"


def test_without_any_setting_the_embedded_model_answers_itself():
    quoting = Quoting()
    made = models(read(), quoting)
    assert (made.name, made.roles["answer"]) == ("quoting", quoting)


def test_a_key_is_read_from_the_variable_that_the_chain_names(monkeypatch: pytest.MonkeyPatch):
    settings = of_file(ANSWER)
    with pytest.raises(SetupError, match="set the variable MY_KEY"):
        models(settings, Quoting())
    monkeypatch.setenv("MY_KEY", "sk-mine")
    assert settings.key_of(settings.chains["answer"][0]) == "sk-mine"


def test_the_environment_takes_a_chain_as_json(monkeypatch: pytest.MonkeyPatch):
    chain = '{"answer": [{"provider": "openai", "model": "m", "price": {"input": 1}}]}'
    monkeypatch.setenv("TURNWIRE_ROLES", chain)
    assert read().chains["answer"][0].price == Price(input=1)


def test_a_judge_leaves_the_answer_to_the_model():
    assert set(of_file(JUDGE).chains) == {"answer", "judge"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('model = "openai:m"\n' + ANSWER, "leave out model"),
        (ANSWER.replace("answer", "anwser"), "anwser"),
        (ANSWER + 'api_key = "sk-in-the-file"\n', "api_key"),
        (ANSWER.replace("openai", "Open AI"), "provider"),
        ("[roles]\nanswer = []\n", "roles.answer"),
        ("turn_usd = 0\n", "turn_usd"),
    ],
)
def test_what_is_wrong_about_a_chain_is_named_at_the_start(text: str, named: str):
    with pytest.raises(SetupError, match=re.escape(named)):
        of_file(text)


def test_a_key_that_was_written_into_the_file_is_not_repeated():
    with pytest.raises(SetupError) as refused:
        of_file(ANSWER + 'api_key = "sk-in-the-file"\n')
    assert "sk-in-the-file" not in str(refused.value)


@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example.org",
        "http://localhost:5173",
        "http://[::1]:8080",
        "capacitor://localhost",
    ],
)
def test_an_origin_is_written_as_browsers_send_it(origin: str):
    assert of_file(f'cors_origins = ["{origin}"]').cors_origins == (origin,)


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "",
        "app.example.org",
        "https://*.example.org",
        "https://app.example.org/",
        "https://app.example.org/app",
        "https://App.example.org",
        "https://user@app.example.org",
        "https://a.example.org,https://b.example.org",
        "https://app.example.org\n",
    ],
)
def test_what_is_no_exact_origin_is_refused_with_an_example(origin: str):
    with pytest.raises(SetupError, match=r"cors_origins: .*https://app\.example\.org"):
        read(cors_origins=[origin])


def test_proxies_are_addresses_or_networks():
    proxies = ("127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8")
    assert read(trusted_proxies=list(proxies)).trusted_proxies == proxies


@pytest.mark.parametrize("proxy", ["*", "", "proxy.internal", "10.0.0.1/8", "10.0.0.1:80"])
def test_what_is_no_address_or_network_is_refused_with_an_example(proxy: str):
    with pytest.raises(SetupError, match=r"trusted_proxies: .*10\.0\.0\.0/8"):
        read(trusted_proxies=[proxy])


@pytest.mark.parametrize("limit", [0, -1, 1_000_001, "many"])
def test_a_limit_that_is_none_is_refused(limit: object):
    with pytest.raises(SetupError, match="key_requests_per_minute"):
        read(key_requests_per_minute=limit)
