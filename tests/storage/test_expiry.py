"""A pause is answered up to its last millisecond, by the store's clock as it writes."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.storage.stores import KINDS, Kind, at
from turnwire.ids import PauseId
from turnwire.storage.audit import AuditQuery
from turnwire.storage.conformance_actions import Asked

pytestmark = pytest.mark.anyio


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("left", "taken"), [(1, True), (0, False), (-1, False)])
async def test_a_pause_expires_at_its_millisecond(
    kind: Kind, left: int, taken: bool, tmp_path: Path
):
    clock = Hand()
    async with at(kind, tmp_path, now=clock) as store:
        asked = Asked()
        await asked.wait(store)
        [record] = await store.pauses(asked.conversation_id)
        assert record.pause.expires_ms is not None
        clock.ms = record.pause.expires_ms - left
        assert await asked.answer(store) == taken
        [*_, last] = await store.audit(AuditQuery())
        assert (last.result, last.at_ms) == ("approved" if taken else "expired", clock.ms)


async def test_an_answer_that_waited_for_the_writer_until_it_was_late_is_refused(tmp_path: Path):
    clock = Hand()
    async with at("sqlite", tmp_path, now=clock) as store:
        asked = Asked()
        await asked.wait(store)
        [record] = await store.pauses(asked.conversation_id)
        assert record.pause.expires_ms is not None
        clock.ms = record.pause.expires_ms - 1
        holding = sqlite3.connect(tmp_path / "turnwire.db", isolation_level=None)
        holding.execute("BEGIN IMMEDIATE")
        answering = asyncio.get_running_loop().create_task(asked.answer(store))
        await asyncio.sleep(0.1)
        clock.ms += 1
        holding.execute("COMMIT")
        holding.close()
        assert not await answering


async def test_the_audit_can_not_be_changed(tmp_path: Path):
    async with at("sqlite", tmp_path) as store:
        await Asked().wait(store)
        db = sqlite3.connect(tmp_path / "turnwire.db")
        for change in ("UPDATE tool_audit SET result = 'ok'", "DELETE FROM tool_audit"):
            with pytest.raises(sqlite3.IntegrityError, match="tool_audit is append-only"):
                db.execute(change)
        db.close()
        assert len(await store.audit(AuditQuery())) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("left", "gone"), [(1, 0), (0, 1)])
async def test_beside_an_answer_a_pause_expires_at_its_millisecond_too(
    kind: Kind, left: int, gone: int, tmp_path: Path
):
    clock = Hand()
    async with at(kind, tmp_path, now=clock) as store:
        asked = Asked()
        await store.begin(asked.opening(principal=asked.principal))
        asked.ids = [PauseId("cnf_1"), PauseId("cnf_2")]
        await store.append(asked.put(*asked.ids, late=asked.ids[1:]))
        records = await store.pauses(asked.conversation_id)
        [expires] = [e.pause.expires_ms for e in records if e.pause.pause_id == "cnf_2"]
        assert expires is not None
        clock.ms = expires - left
        assert await asked.answer(store)
        assert len(asked.gone) == gone
