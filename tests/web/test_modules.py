"""The page's pure modules pass their own tests, which Node runs without a DOM."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_the_modules_pass_under_node():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH")
    files = sorted(str(path) for path in HERE.glob("*.test.mjs"))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
