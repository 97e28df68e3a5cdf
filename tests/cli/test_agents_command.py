import json
from pathlib import Path

from typer.testing import CliRunner

from tests.agents.studio.stage import shipped
from turnwire.agents.studio.factory import shipped as specs
from turnwire.cli.main import app

RUN = CliRunner()


def test_every_spec_that_ships_is_fine_and_can_be_drawn(tmp_path: Path):
    for slug in specs():
        file = tmp_path / f"{slug}.yaml"
        file.write_text(shipped(slug))
        done = RUN.invoke(app, ["agents", "validate", str(file)])
        assert done.exit_code == 0, done.output
        drawn = RUN.invoke(app, ["agents", "draw", slug, "--data-dir", str(tmp_path)]).stdout
        assert drawn.startswith("flowchart TD\n")
        assert "--> end_" in drawn


def test_the_drawing_has_a_gate_before_what_has_to_be_approved(tmp_path: Path):
    drawn = RUN.invoke(app, ["agents", "draw", "order-desk", "--data-dir", str(tmp_path)]).stdout
    assert "thinker -->|release_purchase_order| approve_release" in drawn
    assert "approve_release -->|approved| release" in drawn
    assert "approve_release -->|rejected| declined" in drawn


def test_a_bad_spec_is_told_with_its_file_and_line_and_exits_with_1(tmp_path: Path):
    file = tmp_path / "bad.yaml"
    file.write_text(shipped("order-desk").replace("type: thinker", "type: wizard"))
    done = RUN.invoke(app, ["agents", "validate", str(file)])
    assert done.exit_code == 1
    assert f"{file}:11: nodes.1: there is no node type 'wizard'" in done.output.replace("\n", "")
    told = json.loads(RUN.invoke(app, ["agents", "validate", str(file), "--json"]).stdout)
    assert (told["ok"], told["faults"][0]["line"]) == (False, 11)


def test_agents_are_listed_and_shown(tmp_path: Path):
    at = ["--data-dir", str(tmp_path)]
    listed = json.loads(RUN.invoke(app, ["agents", "list", "--json", *at]).stdout)
    assert [each["slug"] for each in listed] == ["architect", "order-desk", "support-triage"]
    assert RUN.invoke(app, ["agents", "show", "order-desk", *at]).stdout == shipped("order-desk")
    read = json.loads(RUN.invoke(app, ["agents", "show", "order-desk", "--json", *at]).stdout)
    assert read["slug"] == "order-desk"
