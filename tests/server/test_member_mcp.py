"""The member agent has the tools of the MCP servers that the settings name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.choosing import choose
from tests.faults.membership import (
    Membership,
    actions,
    ask,
    cards,
    decide,
    finish,
    member,
    portal_at,
    said,
    tools,
)
from tests.nodes.tools import mcp_clinic
from tests.providers.serving import Provider
from tests.server.confirming import audit
from tests.server.shipped import with_index


@pytest.fixture
def server(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Membership]:
    clinic = {
        "command": sys.executable,
        "args": [mcp_clinic.__file__],
        "timeout": 30,
        "risks": {"opening_hours": "read"},
    }
    data_dir = with_index(tmp_path_factory, tmp_path / "data")
    with Provider() as provider, portal_at(tmp_path / "portal") as portal:
        model = {"model": "openai:demo", "model_base_url": provider.url, "model_api_key": "any"}
        visit = {"day": "Monday", "ledger": str(tmp_path / "ledger")}
        choose(
            provider,
            {
                "open": [[("clinic_opening_hours", {"day": "Monday"})]],
                "visit": [[("clinic_book_visit", visit)]],
            },
        )
        with Membership(data_dir, portal, mcp_servers={"clinic": clinic}, **model) as each:
            yield each


def test_what_reads_runs_at_once_and_what_acts_waits_for_the_members_word(
    server: Membership, tmp_path: Path
):
    api = member(server)
    hours = ask(api, "When is the clinic of my plan open?")
    assert tools(hours) == [("clinic_opening_hours", "ok")]
    asked = ask(api, "Please book a visit for my plan's check-up")
    assert set(cards(asked)) == {"clinic_book_visit"}
    ledger = tmp_path / "ledger"
    assert not ledger.exists()
    assert actions(decide(api, asked, tool="clinic_book_visit")) == ["ok"]
    assert ledger.read_text() == "Monday\n"


def test_a_caller_without_a_session_is_told_to_sign_in_and_is_not_asked_to_confirm(
    server: Membership, tmp_path: Path
):
    keyed = server.api("chat")
    frames = ask(keyed, "Please book a visit for my plan's check-up")
    assert finish(frames) == "sign_in_required"
    assert cards(frames) == {}
    assert tools(frames) == [("clinic_book_visit", "error")]
    assert "sign in" in said(frames)
    body = keyed.chat("Please book a visit for my plan's check-up", agent="member").json()
    assert (body["status"], body["finish_reason"]) == ("complete", "sign_in_required")
    assert not (tmp_path / "ledger").exists()
    assert audit(server.data_dir) == []
