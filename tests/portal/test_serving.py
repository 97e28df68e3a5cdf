"""The portal as a thread and as a file: what it leaves, what it keeps, what it logs."""

import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.portal.conftest import ANA, DANIEL
from turnwire.errors import SetupError
from turnwire.portal.serving import FILE, serving
from turnwire.portal.store import PortalStore

SERVICE = {"Authorization": "Bearer demo-service-key"}


def token_of(url: str, mobile: str) -> str:
    answer = httpx.post(f"{url}/service/tokens", json={"mobile": mobile}, headers=SERVICE)
    return answer.raise_for_status().json()["token"]


def test_nothing_is_left_running_when_the_block_ends_not_even_where_it_fails(tmp_path: Path):
    before = threading.active_count()
    urls: list[str] = []

    def fail() -> None:
        with serving(tmp_path) as portal:
            urls.append(portal.url)
            assert threading.active_count() > before
            assert httpx.get(f"{portal.url}/healthz").status_code == 200
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert threading.active_count() == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{urls[0]}/healthz")


def test_it_ends_within_seconds_although_a_caller_waits_for_an_answer_that_never_comes(
    tmp_path: Path,
):
    before = threading.active_count()
    statuses: list[int] = []
    with serving(tmp_path) as portal:
        httpx.put(f"{portal.url}/demo/switches", json={"answer": "never"})

        def wait() -> None:
            answer = httpx.post(
                f"{portal.url}/service/members", json={"mobile": ANA}, headers=SERVICE, timeout=30
            )
            statuses.append(answer.status_code)

        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
    waiting.join(5)
    assert threading.active_count() == before
    assert statuses == [500]


def test_what_was_done_is_there_after_a_restart_and_so_is_the_sign_in(tmp_path: Path):
    with serving(tmp_path) as portal:
        headers = {"Authorization": f"Bearer {token_of(portal.url, ANA)}", "Idempotency-Key": "k"}
        first = httpx.post(f"{portal.url}/me/callbacks", json={"reason": "x"}, headers=headers)
        httpx.put(f"{portal.url}/demo/switches", json={"delay_ms": 5000})
    with serving(tmp_path) as portal:
        again = httpx.post(f"{portal.url}/me/callbacks", json={"reason": "x"}, headers=headers)
        assert (again.headers["Idempotent-Replay"], again.content) == ("true", first.content)
        assert len(httpx.get(f"{portal.url}/demo/actions").json()) == 1


def test_two_hundred_callers_with_one_key_do_one_thing(tmp_path: Path):
    with serving(tmp_path) as portal:
        headers = {"Authorization": f"Bearer {token_of(portal.url, ANA)}", "Idempotency-Key": "k"}
        with httpx.Client(base_url=portal.url, headers=headers, timeout=30) as client:

            def ask(_: int) -> str:
                return client.post("/me/callbacks", json={"reason": "x"}).json()["callback_id"]

            with ThreadPoolExecutor(20) as pool:
                answers = set(pool.map(ask, range(200)))
            assert len(answers) == 1
            assert len(client.get("/demo/actions").json()) == 1


def test_no_file_holds_a_token(tmp_path: Path):
    with serving(tmp_path) as portal:
        token = token_of(portal.url, ANA)
        files = [each.read_bytes() for each in tmp_path.iterdir()]
    files += [each.read_bytes() for each in tmp_path.iterdir()]
    assert any(
        ANA.encode() in each for each in files
    )  # the files can be read, and members are there
    assert not any(token.encode() in each for each in files)


def test_log_lines_tell_routes_and_no_number_token_key_reason_or_reference(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    # What other people's client says is its own.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    with serving(tmp_path) as portal:
        token = token_of(portal.url, DANIEL)
        member = {"Authorization": f"Bearer {token}", "Idempotency-Key": "canary-key"}
        with httpx.Client(base_url=portal.url, headers=member) as client:
            client.post("/me/callbacks", json={"reason": "canary-reason"})
            client.post("/me/callbacks", json={"reason": "canary-reason", "canary-field": 1})
            client.get("/me/claims/CLM-2026-1203")
            client.get("/canary-path")
    told = [each.getMessage() for each in caplog.records]
    assert "POST /me/callbacks 201" in told
    assert "GET /me/claims/{reference} 200" in told
    for secret in (DANIEL, DANIEL[1:], token, "demo-service-key", "canary", "CLM-2026"):
        assert not any(secret in each for each in told), secret


def test_a_fault_of_the_portals_own_is_told_by_its_kind_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def broken(_: PortalStore, mobile: str) -> bool:
        raise RuntimeError(mobile)

    monkeypatch.setattr(PortalStore, "knows", broken)
    with serving(tmp_path) as portal:
        answer = httpx.post(f"{portal.url}/service/members", json={"mobile": ANA}, headers=SERVICE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "POST /service/members raised RuntimeError" in caplog.text
    assert ANA not in caplog.text
    assert ANA not in answer.text


def test_uvicorn_is_quiet_about_the_portal_and_about_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    with serving(tmp_path):
        logging.getLogger("uvicorn.error").info("of another server")
    told = [each.getMessage() for each in caplog.records if each.name == "uvicorn.error"]
    assert told == ["of another server"]


def spoil_by_words(path: Path) -> None:
    path.write_text("no database " * 100)


def spoil_by_a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [spoil_by_words, spoil_by_a_folder])
def test_a_file_that_is_no_database_is_told_with_what_to_do(
    tmp_path: Path, spoil: Callable[[Path], None]
):
    spoil(tmp_path / FILE)
    with pytest.raises(SetupError, match=r"portal\.db.*remove it"), serving(tmp_path):
        pass


def test_what_another_version_left_is_made_anew(tmp_path: Path):
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("CREATE TABLE members (of_long_ago TEXT)")
    db.execute("PRAGMA user_version = 999")
    db.commit()
    db.close()
    with PortalStore(tmp_path / FILE) as store:
        assert store.knows(ANA)
