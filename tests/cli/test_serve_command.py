"""``turnwire serve`` and ``turnwire ingest`` as an operator runs them."""

import json
import os
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import httpx
import pytest

from tests.server.running import Process
from turnwire.cli import main
from turnwire.cli.ingest import ingest_into
from turnwire.cli.serving import serving_from
from turnwire.settings import read


@dataclass
class Done:
    """How a command ended and what it wrote."""

    status: object
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs ``turnwire`` with arguments in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["turnwire", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(ended.value.code or 0, said.out, said.err)

    return run


def test_a_server_of_the_shipped_agents_prints_its_link_answers_and_ends_with_its_portal(
    tmp_path: Path,
):
    data_dir = tmp_path / "data"
    with Process(data_dir, agent=None) as server:
        assert "skipped" not in server.log
        running = serving_from(data_dir)
        assert running is not None
        assert (running.address, running.no_page) == (server.url, None)
        link = re.search(r"Open (http://\S+)", "".join(server.out))
        assert link is not None, server.log
        with httpx.Client(base_url=server.url, timeout=30) as browser:
            assert browser.get(link[1]).headers["location"] == "/"
            agents = browser.get("/agents").json()["agents"]
            fixed = ["guarded", "turnwire-docs", "member"]
            specs = ["architect", "order-desk", "support-triage"]
            assert [each["slug"] for each in agents] == [*fixed, *specs]
            body = {"messages": [{"role": "user", "content": "When is a temperature a fever?"}]}
            answer = browser.post("/chat", json=body).json()
        assert answer["status"] == "complete"
        assert answer["agent"] == "guarded"
        assert answer["content"]
        assert (data_dir / "turnwire.db").exists()
        portal = re.search(r"the members' portal is (http://\S+)", server.log)
        assert portal is not None, server.log
        key = {"Authorization": "Bearer demo-service-key"}
        asked = httpx.post(
            f"{portal[1]}/service/members", json={"mobile": "+447700900101"}, headers=key
        )
        assert asked.json() == {"known": True}
        server.terminate()
        server.process.wait(20)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{portal[1]}/healthz")
        assert server.log.count("Started server process") == 1
        assert "demo-service-key" not in server.log
        assert "Traceback" not in server.log
        assert not (data_dir / "serving.json").exists()


def test_a_start_names_a_skipped_file_once_and_ingest_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "broken.pdf").write_bytes(b"no pdf")
    settings = read(data_dir=tmp_path / "data")
    settings.data_dir.mkdir()

    def said(skips: Literal["all", "new", "none"]) -> str:
        ingest_into(settings, folder, "docs", skips=skips)
        return capsys.readouterr().err.strip()

    assert said("new").startswith("skipped broken.pdf: ")
    assert said("new") == "docs: 1 file skipped as before (see turnwire ingest)"
    (folder / "new.pdf").write_bytes(b"no pdf")
    assert [line.split(":")[0] for line in said("new").splitlines()] == ["skipped new.pdf", "docs"]
    assert len(said("all").splitlines()) == 2
    assert said("none") == ""


def test_ingest_leaves_out_what_the_policy_keeps_from_the_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder, policy = tmp_path / "handbook", tmp_path / "policy.yaml"
    folder.mkdir()
    (folder / "pay.md").write_text("# Pay\n\nPay with 4111 1111 1111 1111.\n")
    shipped = (files("turnwire") / "policies" / "docs.yaml").read_text("utf-8")
    sinks = "sinks: {answer: redact, log: redact"
    assert sinks in shipped
    policy.write_text(shipped.replace(sinks, f"{sinks}, index: block"))
    settings = read(data_dir=tmp_path / "data", policy=str(policy))
    settings.data_dir.mkdir()

    report = ingest_into(settings, folder, "docs")

    assert (report.added, report.passages, report.left_out) == (1, 0, (("pay.md", 1),))
    assert "left out 1 passage of pay.md" in capsys.readouterr().err


def test_a_folder_of_documents_is_ingested_and_a_second_time_nothing_is_done(
    tmp_path: Path, run: Run
):
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEverybody has 31 days of leave a year.\n")
    (folder / "broken.pdf").write_bytes(b"no pdf")
    first = run("ingest", "handbook", "--json")
    assert first.status == 0, first.err
    report = json.loads(first.out)
    assert (report["added"], report["unchanged"]) == (1, 0)
    assert "broken.pdf" in first.err
    assert (tmp_path / ".turnwire" / "index.db").exists()
    report = json.loads(run("ingest", "handbook", "--json").out)
    assert (report["added"], report["changed"], report["unchanged"]) == (0, 0, 1)
    (folder / "leave.md").unlink()
    assert json.loads(run("ingest", "handbook", "--json").out)["removed"] == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("serve", "--port", "99999"), "port"),
        (("serve", "--agent", "nonsense"), "package.module:graph"),
        (("serve", "--agent", "tests.server.graphs:nothing"), "nothing"),
        (("serve", "--agent", "no.such.module:graph"), "no.such.module"),
        (("serve", "--agent", "tests.server.graphs:CANARY"), "not a LangGraph graph"),
        (("ingest", "nowhere"), "nowhere"),
        (("keys", "create", "--name", "x", "--scope", "everything"), "everything"),
    ],
    ids=["port", "form", "attribute", "module", "no graph", "folder", "scope"],
)
def test_an_operators_mistake_is_one_line_that_names_it(
    run: Run, arguments: tuple[str, ...], named: str
):
    done = run(*arguments)
    assert done.status in (1, 2), done.err
    assert named in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_variable_that_is_none_of_ours_choices_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TURNWIRE_IF_BUSY", "perhaps")
    done = run("serve")
    assert (done.status, "if_busy" in done.err) == (2, True)


def test_a_port_that_is_taken_is_told_with_what_to_do(run: Run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", "--port", port, "--agent", "tests.server.graphs:stage")
    assert done.status == 2
    assert "--port" in done.err


def test_a_data_directory_that_is_a_file_is_told(run: Run, tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = run("keys", "list", "--data-dir", "file")
    assert done.status == 2
    assert "file" in done.err


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name in [each for each in os.environ if each.startswith("TURNWIRE_")]:  # noqa: TID251
        monkeypatch.delenv(name)
    (tmp_path / "turnwire.toml").write_text('port = 1111\nmax_turns = 5\nkey_prefix = "abc"\n')
    monkeypatch.setenv("TURNWIRE_PORT", "2222")
    monkeypatch.setenv("TURNWIRE_MAX_TURNS", "6")
    settings = read(port=3333)
    assert (settings.port, settings.max_turns, settings.key_prefix) == (3333, 6, "abc")
