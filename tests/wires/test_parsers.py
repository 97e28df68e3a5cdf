"""Parsers that we did not write, in Python and in Node, read every golden stream alike."""

import json
import subprocess
from collections.abc import Sequence

import pytest

from tests import needs
from tests.wires.foreign import parsed
from tests.wires.golden import FOLDER

FILES = sorted(FOLDER.glob("*.sse"))


@pytest.fixture(scope="module")
def in_node() -> Sequence[Sequence[Sequence[str]]]:
    """What eventsource-parser reads in each file."""
    path = needs.node()
    if path is None or needs.parsers() is None:
        pytest.fail("The parsers for Node are missing: run `python -m tests.needs`")
    command = [path, str(needs.PARSERS / "read.mjs"), *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("number", range(len(FILES)), ids=[each.name for each in FILES])
def test_two_foreign_parsers_read_the_same_events(
    in_node: Sequence[Sequence[Sequence[str]]], number: int
):
    read = parsed(FILES[number].read_bytes())

    assert [[each.id, each.event, each.data] for each in read] == in_node[number]
    assert read, "an empty stream proves nothing"
