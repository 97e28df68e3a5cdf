"""The database is locked or full: refusals and failures are honest, and nothing shown is lost."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import aiosqlite
import pytest

from tests.server.answering import Members, asked, card
from tests.server.reading import Frame, text_of
from tests.server.running import InThread, Process, eventually
from tests.server.test_members import member
from turnwire.app import composition as app
from turnwire.storage.sql import SqliteStore

BUSY = 0.3


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that wait less for a lock, so that the tests do."""
    monkeypatch.setattr(app, "SqliteStore", partial(SqliteStore, busy_seconds=BUSY))
    connect = partial(aiosqlite.connect, timeout=BUSY)
    monkeypatch.setattr("turnwire.app.composition.aiosqlite.connect", connect)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold the database's write lock, as a backup or another process does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            db.execute("ROLLBACK")


def test_a_turn_that_cannot_be_stored_is_refused_and_may_be_sent_again(data_dir: Path):
    with InThread(data_dir) as server:
        api = server.api("chat")
        with _locked(data_dir / "turnwire.db"):
            refused = api.chat("say hi", headers={"Idempotency-Key": "k"})
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "storage_unavailable"
            assert refused.json()["error"]["retryable"] is True
            assert "retry-after" in refused.headers
            assert api.http.get("/healthz").status_code == 200
            assert api.http.get("/readyz").status_code == 503
        assert api.chat("say hi", headers={"Idempotency-Key": "k"}).json()["content"] == "hi"
        assert api.http.get("/readyz").status_code == 200
        assert len(api.http.get("/conversations").json()["conversations"]) == 1


def test_a_lock_that_outlasts_the_patience_fails_the_turn_and_what_was_shown_is_kept(
    data_dir: Path,
):
    with InThread(data_dir) as server:
        api = server.api("chat")
        frames: list[Frame] = []
        with api.stream("slow 200 0.02") as reader:
            frames += [reader.next() for _ in range(5)]
            with _locked(data_dir / "turnwire.db"):
                frames += reader.rest()
        assert frames[-1].event == "error"
        assert frames[-1].data["code"] == "storage_unavailable"
        thread_id, turn_id = frames[0].data["thread_id"], frames[0].turn_id
        told = eventually(
            lambda: (turn := api.turn(thread_id, turn_id))["status"] == "failed" and turn, within=5
        )
        assert told["content"] == text_of(frames)
        with api.events(thread_id, turn_id) as reader:
            assert reader.rest() == frames
        assert api.chat("say next", thread_id=thread_id).json()["content"] == "next"


def test_a_short_lock_is_waited_for_and_loses_nothing(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app, "SqliteStore", partial(SqliteStore, busy_seconds=5))
    with InThread(data_dir) as server:
        api = server.api("chat")
        with api.stream("slow 30 0.02") as reader:
            reader.next()
            held = threading.Event()
            with _locked(data_dir / "turnwire.db"):
                held.wait(0.8)  # longer than the whole turn
            frames = reader.rest()
        assert frames[-1].data["finish_reason"] == "stop"
        assert text_of(frames) == "".join(f"w{n} " for n in range(30))


def test_a_checkpoint_that_cannot_be_written_is_a_failure_with_the_words_kept(data_dir: Path):
    with InThread(data_dir) as server:
        api = server.api("chat")
        with _locked(data_dir / "checkpoints.db"), api.stream("say one two") as reader:
            frames = reader.rest()
        assert frames[-1].event == "error"
        assert text_of(frames) == "one two"
        thread_id = frames[0].data["thread_id"]
        assert api.turn(thread_id, frames[0].turn_id)["partial"] is True
        assert api.chat("say next", thread_id=thread_id).json()["content"] == "next"


def test_a_checkpoint_that_cannot_be_written_is_told_as_storage_unavailable(data_dir: Path):
    with InThread(data_dir) as server:
        api = server.api("chat")
        with _locked(data_dir / "checkpoints.db"):
            assert api.chat("say hi").json()["error"]["code"] == "storage_unavailable"


def test_a_full_disk_refuses_turns_and_the_process_lives(data_dir: Path):
    with Process(data_dir, file_bytes=600_000) as server:
        api = server.api("chat")
        seen: list[tuple[int, str]] = []
        for _ in range(60):
            answer = api.chat("huge 20000")
            body = answer.json()
            seen.append((answer.status_code, body.get("error", body).get("code", "complete")))
            if seen[-1] == (503, "storage_unavailable"):
                break
        assert seen[0] == (200, "complete")
        assert seen[-1] == (503, "storage_unavailable"), seen
        assert api.http.get("/healthz").status_code == 200
        assert "never retrieved" not in server.log


def test_a_lock_while_a_member_is_admitted_is_503_and_costs_the_member_nothing(data_dir: Path):
    with InThread(data_dir, member_messages=2, member_tokens=9_000) as server:
        mine = member(server)
        with _locked(data_dir / "turnwire.db"):
            for refused in (
                mine.chat("say hi", headers={"Idempotency-Key": "k"}),
                server.api("chat").http.post("/auth/session"),
            ):
                assert refused.status_code == 503
                assert refused.json()["error"]["code"] == "storage_unavailable"
                assert "retry-after" in refused.headers
        assert mine.http.get("/conversations").json() == {"conversations": []}
        (window,) = mine.http.get("/usage").json()["windows"]
        assert (window["messages"]["used"], window["tokens"]["used"]) == (0, 0)
        assert mine.chat("say hi", headers={"Idempotency-Key": "k"}).json()["content"] == "hi"


def test_a_lock_while_a_message_is_admitted_is_503_stores_nothing_and_passes(data_dir: Path):
    with InThread(data_dir, member_messages=2) as server:
        mine, headers = member(server), {"Idempotency-Key": "k"}
        with _locked(data_dir / "turnwire.db"):
            refused = mine.http.post("/chat/stream", json={"message": "say hi"}, headers=headers)
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/json"
            assert refused.json()["error"]["code"] == "storage_unavailable"
            assert "retry-after" in refused.headers
        assert mine.http.get("/conversations").json() == {"conversations": []}
        (window,) = mine.http.get("/usage").json()["windows"]
        assert window["messages"]["used"] == 0
        with mine.ask("say hi", headers=headers) as reader:
            assert reader.rest()[-1].data["finish_reason"] == "stop"
        assert len(mine.http.get("/conversations").json()["conversations"]) == 1


def test_a_lock_while_a_confirmation_is_taken_is_503_and_it_can_be_given_again(data_dir: Path):
    with Members(data_dir) as server:
        mine = server.api()
        frames = asked(mine, "confirm")
        body = {
            "conversation_id": frames[0].data["conversation_id"],
            "confirmation_id": card(frames, "action.confirmation_required")["confirmation_id"],
            "decision": "approve",
        }
        with _locked(data_dir / "turnwire.db"):
            refused = mine.http.post("/chat/confirm", json=body)
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "storage_unavailable"
        assert mine.post("/chat/confirm", **body)[-1].data["finish_reason"] == "stop"
