"""What only a file can suffer: a killed process, a lock, a full disk."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.engine.stage import Batches, staged
from tests.scenarios.play import envelopes, play
from tests.scenarios.turns import PLAIN, completed, words
from turnwire.engine.supervisor import SupervisorPolicy
from turnwire.errors import SetupError, StorageUnavailable
from turnwire.events import Envelope, TextDelta, TextReplaced, TurnCompleted, TurnFailed
from turnwire.ids import ConversationId, PauseId, TurnId
from turnwire.storage import packed_log, sqlite_file, statements
from turnwire.storage.conformance import Script
from turnwire.storage.sql import SqliteStore
from turnwire.storage.tables import UPGRADES, VERSION
from turnwire.work import Work

pytestmark = pytest.mark.anyio

KILLED_IN_MID_TURN = """
import asyncio, os, sys
from pathlib import Path
from turnwire.storage.conformance import Script
from turnwire.storage.sql import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    paused, script = Script(), Script()
    await store.begin(paused.opening())
    await store.append(paused.ask("cnf_1"))
    await store.begin(script.opening())
    await store.append(script.say("Rest ", "for "))
    await asyncio.sleep(0.2)
    await store.append(script.say("two days."))
    print(script.turn_id, paused.turn_id, flush=True)
    os._exit(9)

asyncio.run(main())
"""


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Another process writes to the file and does not let go."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def test_a_turn_of_a_killed_process_is_given_its_ending(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    killed = subprocess.run(  # noqa: ASYNC221 - nothing else runs meanwhile
        [sys.executable, "-c", KILLED_IN_MID_TURN, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == 9, killed.stderr
    turn_id, paused_id = map(TurnId, killed.stdout.split())
    store = SqliteStore(path)
    await store.open()
    async with staged(store=store) as stage:
        assert await stage.supervisor.recover() == 1
        heard = await stage.hear(turn_id)
        paused = await store.turn(paused_id)
        turn = await store.turn(turn_id)
    await store.close()

    assert [each.event for each in heard[1:3]] == words("Rest ", "for ")
    assert isinstance(heard[-1].event, TurnFailed)
    assert heard[-1].event.code == "stream_interrupted"
    assert turn is not None
    assert (turn.phase, turn.content) == ("failed", "Rest for ")
    assert paused is not None
    assert paused.phase == "paused"


async def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path):
    for _ in range(2):
        store = SqliteStore(tmp_path / "turnwire.db")
        await store.open()
        if not await store.read(PLAIN.turn_id):
            await play(PLAIN, store)
        else:
            assert await store.read(PLAIN.turn_id) == envelopes(PLAIN)
        await store.close()


async def test_closing_writes_what_waits(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    store, script = SqliteStore(path), Script()
    await store.open()
    await store.begin(script.opening())
    await store.append(script.say("Rest"))
    await store.close()
    again = SqliteStore(path)
    await again.open()

    assert await again.read(script.turn_id) == script.log
    await again.close()


async def test_a_locked_file_is_told_in_time_and_reading_goes_on(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    store, script = SqliteStore(path, busy_seconds=0.2), Script()
    await store.open()
    await play(PLAIN, store)
    with locked(path):
        began = time.monotonic()
        with pytest.raises(StorageUnavailable):
            await store.begin(script.opening())
        assert 0.1 < time.monotonic() - began < 2
        with pytest.raises(StorageUnavailable):
            await store.check()
        assert await store.read(PLAIN.turn_id) == envelopes(PLAIN)
        assert await store.turn(script.turn_id) is None

    await store.check()
    script = Script()
    await store.begin(script.opening())
    await store.append(script.complete())
    assert await store.read(script.turn_id) == script.log
    await store.close()


async def test_a_short_lock_is_waited_for(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    store, script = SqliteStore(path, busy_seconds=5), Script()
    await store.open()
    async with asyncio.TaskGroup() as tasks:
        with locked(path):
            beginning = tasks.create_task(store.begin(script.opening()))
            await asyncio.sleep(0.1)
            assert not beginning.done()
    await store.append(script.complete())

    assert await store.read(script.turn_id) == script.log
    await store.close()


class Full:
    """Lets the disk be full, and have room again."""

    def __init__(self, store: SqliteStore) -> None:
        self._writer = store._writer  # pyright: ignore[reportPrivateUsage]

    async def fill(self) -> None:
        def limit(db: Connection) -> None:
            pages = db.exec_driver_sql("PRAGMA page_count").scalar()
            db.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        await self._writer.run(limit)

    async def empty(self) -> None:
        await self._writer.run(
            lambda db: db.exec_driver_sql("PRAGMA max_page_count = 1000000").scalar()
        )


async def eventually_stored(store: SqliteStore, turn_id: TurnId, log: list[Envelope]) -> None:
    for _ in range(100):
        if await store.read(turn_id) == log:
            return
        await asyncio.sleep(0.05)
    assert await store.read(turn_id) == log


async def test_a_full_disk_fails_the_turn_and_what_was_shown_is_stored_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packed_log, "RETRY_SECONDS", 0.05)
    store = SqliteStore(tmp_path / "turnwire.db")
    await store.open()
    disk = Full(store)

    async def talking(work: Work) -> Batches:
        yield words("Rest ")
        await disk.fill()
        while True:
            yield words("well " * 2000)
            await asyncio.sleep(0.02)

    async def answering(work: Work) -> Batches:
        yield [completed("Rest.")]

    async with staged(SupervisorPolicy(drain_seconds=1), store=store) as stage:
        turn_id = await stage.begin(talking)
        heard = await stage.hear(turn_id)
        last = heard[-1].event
        assert isinstance(last, TurnFailed)
        assert last.code == "storage_unavailable"
        assert [each.seq for each in heard] == list(range(1, len(heard) + 1))

        await disk.empty()
        await eventually_stored(store, turn_id, heard)
        turn = await store.turn(turn_id)
        assert turn is not None
        assert (turn.phase, turn.error_code) == ("failed", "storage_unavailable")
        assert turn.content == "".join(
            each.event.text for each in heard if isinstance(each.event, TextDelta)
        )
        ending = await stage.ending(await stage.begin(answering))
        assert isinstance(ending, TurnCompleted)
    await store.close()


async def test_a_disk_that_is_full_at_the_ending_shows_a_failure_and_stores_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packed_log, "RETRY_SECONDS", 0.05)
    store = SqliteStore(tmp_path / "turnwire.db")
    await store.open()
    disk = Full(store)

    async def long(work: Work) -> Batches:
        await disk.fill()
        yield [completed("word " * 20_000)]

    async with staged(store=store) as stage:
        turn_id = await stage.begin(long)
        heard = await stage.hear(turn_id)
        assert isinstance(heard[-1].event, TurnFailed)
        assert not any(isinstance(each.event, TurnCompleted) for each in heard)

        await disk.empty()
        await eventually_stored(store, turn_id, heard)
    await store.close()


async def test_words_that_could_not_be_flushed_are_stored_though_the_turn_goes_on_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packed_log, "RETRY_SECONDS", 0.05)
    path = tmp_path / "turnwire.db"
    store, script = SqliteStore(path, busy_seconds=0.05), Script()
    await store.open()
    await store.begin(script.opening())
    with locked(path):
        await store.append(script.say("shown"))
        await asyncio.sleep(0.3)

    await eventually_stored(store, script.turn_id, script.log)
    await store.append(script.complete("shown"))
    assert await store.read(script.turn_id) == script.log
    await store.close()


async def test_what_is_owed_is_stored_when_the_store_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packed_log, "RETRY_SECONDS", 60)
    path = tmp_path / "turnwire.db"
    store, script = SqliteStore(path, busy_seconds=0.05), Script()
    await store.open()
    await store.begin(script.opening())
    with locked(path):
        await store.append(script.say("shown"))
        with pytest.raises(StorageUnavailable):
            await store.append(script.fail())
        await store.announce(script.log[-1:])
    await store.close()
    again = SqliteStore(path)
    await again.open()

    assert await again.read(script.turn_id) == script.log
    assert await again.running() == []
    await again.close()


async def test_one_job_that_fails_takes_no_other_with_it(tmp_path: Path):
    store = SqliteStore(tmp_path / "turnwire.db")
    await store.open()
    first = Script()
    await store.begin(first.opening())
    clashing = [Script(conversation_id=first.conversation_id) for _ in range(20)]
    fresh = [Script() for _ in range(20)]
    openings = [each.opening() for pair in zip(clashing, fresh, strict=True) for each in pair]

    results = await asyncio.gather(*map(store.begin, openings), return_exceptions=True)

    assert [each is None for each in results] == [False, True] * 20
    assert len(await store.running()) == 21
    await store.close()


async def test_a_file_of_another_version_is_refused(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    store = SqliteStore(path)
    await store.open()
    await store.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
    db.commit()
    db.close()
    again = SqliteStore(path)

    with pytest.raises(SetupError, match="tables 99"):
        await again.open()


def columns(path: Path) -> dict[str, set[tuple[str, str]]]:
    """Return the columns and their types of each table of a file."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            table: {(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({table})")}
            for (table,) in tables
        }


@pytest.fixture
def of_version_1(tmp_path: Path) -> Path:
    """A file as the first version of the tables has it, with a key and a conversation."""
    path = tmp_path / "turnwire.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((Path(__file__).parent / "tables_1.sql").read_text("utf-8"))
    return path


async def test_a_file_of_the_first_version_is_brought_up_to_date_and_keeps_what_it_has(
    of_version_1: Path, tmp_path: Path
):
    for _ in range(2):
        store = SqliteStore(of_version_1)
        await store.open()
        valid, revoked = sorted(await store.keys(), key=lambda each: each.revoked_ms or 0)
        assert (valid.key_id, valid.scopes, valid.per_minute) == (
            "0123456789abcdef",
            ("chat", "review"),
            None,
        )
        assert revoked.revoked_ms == 1_700_000_000_001
        (turn,) = await store.turns(ConversationId("conv_old"))
        assert (turn.content, len(await store.read(turn.turn_id))) == ("Kept.", 2)
        assert await store.rotate_key(valid.key_id, "0" * 64, previous_until_ms=1)
        await store.keys_used({valid.key_id: 7})
        await store.close()
    fresh = SqliteStore(tmp_path / "fresh" / "turnwire.db")
    await fresh.open()
    await fresh.close()
    assert columns(of_version_1) == columns(tmp_path / "fresh" / "turnwire.db")


async def test_an_upgrade_that_fails_changes_nothing(
    of_version_1: Path, monkeypatch: pytest.MonkeyPatch
):
    before = columns(of_version_1)
    broken = {1: (*UPGRADES[1], "ALTER TABLE nonsense ADD COLUMN x INTEGER")}
    monkeypatch.setattr(sqlite_file, "UPGRADES", broken)
    with pytest.raises(SetupError, match="can't be opened"):
        await SqliteStore(of_version_1).open()
    assert columns(of_version_1) == before


def test_there_is_a_step_from_each_version_of_the_tables_to_the_next():
    assert list(UPGRADES) == list(range(1, VERSION))


async def test_a_folder_that_cannot_be_made_is_the_operators_to_mend(tmp_path: Path):
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "turnwire.db")

    with pytest.raises(SetupError, match="can't be opened"):
        await store.open()


async def test_erasing_leaves_no_row_in_any_table(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    store, script = SqliteStore(path), Script()
    await store.open()
    pause_id = PauseId("cnf_canary")
    await store.begin(script.opening(key="canary-key"))
    await store.append(script.say("canary-text"))
    await store.append(script.ask(pause_id))
    await store.erase(script.conversation_id)
    await store.close()
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    rows = [row for table in tables for row in db.execute(f"SELECT * FROM {table}")]
    db.close()

    assert not any("canary" in str(row) or pause_id in str(row) for row in rows)
    assert not any(script.conversation_id in str(row) for row in rows)
    assert not any(script.turn_id in str(row) for row in rows)


KILLED_AFTER_A_RETRACTION = """
import asyncio, os, sys
from pathlib import Path
from turnwire.events import TextReplaced
from turnwire.storage.conformance import Script
from turnwire.storage.sql import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    store._scrub = lambda: None  # the process dies before it comes to that
    await store.open()
    script = Script()
    await store.begin(script.opening())
    for _ in range(40):
        await store.append(script.say(*["I am a quillon. "] * 20))
        await asyncio.sleep(0.01)
    await store.append(script.write(TextReplaced(text="No.", reason="pii", retracts=True)))
    print(script.turn_id, flush=True)
    os._exit(9)

asyncio.run(main())
"""


def on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


async def test_words_that_were_taken_back_are_in_no_file(tmp_path: Path):
    path = tmp_path / "turnwire.db"
    store = SqliteStore(path)
    await store.open()
    script = Script()
    await store.begin(script.opening())
    for _ in range(40):
        await store.append(script.say(*["I am a quillon. "] * 20))
        await asyncio.sleep(0.01)
    assert b"quillon" in on_disk(path)
    await store.append(
        script.write(TextReplaced(text="No.", reason="persona_stability", retracts=True))
    )

    for _ in range(200):
        await asyncio.sleep(0.02)
        if b"quillon" not in on_disk(path):
            break
    assert b"quillon" not in on_disk(path)
    await store.close()


async def test_a_process_that_dies_after_a_retraction_leaves_the_words_nowhere(
    tmp_path: Path,
):
    path = tmp_path / "turnwire.db"
    killed = subprocess.run(  # noqa: ASYNC221 - nothing else runs meanwhile
        [sys.executable, "-c", KILLED_AFTER_A_RETRACTION, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == 9, killed.stderr
    assert b"quillon" in on_disk(path), "in the write-ahead log, or the test shows nothing"
    store = SqliteStore(path)
    await store.open()

    stored = await store.read(TurnId(killed.stdout.split()[0]))

    assert b"quillon" not in on_disk(path)
    assert [each.event.text for each in stored if isinstance(each.event, TextDelta)] == [""] * 800
    assert isinstance(stored[-1].event, TextReplaced)
    await store.close()


async def test_words_that_are_stored_later_than_their_retraction_are_stored_without_text(
    tmp_path: Path,
):
    path = tmp_path / "turnwire.db"
    store = SqliteStore(path)
    await store.open()
    script = Script()
    await store.begin(script.opening())
    owed = script.say("I am a quillon.")
    taken_back = script.write(TextReplaced(text="No.", reason="pii", retracts=True))

    def late(db: Connection) -> None:
        statements.keep(db, (taken_back,))
        statements.keep_late(db, owed)

    await store._writer.run(late)  # pyright: ignore[reportPrivateUsage]

    assert [each.seq for each in await store.read(script.turn_id)] == [1, 2, 3]
    assert b"quillon" not in on_disk(path)
    await store.close()
