"""What to do after a provider has failed: pure, from what it said and what may still be tried."""

import email.utils
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from turnwire.errors import TurnBroken, UpstreamRateLimited, UpstreamTimeout, UpstreamUnavailable
from turnwire.graph.failures import chain, classify

Kind = Literal[
    "refused", "unauthorized", "rate_limited", "timeout", "unavailable",
    "empty", "cut", "filtered", "failed", "garbled",
]  # fmt: skip
"""``refused``: it does not take this request; ``garbled``: a tool call that can't be read."""

TRIES: Final = 2
"""Calls of one provider in one answer."""
BACKOFF: Final = 0.25
"""Seconds before a provider that nobody can stand in for is tried again."""

_FINAL: Final = frozenset[Kind]({"refused", "unauthorized", "filtered"})
_BLAMELESS: Final = frozenset[Kind]({"refused", "filtered", "rate_limited"})
_SLOW: Final = frozenset[Kind]({"timeout"})
_TYPES: Final[Mapping[str, Kind]] = {
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "insufficient_quota": "rate_limited",
    "authentication_error": "unauthorized",
    "invalid_api_key": "unauthorized",
    "permission_error": "unauthorized",
    "invalid_request_error": "refused",
    "not_found_error": "refused",
    "request_too_large": "refused",
    "timeout_error": "timeout",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """How a provider failed."""

    kind: Kind
    status: int | None = None
    retry_after: float | None = None
    """Seconds that it asks to be left alone for."""

    @property
    def is_providers(self) -> bool:
        """Whether it speaks against the provider, and not against this request or its pace."""
        return self.kind not in _BLAMELESS

    def __str__(self) -> str:
        return self.kind if self.status is None else f"{self.kind} ({self.status})"


@dataclass(frozen=True, slots=True)
class Again:
    """Call the same provider once more, after so many seconds."""

    after: float


@dataclass(frozen=True, slots=True)
class Next:
    """Call the next provider at once."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nobody is left to call."""


def decide(
    failure: Failure, *, tries: int, patience: float, has_next: bool
) -> Again | Next | GiveUp:
    """Return what follows a failure before the first word.

    Args:
        failure: how the provider failed.
        tries: calls of this provider so far.
        patience: seconds that the turn may still wait for providers.
        has_next: whether another provider may be called.
    """
    may_again = tries < TRIES and failure.kind not in _FINAL
    wish = failure.retry_after
    if may_again and wish is not None and wish <= patience:
        return Again(wish)
    if has_next:
        return Next()
    if may_again and wish is None and failure.kind not in _SLOW and patience >= BACKOFF:
        return Again(BACKOFF)
    return GiveUp()


def verdict(failures: Sequence[Failure], said: str) -> TurnBroken | None:
    """Return what a turn fails with when nobody answered; none: the request itself was refused."""
    kinds = {each.kind for each in failures}
    if kinds == {"refused"}:
        return None
    if kinds == {"rate_limited"}:
        return UpstreamRateLimited(said)
    if kinds == {"timeout"}:
        return UpstreamTimeout(said)
    return UpstreamUnavailable(said)


class Unfit(Exception):
    """The provider answered, and its answer can't be used."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.kind: Kind = kind


def failure_of(error: BaseException) -> Failure:
    """Return how a provider failed, from what its package raised."""
    if isinstance(error, Unfit):
        return Failure(error.kind)
    for each in chain(error):
        status = getattr(each, "status_code", None)
        kind = _by_body(getattr(each, "body", None))
        if isinstance(status, int) and status >= 400:
            return Failure(_by_status(status), status, retry_after(_headers(each)))
        if isinstance(status, int) or kind is not None:
            return Failure(kind or "unavailable", status)  # an error inside a good answer
    match classify(error):
        case UpstreamTimeout():
            return Failure("timeout")
        case UpstreamRateLimited():
            return Failure("rate_limited")
        case _:
            return Failure("unavailable")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``Retry-After`` asks for, by the answer's own clock.

    RFC 9110, 10.2.3: seconds or a date; ``retry-after-ms`` is OpenAI's.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) * unit)
        except ValueError:
            continue
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _headers(error: BaseException) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return cast("Mapping[str, str]", headers) if isinstance(headers, Mapping) else {}


def _by_status(status: int) -> Kind:
    match status:
        case 429:
            return "rate_limited"
        case 401 | 403:
            return "unauthorized"
        case 408 | 504:
            return "timeout"
        case 409 | 425:
            return "unavailable"
        case _:
            return "unavailable" if status >= 500 else "refused"


def _by_body(body: object) -> Kind | None:
    """Return what an error object says, as it stands in a stream that began with 200."""
    for each in _objects(body):
        for key in ("code", "type", "status"):
            said = each.get(key)
            if isinstance(said, int) and said >= 400:
                return _by_status(said)
            if isinstance(said, str) and said in _TYPES:
                return _TYPES[said]
    return None


def _objects(body: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(body, Mapping):
        found = cast("Mapping[str, Any]", body)
        yield found
        yield from _objects(found.get("error"))
