"""Who called is read off a header that anybody may write."""

import pytest

from turnwire.probe import Caller, read_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_traceparent_names_trace_and_span():
    assert read_traceparent(f"00-{TRACE}-{SPAN}-01") == Caller(TRACE, SPAN, sampled=True)


def test_the_last_bit_of_the_flags_says_whether_the_caller_samples():
    assert read_traceparent(f"00-{TRACE}-{SPAN}-02") == Caller(TRACE, SPAN, sampled=False)


def test_a_later_version_may_have_more_fields():
    assert read_traceparent(f"01-{TRACE}-{SPAN}-01-more") == Caller(TRACE, SPAN, sampled=True)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-0\u0661",
        f"00-{TRACE}-{SPAN}-01\n00-{TRACE}-{SPAN}-01",
    ],
)
def test_a_malformed_traceparent_is_none(header: str | None):
    assert read_traceparent(header) is None
