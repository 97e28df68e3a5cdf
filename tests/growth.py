"""Whether work grows no faster than what it is given, whatever else the machine does."""

import time
from collections.abc import Callable


def assert_linear(work: Callable[[str], object], text: Callable[[int], str], size: int) -> None:
    """Fail where four times the text takes much more than four times the processor's time.

    ``text(size)`` has to be long enough that work in the square of it would be felt.
    """
    # Linear: four times; quadratic: sixteen times.
    assert _seconds(work, text(4 * size)) < 9 * _seconds(work, text(size)) + 0.02


def _seconds(work: Callable[[str], object], text: str) -> float:
    def once() -> float:
        began = time.thread_time()
        work(text)
        return time.thread_time() - began

    return min(once() for _ in range(2))
