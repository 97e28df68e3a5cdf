"""Signing in over HTTP: what is answered to whom, and where nothing of it is found."""

import json
import logging
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.answering import asked
from tests.server.running import Api, InThread, eventually
from tests.server.signing import SigningIn, verify
from tests.sign_in.signing import KNOWN, TOKEN, UNKNOWN, letters
from turnwire.sign_in.sealing import KEY_FILE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SigningIn]:
    with SigningIn(tmp_path_factory.mktemp("signing"), sign_in_codes_per_address=10_000) as serving:
        yield serving


def _error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _state(api: Api) -> dict[str, Any]:
    return api.http.get("/auth/session").raise_for_status().json()


def test_a_member_signs_in_goes_on_with_the_turn_and_signs_out(server: SigningIn):
    api = server.api("chat")
    before = _state(api)
    assert before["signed_in"] is False
    conversation_id = asked(api, "sign-in")[0].data["conversation_id"]
    goes_on = {"conversation_id": conversation_id}
    assert _error(api.http.post("/chat/resume", json=goes_on)) == (403, "resume_unavailable")

    told = verify(api, server.code(api))
    assert (told.status_code, told.json()) == (
        200,
        {"signed_in": True, "expires_at": before["expires_at"]},
    )
    assert told.headers["cache-control"] == "no-store"
    assert _state(api) == told.json()
    frames = api.post("/chat/resume", **goes_on)
    assert frames[-1].data["finish_reason"] == "stop"

    out = api.http.post("/auth/logout")
    assert (out.status_code, out.json()) == (200, before)
    assert _state(api) == before
    assert api.http.get(f"/conversations/{conversation_id}").status_code == 200


def test_known_and_unknown_numbers_get_the_same_answer_in_the_same_time(server: SigningIn):
    server.directory.delay = 0.2
    api, times = server.api("chat"), {KNOWN: list[float](), UNKNOWN: list[float]()}
    bodies: set[tuple[int, bytes, tuple[str, ...]]] = set()
    before = len(letters(server.data_dir))
    try:
        for _ in range(8):
            for mobile, taken in times.items():
                began = time.perf_counter()
                answer = api.http.post("/auth/login", json={"mobile": mobile})
                taken.append(time.perf_counter() - began)
                headers = tuple(sorted(set(answer.headers) - {"x-request-id", "date"}))
                bodies.add((answer.status_code, answer.content, headers))
        assert [(status, json.loads(body)) for status, body, _ in bodies] == [
            (202, {"expires_in": 300.0})
        ]
        # Nobody was asked yet: both take far less than the directory does.
        assert all(statistics.median(each) < 0.1 for each in times.values())
        eventually(lambda: len(letters(server.data_dir)) == before + 8)
    finally:
        server.directory.delay = 0
    assert {each["mobile"] for each in letters(server.data_dir)[before:]} == {KNOWN}


def test_wrong_used_foreign_and_unknown_are_the_same_bytes(server: SigningIn):
    api, other = server.api("chat"), server.api("chat")
    code = server.code(api)
    wrong = f"{(int(code) + 1) % 10**6:06}"
    answers = [
        verify(api, wrong),
        verify(api, code, UNKNOWN),
        verify(api, "no code"),
        verify(other, code),
    ]
    assert verify(api, code).status_code == 200
    answers.append(verify(api, code))
    told: set[str] = set()
    for each in answers:
        assert _error(each) == (401, "invalid_code")
        error = each.json()["error"]
        error.pop("request_id")
        told.add(json.dumps(error))
    assert len(told) == 1


def test_two_hundred_right_answers_at_once_sign_in_once(server: SigningIn):
    api = server.api("chat")
    code = server.code(api)
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(verify, [api] * 200, [code] * 200))
    assert Counter(each.status_code for each in answers) == {200: 1, 401: 199}


def test_fifty_guesses_at_once_are_five(server: SigningIn):
    api = server.api("chat")
    code = server.code(api)
    wrong = f"{(int(code) + 1) % 10**6:06}"
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(verify, [api] * 50, [wrong] * 50))
    assert {_error(each) for each in answers} == {(401, "invalid_code")}
    assert _error(verify(api, code)) == (401, "invalid_code")


def test_without_a_session_nothing_is_done(server: SigningIn):
    keyed, body = server.keyed("chat").http, {"mobile": KNOWN, "code": "123456"}
    before = len(server.directory.asked)
    for answer in (
        keyed.post("/auth/login", json={"mobile": KNOWN}),
        keyed.post("/auth/verify", json=body),
        keyed.post("/auth/logout"),
        keyed.get("/auth/session"),
    ):
        assert _error(answer) == (401, "session_required")
    nobody = server.nobody().http
    assert _error(nobody.post("/auth/login", json=body)) == (401, "invalid_api_key")
    reviewer = server.keyed("review").http
    assert _error(reviewer.post("/auth/verify", json=body)) == (403, "forbidden")
    thief = server.stranger("chat")
    thief.be(server.api("chat"))
    assert _error(thief.http.post("/auth/verify", json=body)) == (401, "session_required")
    assert len(server.directory.asked) == before


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("login", b"{", (400, "invalid_request")),
        ("login", b"\xff", (400, "invalid_request")),
        ("login", b"[]", (422, "validation_error")),
        ("login", b"{}", (422, "validation_error")),
        ("login", b'{"mobile": 447700900123}', (422, "validation_error")),
        ("login", b'{"mobile": "07700 900123"}', (422, "validation_error")),
        ("login", b'{"mobile": "+447700900123", "code": "1"}', (422, "validation_error")),
        ("login", b'{"mobile": "+447700900123\\r\\nX-Evil: 1"}', (422, "validation_error")),
        ("login", b'{"mobile": "+447700900123\\u0000"}', (422, "validation_error")),
        ("login", b'{"mobile": "\\ud800"}', (422, "validation_error")),
        ("login", b'{"mobile": "' + b"1" * 100_000 + b'"}', (422, "validation_error")),
        ("login", b'{"mobile": "' + b"1" * 2_000_000 + b'"}', (413, "request_too_large")),
        ("verify", b'{"mobile": "+447700900123"}', (422, "validation_error")),
        ("verify", b'{"mobile": "+447700900123", "code": 123456}', (422, "validation_error")),
        ("verify", b'{"mobile": "+447700900123", "code": null}', (422, "validation_error")),
        ("verify", b'{"mobile": "+447700900123", "code": "\\ud800"}', (422, "validation_error")),
        ("verify", b'{"mobile": "+4477009001", "code": "1"}', (401, "invalid_code")),
        ("verify", b'{"mobile": "+4477", "code": "1"}', (422, "validation_error")),
        ("verify", b"[" * 2_000_000, (413, "request_too_large")),
    ],
    ids=lambda each: str(each[:50]),
)
def test_what_cannot_be_read_is_refused_and_not_repeated(
    server: SigningIn, path: str, body: bytes, expected: tuple[int, str]
):
    answer = server.api("chat").http.post(f"/auth/{path}", content=body)
    assert _error(answer) == expected
    assert "7700" not in answer.text


def test_digits_of_any_script_are_digits(server: SigningIn):
    api = server.api("chat")
    to_arabic = {ord("0") + each: 0x0660 + each for each in range(10)}
    code = server.code(api, KNOWN.translate(to_arabic))
    arabic = code.translate(to_arabic)
    assert arabic != code
    assert verify(api, f" {arabic[:3]} {arabic[3:]} ").status_code == 200


def test_over_the_limit_it_is_429_for_known_and_unknown_numbers_alike(tmp_path: Path):
    with SigningIn(tmp_path / "data", sign_in_codes=2) as server:
        for mobile in (KNOWN, UNKNOWN):
            for _ in range(2):
                api = server.api("chat")
                assert api.http.post("/auth/login", json={"mobile": mobile}).status_code == 202
            answer = server.api("chat").http.post("/auth/login", json={"mobile": mobile})
            assert _error(answer) == (429, "rate_limited")
            assert 0 < int(answer.headers["retry-after"]) <= 3600
            assert "API key" not in answer.json()["error"]["message"]


def test_behind_a_trusted_proxy_it_is_the_clients_address_that_counts(tmp_path: Path):
    limits = {"sign_in_codes_per_address": 1, "trusted_proxies": ["127.0.0.1"]}
    with SigningIn(tmp_path / "data", **limits) as server:

        def ask(address: str) -> int:
            headers = {"X-Forwarded-For": address}
            http = server.api("chat").http
            return http.post("/auth/login", json={"mobile": KNOWN}, headers=headers).status_code

        assert [ask("192.0.2.1"), ask("192.0.2.1"), ask("192.0.2.2")] == [202, 429, 202]
        assert [ask("2001:db8::1"), ask("2001:db8::2")] == [202, 429]


def test_where_nobody_knows_members_it_is_404_that_says_what_is_missing(shared: InThread):
    api = shared.api("chat").be_member()
    for answer in (
        api.http.post("/auth/login", json={"mobile": KNOWN}),
        verify(api, "123456"),
        api.http.post("/auth/logout"),
    ):
        assert _error(answer) == (404, "not_found")
        assert "portal_url" in answer.json()["error"]["message"]
    assert _state(api)["signed_in"] is False
    assert not (shared.data_dir / KEY_FILE).exists()


def test_where_the_portal_is_down_it_is_503_and_the_same_code_is_good_later(server: SigningIn):
    api = server.api("chat")
    code = server.code(api)
    server.directory.is_down = True
    try:
        answer = verify(api, code)
    finally:
        server.directory.is_down = False
    assert _error(answer) == (503, "sign_in_unavailable")
    assert answer.json()["error"]["retryable"] is True
    assert answer.headers["retry-after"] == "2"
    assert verify(api, code).status_code == 200


def test_a_sign_in_outlives_a_restart_and_a_lost_key_is_signed_out(tmp_path: Path):
    data_dir = tmp_path / "data"
    with SigningIn(data_dir) as server:
        api = server.signed_in()
        session = api.http.headers["X-Turnwire-Session"]
        key = server.key("chat")

    def state() -> dict[str, Any]:
        with SigningIn(data_dir) as again:
            api = Api(again.url, key)
            api.http.headers["X-Turnwire-Session"] = session
            told = _state(api)
            api.http.close()
            return told

    assert state()["signed_in"] is True
    (data_dir / KEY_FILE).unlink()
    assert state()["signed_in"] is False


def test_no_code_number_or_token_is_found_where_it_does_not_belong(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    data_dir = tmp_path / "data"
    with SigningIn(data_dir) as server:
        api = server.api("chat")
        conversation_id = asked(api, "sign-in")[0].data["conversation_id"]
        codes: list[str] = []
        for _ in range(3):
            codes.append(server.code(api))
            verify(api, f"{(int(codes[-1]) + 1) % 10**6:06}")
        assert verify(api, codes[-1]).status_code == 200
        frames = api.post("/chat/resume", conversation_id=conversation_id)
        server.directory.is_down = True
        codes.append("unsent")
        api.http.post("/auth/login", json={"mobile": KNOWN})
        eventually(lambda: "was not sent" in caplog.text)
        metrics = api.http.get("/metrics").text
        turns = api.http.get(f"/conversations/{conversation_id}").text
        kept = b"".join(each.read_bytes() for each in data_dir.glob("*.db*"))
        rows = _rows(data_dir / "turnwire.db")
    logged = "\n".join(f"{each.getMessage()} {vars(each)}" for each in caplog.records)
    wire = "".join(json.dumps(each.data) for each in frames)
    for place in (logged, wire, metrics, turns, kept.decode("latin-1"), rows):
        assert TOKEN not in place
        assert "7700900123" not in place
    for code in codes:
        # Six digits alone may be found by chance in a file; as a value they may not.
        for place in (logged, wire, turns, rows):
            assert f'"{code}"' not in place
            assert f"'{code}'" not in place
            assert f" {code} " not in place


def _rows(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
        tables = [each for each in names if each in ("sign_in_codes", "credentials", "usage")]
        assert len(tables) == 3
        return repr([db.execute(f"SELECT * FROM {each}").fetchall() for each in tables])
