"""Who may open a socket: each check refuses by a status, and a token opens one socket once."""

import hashlib
import hmac
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.server.running import InThread, Process
from tests.server.sockets import Staff, opened_with, refused

SECRET = "the secret that this test's tokens have"
OTHER = "https://app.example.org"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    data_dir = tmp_path_factory.mktemp("handshakes")
    with InThread(data_dir, ws_secret=SECRET, cors_origins=(OTHER,)) as each:
        yield each


@pytest.fixture
def staff(server: InThread) -> Staff:
    return Staff(server)


def _signed(username: str, *, left: int = 60, secret: str = SECRET) -> str:
    said = f"{username}:{int(time.time()) + left}"  # noqa: TID251 - as the server has it
    return f"{said}:{hmac.new(secret.encode(), said.encode(), hashlib.sha256).hexdigest()}"


def test_a_token_is_the_users_name_when_it_expires_and_their_signature(staff: Staff):
    answer = staff.http("GET", "/studio/ws-token")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["expires_in"] == 300
    username, expiry, signature = answer.json()["token"].rsplit(":", 2)
    assert username == "ana"
    assert 295 <= int(expiry) - time.time() <= 302  # noqa: TID251 - as the server has it
    signed = hmac.new(SECRET.encode(), f"ana:{expiry}".encode(), hashlib.sha256)
    assert signature == signed.hexdigest()


def test_two_tokens_of_one_moment_open_two_sockets(staff: Staff):
    tokens = [staff.token() for _ in range(5)]
    assert len(set(tokens)) == 5
    for each in tokens:
        opened_with(staff.server, "s1", each).close()


def test_a_token_needs_the_scope_and_a_name_needs_it_too(server: InThread):
    assert server.api("chat").http.get("/studio/ws-token").status_code == 403
    assert server.nobody().http.get("/studio/ws-token").status_code == 401
    named = {"X-Turnwire-User": "ana"}
    assert server.api("chat").http.get("/conversations", headers=named).status_code == 403
    for name in ("", "a b", "a:b", "é", "operator", "x" * 129, "key:0123456789abcdef"):
        staff = Staff(server, None)
        headers = [*staff.headers.items(), ("X-Turnwire-User", name)]
        encoded = [(each.encode(), value.encode()) for each, value in headers]
        answer = httpx.get(f"{server.url}/studio/ws-token", headers=encoded)
        assert answer.status_code == 403, name


def test_a_key_may_open_a_socket_for_itself(server: InThread):
    with Staff(server, None, "studio", "chat").open() as socket:
        assert socket.connected["user"].startswith("key:")
        assert socket.ask("say hi")[-1]["type"] == "done"


def _bad_tokens() -> dict[str, str | None]:
    good = _signed("ana")
    username, expiry, signature = good.rsplit(":", 2)
    return {
        "none": None,
        "empty": "",
        "a word": "token",
        "without a signature": f"{username}:{expiry}",
        "a cut signature": good[:-1],
        "a longer signature": good + "0",
        "upper case": f"{username}:{expiry}:{signature.upper()}",
        "another name": f"bna:{expiry}:{signature}",
        "another expiry": f"{username}:{int(expiry) + 1}:{signature}",
        "one bit": good[:-1] + format(int(good[-1], 16) ^ 1, "x"),
        "a second past": _signed("ana", left=-1),
        "far too long": _signed("ana", left=4000),
        "another secret": _signed("ana", secret="x" * 40),
        "an empty secret": _signed("ana", secret=""),
        "another algorithm": f"{username}:{expiry}:sha1={signature}",
        "nobody": _signed(""),
        "a name of another form": _signed("a b"),
        "a key that is not there": _signed("key:0123456789abcdef"),
        "wide digits": f"{username}:{''.join(chr(0xFF10 + int(each)) for each in expiry)}:0",
        "twice": f"{good}&token={good}",
        "a plus": "+" + good,
        "nul": "%00" + good,
        "no utf-8": "%ff" + good,
        "10 kB": "x" * 10_000,
    }


@pytest.mark.parametrize("kind", list(_bad_tokens()))
def test_a_token_that_is_not_good_is_refused_with_one_text(server: InThread, kind: str):
    token = _bad_tokens()[kind]
    sent = token if token is None or "%" in token or "&" in token else quote(token, safe="+:=")
    status, error = refused(lambda: opened_with(server, "s1", sent))
    assert (status, error["code"], error["retryable"]) == (401, "invalid_token", False)
    assert error["message"] == "This token is not valid; ask for a new one: GET /studio/ws-token."


def test_a_token_that_is_percent_encoded_as_browsers_do_it_is_taken(staff: Staff):
    opened_with(staff.server, "s1", quote(staff.token(), safe="")).close()


def test_a_hundred_clients_with_one_token_get_one_socket(staff: Staff):
    token = staff.token()

    def opens(_: int) -> int:
        try:
            opened_with(staff.server, "s1", token).close()
        except InvalidStatus as error:
            return error.response.status_code
        return 101

    with ThreadPoolExecutor(100) as pool:
        assert sorted(pool.map(opens, range(100))) == [101] + [401] * 99


@pytest.mark.parametrize(
    "origin",
    ["https://evil.test", "null", OTHER + ".evil.test", OTHER + ":444", "http://app.example.org"],
)
def test_a_page_of_a_foreign_origin_opens_no_socket_and_burns_its_token(staff: Staff, origin: str):
    token = staff.token()
    headers = {"Origin": origin}
    status, error = refused(lambda: opened_with(staff.server, "s1", token, headers=headers))
    assert (status, error["code"]) == (403, "forbidden")
    assert refused(lambda: opened_with(staff.server, "s1", token))[0] == 401


def test_the_servers_own_pages_and_those_that_are_allowed_open_sockets(staff: Staff):
    for origin in (staff.server.url, OTHER):
        headers = {"Origin": origin}
        opened_with(staff.server, "s1", staff.token(), headers=headers).close()


@pytest.mark.parametrize("session", ["*", "a b", "%2e%2e", "x" * 300, "e\u0301", "a%00b"])
def test_a_session_that_has_not_the_form_of_an_id_is_not_found(staff: Staff, session: str):
    encoded = session if "%" in session else quote(session)
    status, error = refused(lambda: opened_with(staff.server, encoded, staff.token()))
    assert (status, error["code"]) == (404, "not_found")


def test_when_there_is_no_room_a_socket_is_refused_with_503(data_dir: Path):
    with InThread(data_dir, max_sockets=1) as server, Staff(server).open() as first:
        ben = Staff(server, "ben")
        status, error = refused(lambda: opened_with(server, "s1", ben.token()))
        assert (status, error["code"], error["retryable"]) == (503, "overloaded", True)
        assert first.ask("say hi")[-1]["type"] == "done"


def test_the_route_answers_a_plain_request_as_one_that_is_not_there(server: InThread):
    assert server.nobody().http.get("/ws/s1?token=x").status_code == 404


def test_no_log_holds_a_token(data_dir: Path):
    with Process(data_dir) as server:
        staff = Staff(server)
        token, other = staff.token(), staff.token()
        opened_with(server, "s1", token).close()
        refused(lambda: opened_with(server, "s1", token))
        refused(lambda: opened_with(server, "s2", other, headers={"Origin": "https://evil.test"}))
        refused(lambda: opened_with(server, "s2", "ana:12:not-a-token"))
        server.nobody().http.get(f"/ws/s1?token={token}")
        server.terminate()
        server.process.wait(20)
        log = server.log
    assert "invalid_token" in log
    for each in (token, other):
        assert each.rpartition(":")[2] not in log
    assert "not-a-token" not in log
    assert "token=" not in log
