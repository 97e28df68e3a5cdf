"""What every test may use."""

import logging
import os
from collections.abc import Iterator

import pytest
from coverage import Coverage
from hypothesis import settings

# A time that one example may take fails where the machine is busy, and finds nothing.
settings.register_profile("turnwire", deadline=None)
settings.load_profile("turnwire")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Keep what was covered: a worker that takes ten seconds to end is ended by pytest-xdist."""
    measuring = Coverage.current()
    if measuring is not None and "PYTEST_XDIST_WORKER" in os.environ:  # noqa: TID251
        measuring.stop()
        measuring.save()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Put the loggers of the process back as they were: commands write theirs anew."""
    before = [
        (each, each.handlers[:], each.level, each.propagate)
        for each in map(logging.getLogger, ("", "turnwire", "uvicorn", "uvicorn.error"))
    ]
    yield
    for each, handlers, level, propagate in before:
        each.handlers[:] = handlers
        each.setLevel(level)
        each.propagate = propagate
