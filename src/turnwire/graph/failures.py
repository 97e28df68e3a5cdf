"""Say in our words how a model, a node or LangGraph failed; no provider's package is needed."""

from collections.abc import Iterator
from typing import Final

from turnwire.errors import (
    TurnBroken,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnavailable,
)

_TIMEOUTS: Final = ("Timeout", "TimeoutError", "APITimeoutError", "ReadTimeout", "ConnectTimeout")
_LOST: Final = ("APIConnectionError", "ConnectError", "RemoteProtocolError", "ReadError")
_PROVIDERS: Final = ("openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2")


def classify(error: BaseException) -> TurnBroken | None:
    """Return the failure that a client may be told of, or none for a fault of the agent's own."""
    for each in chain(error):
        broken = _classify_one(each)
        if broken is not None:
            return broken
    return None


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what caused it, the outermost first; each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__


def _classify_one(error: BaseException) -> TurnBroken | None:
    if isinstance(error, TurnBroken):
        return error
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _by_status(status)
    name = type(error).__name__
    from_provider = type(error).__module__.partition(".")[0] in _PROVIDERS
    if isinstance(error, TimeoutError) or name == "NodeTimeoutError":
        return UpstreamTimeout()
    if from_provider and name in _TIMEOUTS:
        return UpstreamTimeout()
    if isinstance(error, ConnectionError) or (from_provider and name in _LOST):
        return UpstreamUnavailable()
    if from_provider and name in ("APIError", "OverloadedError"):
        return UpstreamUnavailable()
    return None


def _by_status(status: int) -> TurnBroken | None:
    if status == 429:
        return UpstreamRateLimited()
    if status in (408, 504):
        return UpstreamTimeout()
    # Below 400 an answer began well, and an error came inside it.
    if status < 400 or status >= 500 or status in (401, 403):
        return UpstreamUnavailable()
    return None
