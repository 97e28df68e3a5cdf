"""The client's pure modules pass their own tests, which Node runs without a server."""

import subprocess
from pathlib import Path

from tests import needs


def test_the_modules_pass_under_node(built: Path):
    files = sorted(str(path) for path in (needs.CLIENT / "tests").glob("*.test.mjs"))
    command = [str(needs.node()), "--test", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")

    assert built.is_dir()
    assert files
    assert done.returncode == 0, done.stdout + done.stderr
