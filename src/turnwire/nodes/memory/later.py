"""Work on the memory that nobody waits for."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from turnwire.errors import StorageUnavailable, where
from turnwire.graph.acting import afterwards

LOG: Final = logging.getLogger("turnwire.memory")


def later(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Have ``work`` done once the turn is complete; what goes wrong is logged, without words."""
    afterwards(partial(_guarded, work))


async def _guarded(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        await work()
    except StorageUnavailable:
        LOG.warning("a turn could not be remembered", extra={"code": "storage"})
    except Exception as error:  # nobody waits for this task who could take the error
        extra = {"where": where(error)}
        LOG.error("remembering a turn: %s", type(error).__name__, extra=extra)
