"""Tools of MCP servers in the member agent: reads run, and what acts asks the member first."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tests.nodes.tools
from tests.agents.member.choosing import Choosing
from tests.agents.member.stage import Stage, tools_of
from tests.models.scripted import Scripted
from turnwire.agents.member.tools import portal_client
from turnwire.app import served
from turnwire.nodes.tools.mcp import connect
from turnwire.nodes.tools.mcp_server import McpServer
from turnwire.nodes.tools.tool import Tool
from turnwire.settings import read

Make = Callable[..., Stage]
pytestmark = pytest.mark.anyio
CLINIC = {
    "command": sys.executable,
    "args": [str(Path(tests.nodes.tools.__path__[0]) / "mcp_clinic.py")],
    "timeout": 30,
    "risks": {"opening_hours": "read"},
}


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    return connect({"clinic": McpServer.model_validate(CLINIC)})


async def test_a_read_of_a_server_needs_no_sign_in_and_is_told(stage: Make, tools: list[Tool]):
    choosing = Choosing(rounds=[[("clinic_opening_hours", {"day": "Monday"})]])
    answer = Scripted(script=["The clinic is open from 9 to 5."])
    host = stage(more=tools, signed_in=False, executor=choosing, model=answer)
    played = await host.say("When is the clinic of my insurance open on Monday?")
    assert "clinic_book_visit" in choosing.names
    assert tools_of(played) == [("clinic_opening_hours", "ok", None)]
    assert "9 to 5" in choosing.read(1)


async def test_what_acts_waits_for_the_members_word_and_happens_once(
    stage: Make, tools: list[Tool], tmp_path: Path
):
    ledger = tmp_path / "ledger"
    call = ("clinic_book_visit", {"day": "Monday", "ledger": str(ledger)})
    host = stage(more=tools, executor=Choosing(rounds=[[call]]), model=Scripted(script=["Done."]))
    paused = await host.say("Book a visit at the clinic of my insurance on Monday")
    asked = paused.pauses[0].payload
    assert isinstance(asked, dict)
    assert (asked["risk"], asked["summary"]) == ("write", "Run book_visit (clinic)")
    assert not ledger.exists()
    await host.decide(paused, "approve")
    assert ledger.read_text() == "Monday\n"


async def test_who_has_no_session_is_told_to_sign_in_and_not_asked_for_a_word_they_cannot_give(
    stage: Make, tools: list[Tool], tmp_path: Path
):
    ledger = tmp_path / "ledger"
    call = ("clinic_book_visit", {"day": "Monday", "ledger": str(ledger)})
    host = stage(more=tools, signed_in=False, executor=Choosing(rounds=[[call]]))
    ended = await host.say(
        "Book a visit at the clinic of my insurance on Monday", can_sign_in=False
    )
    assert ended.ending.finish_reason == "sign_in_required"
    assert ended.text == host.parts.texts.say("sign_in_first", "en")
    assert tools_of(ended) == [("clinic_book_visit", "error", "sign_in_required")]
    assert not ledger.exists()


async def test_without_a_model_a_missing_detail_is_asked_for(stage: Make, tools: list[Tool]):
    host = stage(more=tools)
    asked = await host.say("Tell when the clinic is open on a day.")
    assert asked.text == host.parts.texts.say("ask_details", "en")
    played = await host.say("Monday")
    assert tools_of(played) == [("clinic_opening_hours", "ok", None)]
    assert "9 to 5" in played.text


def test_a_server_of_the_settings_is_among_the_member_agents_tools(tmp_path: Path):
    settings = read(
        data_dir=tmp_path,
        portal_url="http://portal.invalid",
        portal_service_key="k",
        mcp_servers={"clinic": CLINIC},
    )
    client = portal_client("http://portal.invalid")
    known = {each.name: each.risk for each in served.member_tools(settings, client)}
    assert known["clinic_opening_hours"] == "read"
    assert known["clinic_book_visit"] == "write"
    assert known["get_claims"] == "read"
