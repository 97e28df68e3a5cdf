"""Who is let in: keys and their scopes, the one-time link and its cookie."""

import socket
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.server.running import InThread, eventually, new_key
from turnwire.cli.main import app as command_line
from turnwire.server.access import COOKIE

ROUTES = [
    ("POST", "/chat"),
    ("POST", "/chat/resume"),
    ("GET", "/reviews"),
    ("GET", "/agents"),
    ("GET", "/agents/stage"),
    ("GET", "/conversations"),
    ("GET", "/conversations/conv_1"),
    ("DELETE", "/conversations/conv_1"),
    ("POST", "/conversations/conv_1/cancel"),
    ("GET", "/conversations/conv_1/turns/trn_1"),
    ("GET", "/conversations/conv_1/turns/trn_1/events"),
]
BODIES = {
    "/chat": {"messages": [{"role": "user", "content": "say hi"}]},
    "/chat/resume": {"thread_id": "conv_1", "decision": "approve"},
}


def _ask(http: httpx.Client, method: str, path: str) -> httpx.Response:
    return http.request(method, path, json=BODIES.get(path))


def _refused(answer: httpx.Response, status: int, code: str) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), answer.text[:300]
    assert error["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_without_a_key_every_route_is_401(shared: InThread, method: str, path: str):
    answer = _ask(shared.nobody().http, method, path)
    _refused(answer, 401, "invalid_api_key")
    assert answer.headers["www-authenticate"] == "Bearer"


def _bad_headers(good: str) -> list[bytes]:
    key = good.encode()
    return [
        b"",
        b"Bearer",
        b"Basic " + key,
        b"Bearer  " + key,
        b"Bearer " + key[:-1],
        b"Bearer " + key + b"x",
        b"Bearer " + key[:-4] + b"AAAA",
        b"Bearer " + key.replace(b"tw_test_", b"tw_live_"),
        b"Bearer " + key.replace(b"tw_", b"xx_"),
        b"Bearer tw_test_0123456789abcdef_" + b"A" * 43,
        "Bearer tw_test_ключ_ключ".encode(),
        b"Bearer \xff\xfe",
        b"Bearer " + b"x" * 20_000,
        b"Bearer " + key + b", Bearer " + key,
        key,
    ]


def test_a_header_that_is_no_key_of_ours_is_401_and_never_500(shared: InThread):
    key = shared.key("chat")
    with httpx.Client(base_url=shared.url) as http:
        for header in _bad_headers(key):
            headers = [(b"Authorization", header)]
            answer = http.get("/conversations", headers=headers)
            _refused(answer, 401, "invalid_api_key")
            assert key[-20:] not in answer.text


def test_a_revoked_key_is_refused_within_three_seconds_by_a_running_server(data_dir: Path):
    with InThread(data_dir) as server:
        key = server.key("chat")
        http = server.api(key=key).http
        assert http.get("/conversations").status_code == 200
        key_id = key.split("_")[2]
        arguments = ["keys", "revoke", key_id, "--data-dir", str(data_dir)]
        assert CliRunner().invoke(command_line, arguments).exit_code == 0
        eventually(lambda: http.get("/conversations").status_code == 401, within=3)
        assert http.get("/conversations").status_code == 401


def test_a_key_made_while_the_server_runs_is_taken_at_once(shared: InThread):
    assert shared.stranger().chat("say hi").json()["content"] == "hi"


def test_a_test_key_does_not_open_production_nor_a_live_key_development(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    test_key = new_key(data_dir, "chat")
    monkeypatch.setenv("TURNWIRE_ENVIRONMENT", "production")
    live_key = new_key(data_dir, "chat")
    monkeypatch.delenv("TURNWIRE_ENVIRONMENT")
    assert (test_key[:8], live_key[:8]) == ("tw_test_", "tw_live_")
    for environment, good, bad in (
        ("production", live_key, test_key),
        ("development", test_key, live_key),
    ):
        with InThread(data_dir, environment=environment) as server:
            assert server.api(key=good).http.get("/agents").status_code == 200
            _refused(server.api(key=bad).http.get("/agents"), 401, "invalid_api_key")


def test_another_prefix_may_be_set(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWIRE_KEY_PREFIX", "pcai")
    with InThread(data_dir, key_prefix="pcai") as server:
        assert server.key("chat").startswith("pcai_test_")
        assert server.api("chat").http.get("/agents").status_code == 200


def test_a_range_that_cannot_be_read_gets_the_whole_page(shared: InThread):
    for wanted in ("bytes=x", "bytes=9-1", "bytes=999999999-", "é"):
        answer = shared.nobody().http.get("/", headers=[(b"Range", wanted.encode())])
        assert answer.status_code == 200
        assert answer.text.endswith("</html>\n")


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [("chat", "GET", "/reviews"), ("chat", "POST", "/chat/resume"), ("review", "POST", "/chat")]
    + [("studio", method, path) for method, path in ROUTES if path.startswith("/conv")],
)
def test_a_key_without_the_scope_is_403(shared: InThread, scope: str, method: str, path: str):
    _refused(_ask(shared.api(scope).http, method, path), 403, "forbidden")


def test_an_admin_key_may_do_everything(shared: InThread):
    api = shared.api("admin")
    assert api.http.get("/reviews").status_code == 200
    assert api.chat("say hi").json()["content"] == "hi"


@pytest.fixture
def link(shared: InThread) -> str:
    """A link as ``turnwire link`` prints it."""
    port = str(shared.address[1])
    arguments = ["link", "--data-dir", str(shared.data_dir), "--port", port]
    return CliRunner().invoke(command_line, arguments).stdout.strip()


def test_a_link_works_once_and_sets_a_cookie_that_scripts_and_other_sites_never_get(
    shared: InThread, link: str
):
    with httpx.Client(base_url=shared.url) as browser:
        opened = browser.get(link)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}=")
        assert "httponly" in cookie.lower()
        assert "samesite=strict" in cookie.lower()
        assert browser.get("/conversations").status_code == 200
        assert browser.get("/reviews").status_code == 200
        answer = browser.post("/chat", json=BODIES["/chat"])
        assert answer.json()["content"] == "hi"
    with httpx.Client(base_url=shared.url) as other:
        _refused(other.get(link), 401, "invalid_api_key")
        assert other.cookies.get(COOKIE) is None
        _refused(other.get("/conversations"), 401, "invalid_api_key")
        _refused(other.get("/open?code=guess"), 401, "invalid_api_key")
        _refused(other.get("/open"), 401, "invalid_api_key")


def test_a_browser_with_a_used_link_is_told_what_to_do(shared: InThread):
    answer = shared.nobody().http.get("/open?code=x", headers={"Accept": "text/html,*/*;q=0.8"})
    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "turnwire link" in answer.text


def test_another_page_in_the_browser_cannot_use_the_cookie(shared: InThread, link: str):
    host, port = shared.address
    with httpx.Client(base_url=shared.url) as browser:
        browser.get(link)
        for origin in (
            "http://evil.test",
            f"http://{host}:{port + 1}",
            f"http://localhost:{port}",
            "null",
            "",
            f"http://{host}:{port}.evil.test",
        ):
            answer = browser.post("/chat", json=BODIES["/chat"], headers={"Origin": origin})
            assert answer.status_code == 401, origin
        own = browser.post("/chat", json=BODIES["/chat"], headers={"Origin": shared.url})
        assert own.status_code == 200


@pytest.mark.parametrize("cookie", ["x", "", "ü".encode().decode("latin-1"), "x" * 5000])
def test_a_made_up_cookie_is_401(shared: InThread, cookie: str):
    headers = [(b"Cookie", f"{COOKIE}={cookie}".encode("latin-1"))]
    answer = httpx.get(f"{shared.url}/conversations", headers=headers)
    _refused(answer, 401, "invalid_api_key")


def test_a_bad_key_is_not_rescued_by_a_good_cookie(shared: InThread, link: str):
    with httpx.Client(base_url=shared.url) as browser:
        browser.get(link)
        answer = browser.get("/conversations", headers={"Authorization": "Bearer wrong"})
    _refused(answer, 401, "invalid_api_key")


def test_the_page_is_open_and_says_nothing_of_conversations(shared: InThread):
    answer = shared.nobody().http.get("/")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.test"])
def test_a_server_that_others_can_reach_offers_neither_page_nor_link_nor_cookie(
    data_dir: Path, host: str
):
    # The socket is bound to loopback all the same; what counts is what the operator set.
    with InThread(data_dir, host=host) as server:
        http = server.nobody().http
        assert http.get("/").status_code == 404
        assert http.get("/open?code=x").status_code == 404
        for method, path in ROUTES:
            _refused(_ask(http, method, path), 401, "invalid_api_key")
        _refused(http.get("/openapi.json"), 401, "invalid_api_key")
        assert server.api("chat").http.get("/openapi.json").status_code == 200
        assert http.get("/healthz").status_code == 200
        assert http.get("/readyz").status_code == 200
        arguments = ["link", "--data-dir", str(data_dir)]
        link = CliRunner().invoke(command_line, arguments).stdout.strip()
        code = link.rpartition("=")[2]
        assert http.get(f"/open?code={code}").status_code == 404
        cookie = {"Cookie": f"{COOKIE}={code}"}
        assert http.get("/conversations", headers=cookie).status_code == 401


def test_a_request_line_and_headers_that_are_no_http_do_not_end_the_server(shared: InThread):
    for nonsense in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 50,
    ):
        with socket.create_connection(shared.address, timeout=5) as raw:
            raw.sendall(nonsense)
            raw.shutdown(socket.SHUT_WR)
            raw.recv(4096)
    assert shared.nobody().http.get("/healthz").status_code == 200
