"""What every test may use."""

import logging
from collections.abc import Iterator

import pytest


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
