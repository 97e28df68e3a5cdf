"""What workers count together, and each for itself while what they share does not answer."""

from collections.abc import Callable
from typing import Protocol

from turnwire.admission.rates import LocalRates, Rates
from turnwire.admission.ws_tokens import LocalUses
from turnwire.errors import StorageUnavailable


class SharedUse(Protocol):
    """Which tokens were used, in any worker."""

    async def use(self, signature: str, *, expires: int, now: int) -> bool:
        """See :class:`turnwire.admission.ws_tokens.Uses`.

        Raises:
            StorageUnavailable: nobody can say.
        """
        ...


class SharedUses:
    """Uses in all workers; a token is accepted where only this worker can say that it is new."""

    def __init__(self, shared: SharedUse, *, failed: Callable[[str], None]) -> None:
        """Ask ``shared``; ``failed`` is told what could not be asked."""
        self._shared = shared
        self._local = LocalUses()
        self._failed = failed

    async def take(self, signature: str, *, expires: int, now: int) -> bool:
        """See :class:`turnwire.admission.ws_tokens.Uses`."""
        if not await self._local.take(signature, expires=expires, now=now):
            return False
        try:
            return await self._shared.use(signature, expires=expires, now=now)
        except StorageUnavailable:
            self._failed("ws_token")
            return True


class SharedRates:
    """Rates over all workers; while they can't be asked, each worker has the limit for itself."""

    def __init__(self, shared: Rates, *, failed: Callable[[str], None]) -> None:
        """Ask ``shared``; ``failed`` is told what could not be asked."""
        self._shared = shared
        self._local = LocalRates()
        self._failed = failed

    async def take(self, name: str, per_minute: int, *, now: int) -> int:
        """See :class:`turnwire.admission.rates.Rates`."""
        try:
            wait = await self._shared.take(name, per_minute, now=now)
        except StorageUnavailable:
            self._failed("rate")
            return await self._local.take(name, per_minute, now=now)
        if not wait:  # noted here too, so that the limit holds when the others can't be asked
            await self._local.take(name, per_minute, now=now)
        return wait
