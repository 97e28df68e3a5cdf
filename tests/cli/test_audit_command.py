"""``turnwire audit`` lists and exports, and says what is wrong with what it is given."""

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from turnwire.cli.audit import _cell  # pyright: ignore[reportPrivateUsage]
from turnwire.cli.main import app
from turnwire.errors import SetupError
from turnwire.storage.conformance_actions import Asked
from turnwire.storage.sql import SqliteStore


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A directory where one action was done and another one declined."""

    async def act() -> None:
        store = SqliteStore(tmp_path / "turnwire.db")
        await store.open()
        done, declined = Asked(), Asked(principal="member:2")
        for each in (done, declined):
            await each.wait(store)
        await done.answer(store)
        await done.take(store)
        await store.note_outcome(done.ids[0], "ok", code=None, receipt="cb_7")
        await declined.answer(store, "reject")
        await store.close()

    asyncio.run(act())
    return tmp_path


def run(data_dir: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["audit", "--data-dir", str(data_dir), *options])


def test_every_entry_is_listed_for_people_and_as_json_and_csv(told: Path):
    shown = run(told).stdout
    assert "cb_7" in shown
    assert "rejected" in shown
    entries = json.loads(run(told, "--json").stdout)
    assert [each["result"] for each in entries] == [
        *("proposed", "proposed", "approved", "started", "ok", "rejected"),
    ]
    rows = list(csv.DictReader(io.StringIO(run(told, "--csv").stdout)))
    assert [each["receipt"] for each in rows] == [each["receipt"] or "" for each in entries]
    assert list(rows[0]) == list(entries[0])


def test_what_is_asked_for_is_told_and_nothing_else(told: Path):
    mine = json.loads(run(told, "--member", "member:2", "--json").stdout)
    assert [each["result"] for each in mine] == ["proposed", "rejected"]
    assert json.loads(run(told, "--tool", "other", "--json").stdout) == []
    assert len(json.loads(run(told, "--since", "1h", "--json").stdout)) == 6
    assert json.loads(run(told, "--since", "2999-01-01", "--json").stdout) == []
    assert len(json.loads(run(told, "--since", "2020-01-01T10:00Z", "--json").stdout)) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--since", "yesterday"), "--since 'yesterday' is no time; write"),
        (("--json", "--csv"), "two forms; choose one"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_mend(
    told: Path, options: tuple[str, ...], message: str
):
    failed = run(told, *options).exception
    assert isinstance(failed, SetupError)
    assert message in str(failed)


def test_a_directory_without_a_store_is_not_made_into_one(tmp_path: Path):
    failed = run(tmp_path).exception
    assert isinstance(failed, SetupError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_no_cell_is_a_formula(text: str):
    assert _cell(text) == f"'{text}"
