"""Tools of MCP servers are tools like others: confirmed unless the operator says they only read."""

import logging
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.nodes.tools.acting import WHO, Book, approved, executor, heard
from turnwire.errors import SetupError
from turnwire.nodes.tools import mcp
from turnwire.nodes.tools.mcp import connect
from turnwire.nodes.tools.mcp_server import McpServer
from turnwire.nodes.tools.tool import Call, Tool

pytestmark = pytest.mark.anyio
CLINIC = Path(__file__).with_name("mcp_clinic.py")


def clinic(**about: object) -> McpServer:
    at = {"command": sys.executable, "args": [str(CLINIC)], "timeout": 30}
    return McpServer.model_validate({**at, **about})


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    risks = {"opening_hours": "read", "breaks": "read"}
    return {each.name: each for each in connect({"clinic": clinic(risks=risks)})}


def _call(name: str, **arguments: str) -> Call:
    return Call(tool_call_id="call_1", name=name, arguments={**arguments})


def test_a_servers_tools_are_named_by_it_and_write_unless_they_are_known_to_read(
    tools: dict[str, Tool],
):
    assert {name: each.risk for name, each in tools.items()} == {
        "clinic_opening_hours": "read",
        "clinic_book_visit": "write",
        "clinic_breaks": "read",
    }
    hours = tools["clinic_opening_hours"]
    assert hours.description == "Tell when the clinic is open on a day."
    assert hours.parameters["additionalProperties"] is False


async def test_a_read_runs_at_once(tools: dict[str, Tool]):
    runs = executor(*tools.values())
    call = _call("clinic_opening_hours", day="Monday")
    outcome, _ = await heard(lambda: runs.read(call, principal=WHO, locale="en"))
    assert (outcome.status, outcome.result) == ("ok", {"day": "Monday", "hours": "9 to 5"})


async def test_what_the_server_does_not_take_is_refused_before_it_is_asked(
    tools: dict[str, Tool],
):
    runs = executor(*tools.values())
    call = _call("clinic_opening_hours", day="Monday", token="x")
    outcome, _ = await heard(lambda: runs.read(call, principal=WHO, locale="en"))
    assert outcome.code == "invalid_arguments"


async def test_a_write_waits_for_its_confirmation(tools: dict[str, Tool], tmp_path: Path):
    book, ledger = Book(), tmp_path / "ledger"
    runs = executor(*tools.values(), book=book)
    call = _call("clinic_book_visit", day="Monday", ledger=str(ledger))
    refused, _ = await heard(lambda: runs.read(call, principal=WHO, locale="en"))
    assert (refused.code, ledger.exists()) == ("needs_confirmation", False)
    outcome, _ = await approved(runs, book, call)
    assert outcome.status == "ok"
    assert ledger.read_text() == "Monday\n"


async def test_a_tool_that_fails_there_fails_here_without_its_words(tools: dict[str, Tool]):
    runs = executor(*tools.values())
    call = _call("clinic_breaks")
    outcome, said = await heard(lambda: runs.read(call, principal=WHO, locale="en"))
    assert len(said) == 2
    assert (outcome.status, outcome.error) == ("error", "This did not work.")
    assert "CANARY" not in f"{outcome}{said}"


def test_a_server_that_is_down_is_told_and_the_others_work(caplog: pytest.LogCaptureFixture):
    down = McpServer(url="http://127.0.0.1:9/mcp", timeout=2)
    gone = McpServer(command="/no/such/program", timeout=2)
    with caplog.at_level(logging.WARNING, "turnwire.tools"):
        found = connect({"down": down, "gone": gone, "clinic": clinic()})
    assert {each.name for each in found} >= {"clinic_opening_hours"}
    told = [each.getMessage() for each in caplog.records if each.name == "turnwire.tools"]
    assert len(told) == 2
    assert all("does not answer" in each and "left out" in each for each in told)
    assert {each.split()[2] for each in told} == {"down", "gone"}


def test_a_server_is_at_an_address_or_a_program():
    for wrong in ({}, {"url": "http://x", "command": "y"}):
        with pytest.raises(ValidationError, match="one of them"):
            McpServer.model_validate(wrong)


def test_without_the_package_the_operator_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(mcp.importlib, "import_module", missing)
    assert connect({}) == []
    with pytest.raises(SetupError, match=r"pip install 'turnwire\[mcp\]'"):
        connect({"clinic": clinic()})
