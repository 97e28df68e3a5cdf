"""Whether work grows no faster than what it is given, whatever else the machine does."""

import time
from collections.abc import Callable


def assert_linear(work: Callable[[str], object], text: Callable[[int], str], size: int) -> None:
    """Fail where eight times the text takes much more than eight times the processor's time.

    ``text(size)`` has to be long enough that work in the square of it would be felt.
    """
    # Linear: 8 times; quadratic: 64 times. A machine that is busy may double either.
    assert _seconds(work, text(8 * size)) < 20 * _seconds(work, text(size)) + 0.02


def _seconds(work: Callable[[str], object], text: str) -> float:
    def once() -> float:
        began = time.thread_time()
        work(text)
        return time.thread_time() - began

    return min(once() for _ in range(2))
