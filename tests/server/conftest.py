"""Servers for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.running import InThread


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    """A server with the stage graph, for all tests of a module."""
    with InThread(tmp_path_factory.mktemp("server"), heartbeat_seconds=0.2) as server:
        yield server


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"
