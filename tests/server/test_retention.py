"""What is kept of people without a session: for a while, and then nothing."""

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.server.answering import Members, asked
from tests.server.running import Api, eventually
from turnwire.admission.principal import EPHEMERAL
from turnwire.errors import StorageUnavailable
from turnwire.ids import ConversationId
from turnwire.server.retention import Retention
from turnwire.storage.memory import MemoryStore
from turnwire.storage.sql import SqliteStore


def _rows(data_dir: Path) -> dict[str, int]:
    """Return how many rows are kept of conversations, in both files."""
    counted: dict[str, int] = {}
    for name, tables in {
        "turnwire.db": ("conversations", "turns", "events", "pauses", "receipts"),
        "checkpoints.db": ("checkpoints", "writes"),
    }.items():
        with closing(sqlite3.connect(data_dir / name)) as db:
            for table in tables:
                counted[table] = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return counted


def _known(data_dir: Path) -> set[str]:
    with closing(sqlite3.connect(data_dir / "turnwire.db")) as db:
        return {each for (each,) in db.execute("SELECT conversation_id FROM conversations")}


def test_a_conversation_without_a_session_is_gone_after_its_time_and_others_stay(tmp_path: Path):
    with Members(tmp_path, anonymous_seconds=1.5) as server:
        anybody, member = server.keyed("chat"), server.api()
        kept = [asked(member, "searches")[0], asked(member, "confirm")[0]]
        kept_ids = {each.data["conversation_id"] for each in kept}
        kept_ids.add(anybody.chat("plain").json()["thread_id"])
        before = _rows(tmp_path)
        for question in ("searches", "confirm", "input", "raise"):
            asked(anybody, question)
        assert len(_known(tmp_path)) == 7
        eventually(lambda: _known(tmp_path) == kept_ids)
        assert _rows(tmp_path) == before
        opened = kept[0].data
        assert member.turn(opened["conversation_id"], opened["message_id"])["status"] == "completed"


def test_what_runs_or_waits_for_a_reviewer_is_left_until_it_is_over(tmp_path: Path):
    with Members(tmp_path, anonymous_seconds=1) as server:
        anybody, reviewer = server.keyed("chat"), server.keyed("review")
        reviewed = asked(anybody, "review")[0].data["conversation_id"]
        with anybody.ask("slow") as reader:
            running = reader.next().data["conversation_id"]
            gone = asked(anybody, "plain")[0].data["conversation_id"]
            eventually(lambda: gone not in _known(tmp_path))
            assert {running, reviewed} <= _known(tmp_path)
        decided = reviewer.resume(thread_id=reviewed, decision="approve")
        assert decided.json()["content"] == "The draft. [1]"
        eventually(lambda: _known(tmp_path) == set())


def test_a_repeat_joins_its_turn_for_as_long_as_that_is_kept(tmp_path: Path):
    with Members(tmp_path, anonymous_seconds=1) as server:
        anybody, once = server.keyed("chat"), {"Idempotency-Key": "k"}
        first = asked(anybody, "plain", headers=once)
        assert asked(anybody, "plain", headers=once) == first
        eventually(lambda: _known(tmp_path) == set())
        assert asked(anybody, "plain", headers=once)[0].data != first[0].data


def test_more_than_is_looked_up_at_once_is_erased_and_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("turnwire.server.retention._SPARE_SECONDS", 0)
    store, erased = _Left(250), list[str]()

    async def erase(conversation_id: ConversationId) -> None:
        erased.append(conversation_id)
        store.left.remove(conversation_id)

    retention = Retention(store, erase, now=lambda: 10_000, seconds=4)
    assert asyncio.run(retention.sweep()) == 250
    assert len(set(erased)) == 250
    assert store.asked == {(EPHEMERAL, 6_000, 10_000, 100)}


class _Left(MemoryStore):
    """A store with so many conversations that are due."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left = [ConversationId(f"conv_{each}") for each in range(count)]
        self.asked: set[tuple[str, int, int, int]] = set()

    async def abandoned(
        self, prefix: str, *, before_ms: int, now: int, limit: int
    ) -> list[ConversationId]:
        self.asked.add((prefix, before_ms, now, limit))
        return self.left[:limit]


@pytest.mark.parametrize("error", [StorageUnavailable("no"), RuntimeError("CANARY-7f3a")])
def test_a_store_that_fails_is_asked_again_and_ends_nothing(
    tmp_path: Path,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    real, failures = SqliteStore.abandoned, [error]

    async def failing(
        store: SqliteStore, prefix: str, *, before_ms: int, now: int, limit: int
    ) -> list[ConversationId]:
        if failures:
            raise failures.pop()
        return await real(store, prefix, before_ms=before_ms, now=now, limit=limit)

    monkeypatch.setattr(SqliteStore, "abandoned", failing)
    with (
        caplog.at_level(logging.INFO, "turnwire"),
        Members(tmp_path, anonymous_seconds=1) as server,
    ):
        asked(server.keyed("chat"), "plain")
        eventually(lambda: _known(tmp_path) == set())
    assert not failures
    assert "CANARY-7f3a" not in caplog.text
    assert "can't be erased right now" in caplog.text or "RuntimeError" in caplog.text


def test_a_member_is_erased_at_their_word_and_the_audit_stays_without_words(tmp_path: Path):
    with Members(tmp_path) as server:
        leaves, stays = server.api(), server.api()
        kept = asked(stays, "searches")[0].data["conversation_id"]
        asked(leaves, "searches")
        asked(leaves, "confirm")
        audited = _audit(tmp_path)
        assert audited
        assert leaves.http.delete("/auth/session").status_code == 204
        assert leaves.http.get("/conversations").status_code == 401
        assert leaves.http.delete("/auth/session").status_code == 401
        assert _known(tmp_path) == {kept}
        assert [each["conversation_id"] for each in _listed(stays)] == [kept]
        after = _audit(tmp_path)
        assert after[: len(audited)] == audited


def _listed(api: Api) -> list[dict[str, str]]:
    return api.http.get("/conversations").json()["conversations"]


def _audit(data_dir: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(data_dir / "turnwire.db")) as db:
        return db.execute("SELECT confirmation_id, step, tool FROM tool_audit").fetchall()
