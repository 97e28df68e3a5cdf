"""How many requests a minute: the decision is pure, what it counts is kept behind a protocol."""

from collections import deque
from typing import Final, Protocol

MINUTE_MS: Final = 60_000


def wait_ms(earlier: int | None, *, now: int) -> int:
    """Return how many milliseconds a request has to wait at ``now``; 0: it may pass.

    Args:
        earlier: when the request passed that is as many places before this one as may pass in a
            minute; none: there were not so many.
        now: in milliseconds, on the same clock.

    A request may pass when that one is a minute old: no 60 seconds, wherever they begin, have
    more than the limit. What lies in the future was counted before the clock was set back, and
    holds nobody up.
    """
    if earlier is None or earlier > now:
        return 0
    return max(0, earlier + MINUTE_MS - now)


class Rates(Protocol):
    """Counts what passes, by name; several processes may share one."""

    async def take(self, name: str, per_minute: int, *, now: int) -> int:
        """Count a request at ``now`` (ms) and return 0, or count nothing and return the wait.

        One atomic step: of many at once no more pass than may.
        """
        ...


class LocalRates:
    """What passed in this process; a name is forgotten a minute after its last request."""

    def __init__(self) -> None:
        self._passed: dict[str, deque[int]] = {}
        self._swept = 0

    async def take(self, name: str, per_minute: int, *, now: int) -> int:
        """See :class:`Rates`."""
        self._sweep(now)
        passed = self._passed.get(name)
        if passed is None or passed.maxlen != per_minute:
            passed = self._passed[name] = deque(passed or (), maxlen=per_minute)
        wait = wait_ms(passed[0] if len(passed) == per_minute else None, now=now)
        if not wait:
            passed.append(now)
        return wait

    def _sweep(self, now: int) -> None:
        if 0 <= now - self._swept < MINUTE_MS:
            return
        self._swept = now
        for name, passed in list(self._passed.items()):
            if not passed or not 0 <= now - passed[-1] < MINUTE_MS:
                del self._passed[name]
