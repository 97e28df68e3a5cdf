"""A file that an earlier version made goes on being used.

``tables_1.sql`` is what version 0.1.0 made before there were members.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from turnwire.storage import conformance_members, conformance_sign_ins, conformance_specs
from turnwire.storage.conformance import Check, Script
from turnwire.storage.receipt import receipt_of
from turnwire.storage.sql import SqliteStore

pytestmark = pytest.mark.anyio

OLD = Path(__file__).with_name("tables_1.sql")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "turnwire.db"
    with closing(sqlite3.connect(made)) as db:
        db.executescript(OLD.read_text("utf-8"))
    return made


def _tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name for (name,) in rows}


async def test_an_old_file_is_given_the_tables_that_it_lacks_and_keeps_its_turns(path: Path):
    assert "receipts" not in _tables(path)
    script = Script()
    store = SqliteStore(path)
    await store.open()
    await store.begin(script.opening())
    await store.append(script.complete("Rest."))
    await store.close()
    with closing(sqlite3.connect(path)) as db:  # as if the earlier version had written the turn
        for table in ("sessions", "usage", "meters", "receipts", "sign_in_codes", "credentials"):
            db.execute(f"DROP TABLE {table}")
        db.commit()

    again = SqliteStore(path)
    await again.open()
    turn = await again.turn(script.turn_id)
    assert turn is not None
    assert turn.content == "Rest."
    assert await again.receipt(script.turn_id) is None
    assert await again.read(script.turn_id) == script.log
    follow_up = Script(conversation_id=script.conversation_id)
    await again.begin(follow_up.opening(earlier_turns=1))
    await again.append(follow_up.complete())
    assert await again.receipt(follow_up.turn_id) == receipt_of(follow_up.log)
    await again.close()


@pytest.mark.parametrize(
    "check",
    [*conformance_members.CHECKS, *conformance_sign_ins.CHECKS, *conformance_specs.CHECKS],
    ids=lambda each: each.__name__,
)
async def test_members_are_kept_in_an_old_file_as_in_a_new_one(path: Path, check: Check):
    store = SqliteStore(path)
    await store.open()
    await check(store)
    await store.close()
