"""How long a client tries, and how long it waits before each try."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How long a client tries to go on with a stream that broke; all times are seconds."""

    tries: int = 6
    """Tries in a row that bring nothing new, before it gives up."""
    first: float = 0.25
    """The longest wait before the first of them; each later one may take twice as long."""
    longest: float = 8.0
    longest_retry_after: float = 30.0
    """A server that asks for a longer wait is a refusal at once."""


class Patience:
    """Counts tries in a row; ``chance`` returns a number from 0 up to 1."""

    def __init__(self, retry: Retry, chance: Callable[[], float]) -> None:
        self._retry = retry
        self._chance = chance
        self._tries = 0

    def heard(self) -> None:
        """Note that something new came."""
        self._tries = 0

    def wait(self, *, at_least: float = 0.0) -> float | None:
        """Return the seconds before the next try; none where there is no further one.

        The waits are spread, so that clients that were cut off together come back one by one.
        """
        if self._tries >= self._retry.tries:
            return None
        longest = min(self._retry.longest, self._retry.first * 2**self._tries)
        self._tries += 1
        return at_least + longest * (0.5 + self._chance() / 2)
