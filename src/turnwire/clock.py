"""The time, as a thing you are given."""

import time
from collections.abc import Callable

Now = Callable[[], int]
"""Returns milliseconds since 1970 in UTC."""


def system_now() -> int:
    """Return the system's time in milliseconds since 1970 in UTC."""
    return time.time_ns() // 1_000_000
