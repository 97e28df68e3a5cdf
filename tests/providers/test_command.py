"""``turnwire demo-provider`` and ``turnwire serve`` together, as anybody would try failover."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.cli.demo_command import demo_command
from tests.server.reading import text_of
from tests.server.running import Process
from turnwire.cli.main import app
from turnwire.errors import SetupError
from turnwire.models.demo.faults import FAULTS

QUESTION = "How many days of leave does everybody have in a year?"
ANSWER = "The demo provider answers everybody the same [1]."


@contextmanager
def demo(*arguments: str) -> Generator[str]:
    """Run the command; yield the address for OpenAI's protocol."""
    started = demo_command("demo-provider", *arguments, tells="base_url", is_up=_models)
    with started as (url, _):
        yield url


def _models(url: str) -> httpx.Response:
    return httpx.get(f"{url}/models")


def _asked(url: str, model: str = "demo") -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
    return httpx.post(f"{url}/chat/completions", json=body)


def test_the_script_says_what_each_request_gets(tmp_path: Path):
    script = tmp_path / "script.txt"
    script.write_text("overloaded  # at first\n\nrate-limited\nok\n")
    with demo("--script", str(script), "--pace", "0") as url:
        first, second, third, fourth = [_asked(url) for _ in range(4)]
        named = _asked(url, "demo-unauthorized")
        nowhere = httpx.post(f"{url}/nothing", json={})
        unreadable = httpx.post(f"{url}/chat/completions", content=b"{")
    assert (first.status_code, second.status_code) == (529, 429)
    assert second.headers["retry-after"] == "1"
    assert third.json() == fourth.json()
    assert third.json()["choices"][0]["message"]["content"] == ANSWER.replace(" [1]", "")
    assert (named.status_code, nowhere.status_code, unreadable.status_code) == (401, 404, 400)


def test_the_faults_are_listed():
    done = CliRunner().invoke(app, ["demo-provider", "--faults"])
    assert done.stdout.split() == list(FAULTS)


def test_a_fault_that_is_none_is_refused_with_where_to_look():
    done = CliRunner().invoke(app, ["demo-provider", "--fault", "meteor"])
    assert isinstance(done.exception, SetupError)
    assert "'meteor' is no fault; turnwire demo-provider --faults" in str(done.exception)


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    docs = tmp_path / "handbook"
    docs.mkdir()
    (docs / "leave.md").write_text("# Leave\n\nEverybody has 31 days of leave a year.\n")
    return docs


def test_the_second_provider_answers_once_where_the_first_fails_before_its_first_word(
    tmp_path: Path, handbook: Path
):
    with demo("--fault", "error-first", "--pace", "0") as first, demo("--pace", "0") as second:
        price = {"input": 1_000, "output": 10_000}
        roles = {
            "answer": [
                {"provider": "openai", "model": "demo", "base_url": first, "api_key_env": "A_KEY"},
                {
                    "provider": "anthropic",
                    "model": "demo-reasoning",
                    "base_url": second.removesuffix("/v1"),
                    "api_key_env": "A_KEY",
                    "price": price,
                },
            ]
        }
        with Process(
            tmp_path / "data",
            None,
            "--docs",
            str(handbook),
            roles=json.dumps(roles),
            hitl=False,
            variables={"A_KEY": "any"},
        ) as server:
            with server.api().stream(QUESTION) as reader:
                frames = reader.rest()
            log = server.log
    done = frames[-1].data
    assert frames[-1].event == "turn_completed"
    assert done["content"] == text_of(frames) == ANSWER
    assert done["cost"]["model"] == "demo-reasoning"
    assert (done["cost"]["tokens_in"], done["cost"]["tokens_out"]) == (7, 8)
    assert done["cost"]["usd"] == pytest.approx(7 * 0.001 + 8 * 0.01)
    assert "openai:demo failed before its first word" in log
