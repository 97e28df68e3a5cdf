"""The built client, and a Node that runs it."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest

from tests import needs
from tests.once import once

HERE: Final = Path(__file__).parent
PATIENCE: Final = 20.0


class Node:
    """Runs the client in Node; commands are those of ``drive.mjs``."""

    def __init__(self, built: Path) -> None:
        self._built = built

    def __enter__(self) -> Self:
        command = [str(needs.node()), str(HERE / "drive.mjs"), (self._built / "index.js").as_uri()]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(10)

    def __call__(self, command: str, **given: object) -> dict[str, Any]:
        """Return what came of a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **given}) + "\n")
        self._process.stdin.flush()
        # One that does not answer is ended, so that its silence fails this test and no other.
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline()
        watchdog.cancel()
        assert line, f"Node has died, or has not answered for {PATIENCE} s"
        return json.loads(line)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client as JavaScript, where its own tests look for it."""
    node, compiler = needs.node(), needs.compiler()
    if node is None or compiler is None:
        pytest.fail("The client cannot be built: run `python -m tests.needs`")
    command = [node, str(compiler), "--project", str(needs.CLIENT)]

    def build(_: Path) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout

    once(tmp_path_factory, "client", build)
    return needs.CLIENT / "dist"


@pytest.fixture(scope="module")
def node(built: Path) -> Iterator[Node]:
    with Node(built) as running:
        yield running
