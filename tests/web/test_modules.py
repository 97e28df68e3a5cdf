"""The page's pure modules pass their own tests, which Node runs without a DOM."""

import subprocess
from pathlib import Path

from tests.needs import node

HERE = Path(__file__).parent


def test_the_modules_pass_under_node():
    path = node()
    assert path is not None, "Node 20 or newer is missing: run `make install`"
    files = sorted(str(path) for path in HERE.glob("*.test.mjs"))
    done = subprocess.run([path, "--test", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
