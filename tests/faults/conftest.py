"""What the fault tests start with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers.serving import Provider
from tests.server import graphs


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A model provider; each test says what it answers."""
    with Provider() as each:
        graphs.provider_url.append(each.url)
        yield each
