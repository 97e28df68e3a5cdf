"""The example in the client's README does what the page says."""

import re
import subprocess
from pathlib import Path

from tests import needs
from tests.server.answering import Members
from tests.server.running import environment

README = needs.CLIENT / "README.md"


def test_the_example_runs_and_is_short(built: Path, tmp_path: Path):
    (example,) = re.findall(
        r"^```js\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert built.is_dir()
    assert len(example.splitlines()) <= 20
    with Members(tmp_path) as server:
        variables = {"TURNWIRE_URL": server.url, "TURNWIRE_API_KEY": server.key("chat")}
        told = {
            question: _run(example, question, variables) for question in ("searches", "confirm")
        }
    assert told["searches"] == (
        "Two days [1], then easy [2].\n"
        "[Fever] Rest for two days.\n[Fever] Rest for two days.\nstop\n"
    )
    assert told["confirm"].endswith("They will call you.\nstop\n")


def _run(example: str, question: str, variables: dict[str, str]) -> str:
    done = subprocess.run(
        [str(needs.node()), "--input-type=module", "-", question],
        input=example,
        cwd=needs.CLIENT,  # where the package's own name leads to it
        env=environment(variables),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
