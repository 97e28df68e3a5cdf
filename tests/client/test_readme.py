"""The examples of the client's README run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.answering import Members
from tests.server.running import ROOT, environment
from turnwire import client

README = ROOT / "src/turnwire/client/README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def run(code: str, tmp_path: Path, server: Members, question: str, typed: str = "") -> str:
    program = tmp_path / "example.py"
    program.write_text(code, "utf-8")
    command = [sys.executable, str(program), server.url, server.key("chat"), question]
    done = subprocess.run(
        command, input=typed, env=environment({}), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_shows_an_answer(code: str, tmp_path: Path, members: Members):
    said = run(code, tmp_path, members, "search")
    assert said.startswith("Rest. [1]\n")
    assert said.endswith("Completed(finish_reason='stop', usage=None)\n")


def test_the_first_example_is_short_and_asks_before_it_acts(tmp_path: Path, members: Members):
    assert len(EXAMPLES[0].splitlines()) <= 20
    said = run(EXAMPLES[0], tmp_path, members, "confirm", typed="yes\n")
    assert "Ask an advisor to call you back about: my claim is stuck? They will call you." in said


def test_every_link_and_every_name_of_the_readme_is_there():
    text = README.read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert [each for each in links if not (README.parent / each).exists()] == []
    names = set(re.findall(r"`([A-Z][A-Za-z]+)\(", text))
    assert [each for each in names if not hasattr(client, each)] == []
    assert {"Completed", "Paused", "Failed", "Broken"} <= names
