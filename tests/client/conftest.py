"""A server for members, and both clients."""

from collections.abc import Iterator

import pytest

from tests.client.driving import Driver
from tests.server import member_graph
from tests.server.answering import Members


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("members"), heartbeat_seconds=0.2) as server:
        yield server


@pytest.fixture(params=["sync", "async"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    with Driver(request.param) as driver:
        yield driver


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    member_graph.ledger.clear()
