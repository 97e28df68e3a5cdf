"""Counts that workers share, and what each does alone while they can't be reached."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from turnwire.admission.rates import Rates
from turnwire.admission.ws_tokens import Uses
from turnwire.errors import StorageUnavailable

_LOG: Final = logging.getLogger("turnwire.admission")

T = TypeVar("T")

PAUSE_MS: Final = 1000
"""How long nobody is asked who did not answer."""


class Counts(Protocol):
    """Counts for all workers; each raises ``StorageUnavailable`` where it can't."""

    async def use(self, signature: str, *, seconds: int) -> bool:
        """Whether this is the first use of a token; it is remembered for so many seconds."""
        ...

    async def take(self, name: str, per_minute: int) -> int:
        """Count one and return 0, or count nothing and return how many ms it has to wait."""
        ...


class Shared:
    """Counts for all workers while that can be done, and otherwise for this one.

    So a lost Redis frees nobody and locks nobody out: a token is still good once on each worker,
    and a user's rate still has a bound. It is asked again within a second.

    Args:
        counts: of all workers.
        uses: this worker's own.
        rates: this worker's own.
        failed: told of each count that was made alone.
    """

    def __init__(
        self, counts: Counts, *, uses: Uses, rates: Rates, failed: Callable[[], None]
    ) -> None:
        self._counts = counts
        self._uses = uses
        self._rates = rates
        self._failed = failed
        self._away_until = 0
        self._is_away = False

    @property
    def uses(self) -> Uses:
        """Which tokens were used."""
        return _SharedUses(self)

    @property
    def rates(self) -> Rates:
        """How many requests a minute."""
        return _SharedRates(self)

    async def used(self, signature: str, *, expires: int, now: int) -> bool:
        """See :class:`turnwire.admission.ws_tokens.Uses`; a use is noted here in any case."""
        first_here = await self._uses.take(signature, expires=expires, now=now)
        seconds = expires - now // 1000 + 1
        first = await self._asked(lambda: self._counts.use(signature, seconds=seconds), now)
        return first_here and first is not False

    async def taken(self, name: str, per_minute: int, *, now: int) -> int:
        """See :class:`turnwire.admission.rates.Rates`."""
        wait = await self._asked(lambda: self._counts.take(name, per_minute), now)
        return await self._rates.take(name, per_minute, now=now) if wait is None else wait

    async def _asked(self, ask: Callable[[], Awaitable[T]], now: int) -> T | None:
        """Return the answer of all workers' counts, or none while they are away."""
        if not 0 <= self._away_until - now < PAUSE_MS:
            try:
                answer = await ask()
            except StorageUnavailable:
                self._away_until = now + PAUSE_MS - 1
                if not self._is_away:
                    extra = {"code": "redis"}
                    _LOG.warning("Redis is away; this worker counts alone", extra=extra)
                self._is_away = True
            else:
                if self._is_away:
                    _LOG.info("Redis is back")
                self._is_away = False
                return answer
        self._failed()
        return None


class _SharedUses:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def take(self, signature: str, *, expires: int, now: int) -> bool:
        return await self._shared.used(signature, expires=expires, now=now)


class _SharedRates:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def take(self, name: str, per_minute: int, *, now: int) -> int:
        return await self._shared.taken(name, per_minute, now=now)
