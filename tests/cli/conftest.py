"""A scripted server, and a command line whose surroundings set nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.scripted_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(autouse=True)
def empty_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [each for each in os.environ if each.startswith("TURNWIRE_")]:  # noqa: TID251
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
