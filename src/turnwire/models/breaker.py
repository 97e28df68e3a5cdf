"""Leave a provider alone after it has failed, and find out with one call whether it is back.

A breaker is a value and the time an argument; :class:`Breakers` only keeps the newest of each.
M. Nygard, "Release It!", 2nd ed., 2018, chapter 5: closed, open, half-open.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

State = Literal["closed", "open", "half_open", "probing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """When a breaker opens, and for how long; times in seconds."""

    threshold: int = 5
    """Failures in a row that open it."""
    cooldown: float = 10
    """How long it stays open; twice as long after each probe that fails."""
    longest: float = 60
    """It stays open no longer, whatever ``Retry-After`` says."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """What is known of one provider."""

    failures: int = 0
    """In a row."""
    opens_at: float | None = None
    """When it may be probed; none while it is closed."""
    is_probed: bool = False

    def state(self, now: float) -> State:
        """Return the state; only ``closed`` and ``half_open`` let a call through."""
        if self.opens_at is None:
            return "closed"
        if self.is_probed:
            return "probing"
        return "half_open" if now >= self.opens_at else "open"

    def admits(self, now: float) -> bool:
        """Whether a call may be made."""
        return self.state(now) in ("closed", "half_open")

    def called(self, now: float) -> "Breaker":
        """Return it with a call on the way: the one that it let through half-open is a probe."""
        return replace(self, is_probed=True) if self.state(now) == "half_open" else self

    def failed(
        self, now: float, policy: BreakerPolicy, *, retry_after: float | None = None
    ) -> "Breaker":
        """Return it after a failure; ``retry_after`` is the provider's own wish, in seconds."""
        failures = self.failures + 1
        if retry_after is not None:
            return Breaker(failures, now + min(retry_after, policy.longest))
        if failures < policy.threshold and not self.is_probed:
            return replace(self, failures=failures)
        doublings = max(0, failures - policy.threshold)
        # The exponent is bounded: a float overflows at 1024 doublings.
        return Breaker(
            failures, now + min(policy.cooldown * 2 ** min(doublings, 30), policy.longest)
        )

    def released(self) -> "Breaker":
        """Return it after a call that proved nothing, such as one that the client left."""
        return replace(self, is_probed=False)


class Breakers:
    """The newest breaker of each provider; all gateways of a process share one."""

    def __init__(
        self, *, clock: Callable[[], float], policy: BreakerPolicy = BreakerPolicy()
    ) -> None:
        self._clock = clock
        self._policy = policy
        self._known: dict[str, Breaker] = {}

    def admits(self, key: str) -> bool:
        """Whether the provider may be called."""
        return self._of(key).admits(self._clock())

    def call(self, key: str) -> bool:
        """Take note of a call that begins; true if it is a probe, which has to be released."""
        before = self._of(key)
        after = self._known[key] = before.called(self._clock())
        return after.is_probed and not before.is_probed

    def succeeded(self, key: str) -> None:
        """Close the breaker."""
        self._known.pop(key, None)

    def failed(self, key: str, *, retry_after: float | None = None) -> None:
        """Count a failure."""
        self._known[key] = self._of(key).failed(
            self._clock(), self._policy, retry_after=retry_after
        )

    def released(self, key: str) -> None:
        """Let another call probe."""
        self._known[key] = self._of(key).released()

    def state(self, key: str) -> State:
        """Return the provider's state."""
        return self._of(key).state(self._clock())

    def _of(self, key: str) -> Breaker:
        return self._known.get(key, Breaker())
