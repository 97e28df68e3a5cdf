"""What an exception, a prompt, a key or a path says is for nobody outside."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server import graphs
from tests.server.running import Api, InThread, Process

INSIDE = ("CANARY", "/srv/secret", "sk-canary", "Traceback", "site-packages", "graphs.py")
"""What a client may never read."""
QUESTIONS = ("raise", "die", "unstorable", "raise-nothing")


def _fail(api: Api) -> list[str]:
    """Fail in every way, as JSON, live and in replay; return the error ids that clients got."""
    ids: list[str] = []
    for question in QUESTIONS:
        with api.stream(f"{question} {graphs.CANARY}") as reader:
            frames = reader.rest()
            heard = reader.raw.decode()
        answer = api.chat(f"{question} {graphs.CANARY}")
        again = api.http.get(api.events_url(frames[0].data["thread_id"], frames[0].turn_id))
        for text in (heard, answer.text, again.text):
            assert not any(each in text for each in INSIDE)
        assert frames[-1].data["error_id"] in again.text
        ids += [frames[-1].data["error_id"], answer.json()["error"]["error_id"]]
    return ids


@dataclass
class Told:
    """What a server in production wrote, and what its clients were given."""

    log: str
    ids: list[str]
    key: str


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Told:
    data_dir = tmp_path_factory.mktemp("production")
    with (
        pytest.MonkeyPatch.context() as patch,
        Process(data_dir, environment="production", model_api_key="sk-canary-setting") as server,
    ):
        patch.setenv("TURNWIRE_ENVIRONMENT", "production")
        key = server.key("chat")
        api = server.api(key=key)
        ids = _fail(api)
        api.http.get("/conversations", headers={"Authorization": f"Bearer {key}x"})
        begun = time.monotonic()
        server.terminate()
        assert server.process.wait(10) in (0, -15)
        assert time.monotonic() - begun < 3, "a server without streams goes at once"
    return Told(server.log, ids, key)


def test_clients_and_the_log_of_production_read_nothing_of_a_cause(production: Told):
    for needle in ("CANARY", "/srv/secret", "sk-canary", production.key[-30:]):
        assert needle not in production.log


def test_the_log_tells_the_kind_of_error_under_the_id_that_the_client_got(production: Told):
    for error_id in production.ids:
        assert error_id in production.log
    for kind in ("RuntimeError", "ConnectionError"):
        assert kind in production.log


def test_the_log_of_production_names_the_path_of_what_cannot_be_stored(production: Told):
    assert "thing.deep[0]" in production.log


def test_in_development_the_log_has_the_cause_and_clients_still_do_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with InThread(tmp_path) as server:
        _fail(server.api("chat"))
    assert graphs.CANARY in caplog.text
