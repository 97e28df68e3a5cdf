"""What the fault tests start with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.membership import DemoPortal, Impatient, Membership, portal_at
from tests.providers.serving import Provider
from tests.server import graphs
from tests.server.shipped import with_index


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A model provider; each test says what it answers."""
    with Provider() as each:
        graphs.provider_url.append(each.url)
        yield each


@pytest.fixture(scope="module")
def portal_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoPortal]:
    with portal_at(tmp_path_factory.mktemp("portal")) as each:
        yield each


@pytest.fixture
def portal(portal_of_module: DemoPortal) -> DemoPortal:
    """A demo portal that is well, and has done nothing yet."""
    portal_of_module.forget()
    return portal_of_module


@pytest.fixture(scope="module")
def server(
    portal_of_module: DemoPortal, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Membership]:
    """The agents that ship, for the portal's members."""
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("member"))
    with Membership(data_dir, portal_of_module, max_turns=5000) as each:
        yield each


@pytest.fixture(scope="module")
def impatient(
    portal_of_module: DemoPortal, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Impatient]:
    """The member agent alone, which does not wait long."""
    with Impatient(tmp_path_factory.mktemp("impatient"), portal_of_module) as each:
        yield each
