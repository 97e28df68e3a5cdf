"""What is costly and the same for all tests is made once a run, however many workers run them."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a directory that ``make`` has filled: here, or in the worker that came first.

    Tests copy what they change. Where ``make`` fails, the next one tries again in an empty one.
    """
    own = factory.getbasetemp()
    # The workers of pytest-xdist have a directory each, in one that is the run's.
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own  # noqa: TID251
    made = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            making = factory.mktemp(name)
            make(making)
            making.rename(made)
    return made
