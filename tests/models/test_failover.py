import pytest

from turnwire.errors import UpstreamRateLimited, UpstreamTimeout, UpstreamUnavailable
from turnwire.models.failover import (
    BACKOFF,
    Again,
    Failure,
    GiveUp,
    Kind,
    Next,
    Unfit,
    decide,
    failure_of,
    retry_after,
    verdict,
)


@pytest.mark.parametrize(
    ("failure", "tries", "patience", "has_next", "step"),
    [
        (Failure("unavailable"), 1, 2, True, Next()),
        (Failure("unavailable"), 1, 2, False, Again(BACKOFF)),
        (Failure("unavailable"), 2, 2, False, GiveUp()),
        (Failure("unavailable"), 1, 0, False, GiveUp()),
        (Failure("timeout"), 1, 2, False, GiveUp()),
        (Failure("rate_limited", 429, 1), 1, 2, True, Again(1)),
        (Failure("rate_limited", 429, 1), 2, 2, True, Next()),
        (Failure("rate_limited", 429, 600), 1, 2, True, Next()),
        (Failure("rate_limited", 429, 600), 1, 2, False, GiveUp()),
        (Failure("unavailable", 503, 0), 1, 2, True, Again(0)),
        (Failure("refused", 400, 1), 1, 2, False, GiveUp()),
        (Failure("unauthorized", 401), 1, 2, False, GiveUp()),
        (Failure("unauthorized", 403), 1, 2, True, Next()),
        (Failure("filtered"), 1, 2, False, GiveUp()),
    ],
)
def test_what_follows_a_failure(
    failure: Failure, tries: int, patience: float, has_next: bool, step: object
):
    assert decide(failure, tries=tries, patience=patience, has_next=has_next) == step


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (["refused", "refused"], None),
        (["rate_limited"], UpstreamRateLimited),
        (["timeout", "timeout"], UpstreamTimeout),
        (["refused", "unavailable"], UpstreamUnavailable),
        (["timeout", "rate_limited"], UpstreamUnavailable),
        ([], UpstreamUnavailable),
    ],
)
def test_a_turn_fails_with_what_all_failures_have_in_common(
    kinds: list[Kind], told: type[Exception] | None
):
    broken = verdict([Failure(each) for each in kinds], "said")
    assert (type(broken) if broken else None) is told


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "-3"}, 0),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_each_of_its_forms(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers) == seconds


class Told(Exception):
    def __init__(self, status_code: int | None, body: object = None) -> None:
        if status_code is not None:
            self.status_code = status_code
        self.body = body


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Told(429), "rate_limited"),
        (Told(401), "unauthorized"),
        (Told(403), "unauthorized"),
        (Told(400), "refused"),
        (Told(404), "refused"),
        (Told(504), "timeout"),
        (Told(409), "unavailable"),
        (Told(529), "unavailable"),
        (Told(200, {"type": "error", "error": {"type": "rate_limit_error"}}), "rate_limited"),
        (Told(200, {"type": "error", "error": {"type": "overloaded_error"}}), "unavailable"),
        (Told(200, "no JSON"), "unavailable"),
        (Told(None, {"message": "m", "code": 529}), "unavailable"),
        (Told(None, {"message": "m", "type": "insufficient_quota"}), "rate_limited"),
        (TimeoutError(), "timeout"),
        (ConnectionResetError(), "unavailable"),
        (ValueError("no JSON"), "unavailable"),
        (Unfit("empty"), "empty"),
    ],
)
def test_how_a_provider_failed_is_read_from_what_its_package_raised(error: Exception, kind: Kind):
    assert failure_of(error).kind == kind
