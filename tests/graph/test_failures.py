import pytest

from turnwire.errors import (
    AgentError,
    TurnBroken,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from turnwire.graph.failures import classify


class Status(Exception):
    def __init__(self, status_code: object) -> None:
        self.status_code = status_code


def of_provider(name: str) -> Exception:
    return type(name, (Exception,), {"__module__": "openai._exceptions"})()


class NodeTimeoutError(Exception): ...


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Status(429), UpstreamRateLimited),
        (Status(408), UpstreamTimeout),
        (Status(504), UpstreamTimeout),
        (Status(500), UpstreamUnavailable),
        (Status(529), UpstreamUnavailable),
        (Status(401), UpstreamUnavailable),
        (Status(400), None),
        (Status("429"), None),
        (TimeoutError(), UpstreamTimeout),
        (NodeTimeoutError(), UpstreamTimeout),
        (ConnectionResetError(), UpstreamUnavailable),
        (of_provider("APITimeoutError"), UpstreamTimeout),
        (of_provider("APIConnectionError"), UpstreamUnavailable),
        (of_provider("OverloadedError"), UpstreamUnavailable),
        (of_provider("BadRequestError"), None),
        (ValueError("no"), None),
        (AgentError("mine"), AgentError),
    ],
)
def test_an_error_is_told_in_our_words(error: Exception, kind: type[TurnBroken] | None):
    told = classify(error)

    assert (type(told) if told else None) is kind


def test_the_cause_behind_an_error_tells_what_it_was():
    outer = RuntimeError("the node failed")
    outer.__cause__ = Status(429)

    assert isinstance(classify(outer), UpstreamRateLimited)


def test_errors_that_cause_each_other_do_not_hang():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first

    assert classify(first) is None
