"""What the tests over real client libraries start with."""

from collections.abc import Iterator

import pytest

from tests.providers.serving import Provider


@pytest.fixture(scope="session")
def running() -> Iterator[Provider]:
    with Provider() as each:
        yield each


@pytest.fixture
def provider(running: Provider) -> Provider:
    """The provider, answering well."""
    running.reset()
    return running


@pytest.fixture(params=["openai", "anthropic"])
def protocol(request: pytest.FixtureRequest) -> str:
    return request.param
