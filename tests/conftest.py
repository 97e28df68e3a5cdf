"""What every test may use."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A time that one example may take fails where the machine is busy, and finds nothing.
settings.register_profile("turnwire", deadline=None)
settings.load_profile("turnwire")


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
