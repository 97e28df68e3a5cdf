"""Agents from specs over a socket: their nodes, approvals with other parameters, lost sockets."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.studio.stage import ORDER
from tests.faults.membership import DemoPortal, portal_at, settings_for
from tests.server.running import InThread
from tests.server.shipped import with_index
from tests.server.sockets import Staff, words
from turnwire.storage.sql import SqliteStore

RELEASE = f"Please release purchase order {ORDER}"
BUYER = "maria.lopez"
"""Who may have orders released, see the portal's seed."""
BROKEN = "slug: broken\ntitle: Broken\nnodes: [{id: a, type: wizard}]\n"


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoPortal]:
    with portal_at(tmp_path_factory.mktemp("portal")) as portal:
        yield portal


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, portal: DemoPortal) -> Iterator[InThread]:
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("studio"))
    asyncio.run(_keep_broken(data_dir))
    with InThread(data_dir, None, **settings_for(portal)) as server:
        yield server


async def _keep_broken(data_dir: Path) -> None:
    """Keep a spec that an earlier version may have taken, and this one can't use."""
    store = SqliteStore(data_dir / "turnwire.db")
    await store.open()
    await store.add_spec("broken", BROKEN, phase="published", author="ana", now=1)
    await store.close()


@pytest.fixture
def staff(server: InThread, portal: DemoPortal) -> Staff:
    portal.forget()
    return Staff(server, BUYER)


def test_nodes_and_thoughts_are_told_until_an_approval_and_after_it(
    staff: Staff, portal: DemoPortal
):
    with staff.open() as socket:
        said = socket.ask(RELEASE, agent="order-desk")
        asked = said[-1]
        assert (asked["type"], asked["kind"]) == ("approval_request", "approval")
        assert asked["action"] == "release_purchase_order"
        assert asked["params"]["order"] == ORDER
        names = {each["id"] for each in said[0]["nodes"]}
        lit = [each["node_id"] for each in said if each["type"] == "node_start"]
        assert lit
        assert set(lit) <= names
        assert any(each["type"] == "reasoning" for each in said)
        assert portal.acted() == []
        socket.send(
            type="approval_response",
            approval_id=asked["approval_id"],
            approved=True,
            edited_params={"order": "4500001043"},
        )
        after = socket.until("done")
        assert after[0]["resumed"] is True
        assert after[-1]["finish_reason"] == "stop"
        assert "4500001043" in words(after)
    assert [each["body"] for each in portal.acted()] == [{"order": "4500001043"}]


def test_an_edit_that_does_not_fit_leaves_the_approval_open(staff: Staff, portal: DemoPortal):
    with staff.open() as socket:
        asked = socket.ask(RELEASE, agent="order-desk")[-1]
        answer = {"type": "approval_response", "approval_id": asked["approval_id"]}
        socket.send(**answer, approved=True, edited_params={"order": "x"})
        assert socket.next()["code"] == "validation_error"
        assert portal.acted() == []
        socket.send(**answer, approved=False)
        assert socket.until("done")[-1]["finish_reason"] == "declined"
    assert portal.acted() == []


def test_an_approval_outlives_its_socket(staff: Staff, portal: DemoPortal):
    with staff.open() as socket:
        asked = socket.ask(RELEASE, agent="order-desk")[-1]
        socket.drop()
    with staff.open("another-device") as socket:
        socket.send(type="resume", turn_id=asked["turn_id"], after=asked["seq"] - 1)
        assert socket.until("approval_request")[-1]["approval_id"] == asked["approval_id"]
        socket.send(type="approval_response", approval_id=asked["approval_id"], approved=True)
        socket.until("done")
    assert len(portal.acted()) == 1


def test_an_agent_whose_spec_cannot_be_used_is_told_with_its_reason(staff: Staff):
    with staff.open() as socket:
        (said,) = socket.ask("Hello", agent="broken")
        assert (said["type"], said["code"], said["retryable"]) == ("error", "agent_invalid", False)
        assert "no node type 'wizard'" in str(said["details"])
        (said,) = socket.ask("Hello", agent="nobody")
        assert said["code"] == "agent_not_found"
        assert socket.ask("Show me the suppliers", agent="order-desk")[-1]["type"] == "done"


def test_who_may_not_have_it_done_is_told_so_by_the_portal(server: InThread, portal: DemoPortal):
    portal.forget()
    with Staff.somebody(server).open() as socket:
        asked = socket.ask(RELEASE, agent="order-desk")[-1]
        socket.send(type="approval_response", approval_id=asked["approval_id"], approved=True)
        assert "does not allow this" in words(socket.until("done"))
    assert portal.acted() == []
