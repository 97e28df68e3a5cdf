"""How one call of a provider went, for the log and for whoever measures."""

import logging
from dataclasses import dataclass
from typing import Final

from turnwire.models.budget import Spent
from turnwire.models.failover import Failure

_LOG: Final = logging.getLogger("turnwire.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One call, from the request to its end; ``failure`` is none also where the client left."""

    label: str
    """``provider:model``."""
    failure: Failure | None
    spoke: bool
    """Whether the member has read words of it."""
    seconds: float
    first_seconds: float | None
    """Until its first sign; none where none came."""
    spent: Spent
    turn_id: str | None = None


def log_outcome(outcome: Outcome) -> None:
    """Write a failed call to the log; nobody's words are in it."""
    if outcome.failure is None:
        return
    _LOG.warning(
        "%s failed %s: %s, %.1f s after the request",
        outcome.label,
        "in the middle of its answer" if outcome.spoke else "before its first word",
        outcome.failure,
        outcome.seconds,
        extra={"turn_id": outcome.turn_id} if outcome.turn_id else None,
    )
