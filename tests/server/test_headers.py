"""What surrounds every answer: other origins, safe defaults, the proxy in front."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.server.running import InThread, Process, eventually
from turnwire.cli.main import app as command_line
from turnwire.storage.base import ConversationRecord
from turnwire.storage.sql import SqliteStore

APP = "https://app.example.org"
SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
TLS_ONLY = "strict-transport-security"


@pytest.fixture(scope="module")
def abroad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    """A server that scripts of one other origin may use."""
    folder = tmp_path_factory.mktemp("abroad")
    with InThread(folder, cors_origins=[APP, "http://localhost:5173"]) as server:
        yield server


def _preflight(server: InThread, origin: str, **asked: str) -> httpx.Response:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": asked.get("method", "POST"),
        "Access-Control-Request-Headers": asked.get("headers", "authorization,content-type"),
    }
    return server.nobody().http.options("/chat", headers=headers)


def test_a_preflight_of_an_origin_that_is_set_is_answered_without_a_key(abroad: InThread):
    every = "authorization,content-type,idempotency-key,last-event-id,x-turnwire-session"
    answer = _preflight(abroad, APP, headers=every)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == APP
    assert answer.headers["x-request-id"].startswith("req_")
    assert "access-control-allow-credentials" not in answer.headers
    assert "origin" in answer.headers["vary"].lower()
    assert {"GET", "POST", "DELETE"} <= set(
        answer.headers["access-control-allow-methods"].split(", ")
    )


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.test",
        f"{APP}.evil.test",
        f"{APP}:444",
        APP.upper(),
        f"{APP}/",
        "http://app.example.org",
        "null",
        "*",
        "",
    ],
)
def test_another_origin_gets_no_permission(abroad: InThread, origin: str):
    refused = _preflight(abroad, origin)
    assert (refused.status_code, refused.headers["x-request-id"][:4]) == (400, "req_")
    headers = {"Origin": origin}
    for answer in (
        _preflight(abroad, origin),
        abroad.api("chat").http.get("/conversations", headers=headers),
        abroad.nobody().http.get("/conversations", headers=headers),
    ):
        assert "access-control-allow-origin" not in answer.headers


def test_a_header_or_method_that_nobody_needs_is_not_allowed(abroad: InThread):
    assert _preflight(abroad, APP, headers="x-evil").status_code == 400
    assert _preflight(abroad, APP, method="TRACE").status_code == 400


def _is_readable(answer: httpx.Response) -> None:
    assert answer.headers["access-control-allow-origin"] == APP
    assert "access-control-allow-credentials" not in answer.headers
    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {"X-Request-ID", "Retry-After"} <= set(exposed)
    assert "origin" in answer.headers["vary"].lower()


def test_answers_streams_and_every_kind_of_error_may_be_read_by_that_origin(
    abroad: InThread, monkeypatch: pytest.MonkeyPatch
):
    async def broken(self: SqliteStore, principal: str, **_: object) -> list[ConversationRecord]:
        raise RuntimeError("a bug")

    monkeypatch.setattr(SqliteStore, "conversations", broken)
    arguments = ["keys", "create", "--name", "a", "--scope", "chat", "--limit", "8"]
    done = CliRunner().invoke(command_line, [*arguments, "--data-dir", str(abroad.data_dir)])
    api, headers = abroad.api(key=done.stdout.strip()), {"Origin": APP}
    ok = api.chat("say hi", headers=headers)
    with api.stream("say hi", headers=headers) as reader:
        reader.rest()
    found = {
        200: ok,
        400: api.http.post("/chat", content=b"{", headers=headers),
        401: abroad.nobody().http.get("/agents", headers=headers),
        403: api.http.get("/reviews", headers=headers),
        404: api.http.get("/nothing", headers=headers),
        405: api.http.get("/chat", headers=headers),
        413: api.http.post("/chat", content=b"x" * 1_100_000, headers=headers),
        422: api.http.post("/chat", json={}, headers=headers),
        500: api.http.get("/conversations", headers=headers),
    }
    for _ in range(8):
        found[429] = api.http.get("/agents", headers=headers)
    for status, answer in [*found.items(), (200, reader.response)]:
        assert answer.status_code == status, answer.text[:200]
        _is_readable(answer)
        assert answer.headers["x-request-id"]


def test_without_origins_nothing_is_said_about_them(shared: InThread):
    assert _preflight(shared, APP).status_code == 405
    answer = shared.api("chat").http.get("/agents", headers={"Origin": APP})
    assert [name for name in answer.headers if name.startswith("access-control")] == []


def test_a_cookie_of_the_page_is_of_no_use_to_an_origin_that_is_set(abroad: InThread):
    arguments = ["link", "--data-dir", str(abroad.data_dir), "--port", str(abroad.address[1])]
    link = CliRunner().invoke(command_line, arguments).stdout.strip()
    with httpx.Client(base_url=abroad.url) as browser:
        browser.get(link)
        assert browser.get("/agents").status_code == 200
        answer = browser.get("/agents", headers={"Origin": APP})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_every_answer_has_safe_headers(abroad: InThread):
    api, nobody = abroad.api("chat"), abroad.nobody().http
    with api.stream("say hi") as reader:
        reader.rest()
    answers = {
        "JSON": api.chat("say hi"),
        "a stream": reader.response,
        "a refusal": nobody.get("/agents"),
        "no route": nobody.get("/nothing"),
        "a preflight": _preflight(abroad, APP),
        "the page": nobody.get("/"),
        "its script": nobody.get("/app.js"),
        "health": nobody.get("/healthz"),
    }
    for name, answer in answers.items():
        got = {each: answer.headers.get(each) for each in SAFE}
        assert got == SAFE, name
        assert len(answer.headers.get_list("content-security-policy")) == 1
        assert len(answer.headers.get_list("cache-control")) == 1, name
        assert TLS_ONLY not in answer.headers
    nothing = "default-src 'none'; frame-ancestors 'none'"
    assert answers["JSON"].headers["content-security-policy"] == nothing
    assert "default-src 'self'" in answers["the page"].headers["content-security-policy"]
    assert answers["JSON"].headers["cache-control"] == "no-store"
    assert "no-transform" in answers["a stream"].headers["cache-control"]


FORWARDED = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7", "X-Forwarded-Proto": "https"}


def _clients(caplog: pytest.LogCaptureFixture) -> list[object]:
    return [each for each in (getattr(r, "client", None) for r in caplog.records) if each]


def test_what_a_trusted_proxy_says_of_the_client_is_believed(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "turnwire.server")
    with InThread(data_dir, trusted_proxies=["127.0.0.0/8"], environment="production") as server:
        http = server.nobody().http
        answer = http.get("/agents", headers=FORWARDED)
        assert answer.headers[TLS_ONLY] == "max-age=31536000"
        assert TLS_ONLY not in http.get("/agents").headers
    # The last address that is no proxy's: what stands before it, the client may have made up.
    assert _clients(caplog) == ["198.51.100.7", "127.0.0.1"]


def test_what_anybody_else_says_of_the_client_is_not(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "turnwire.server")
    for trusted in ([], ["10.0.0.0/8"]):
        with InThread(data_dir, trusted_proxies=trusted, environment="production") as server:
            answer = server.nobody().http.get("/agents", headers=FORWARDED)
            assert TLS_ONLY not in answer.headers
    assert _clients(caplog) == ["127.0.0.1", "127.0.0.1"]


@pytest.mark.parametrize("forwarded", ["", ",", "unknown", "[::1", "\xff\xfe", "a" * 60_000])
def test_a_forwarded_address_that_is_none_breaks_nothing(data_dir: Path, forwarded: str):
    with InThread(data_dir, trusted_proxies=["127.0.0.1"]) as server:
        headers = [(b"X-Forwarded-For", forwarded.encode("latin-1"))]
        answer = httpx.get(f"{server.url}/agents", headers=headers)
    assert answer.status_code == 401


def test_a_real_server_believes_nobody_by_default_and_logs_who_was_refused(data_dir: Path):
    with Process(data_dir, log_format="json") as server:
        answer = httpx.get(f"{server.url}/agents", headers=FORWARDED)
        assert answer.status_code == 401
        assert "server" not in answer.headers
        line = eventually(lambda: [e for e in server.err if "refused: invalid_api_key" in e])[0]
        told = json.loads(line)
        assert (told["client"], told["code"]) == ("127.0.0.1", "invalid_api_key")
        assert told["request_id"] == answer.headers["x-request-id"]
