"""Which allowances a turn is charged to, and when it may start: the whole rule."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.admission.principal import OPERATOR, Principal
from turnwire.admission.quota import Allowance, QuotaPolicy, require_room
from turnwire.admission.sessions import anonymous
from turnwire.errors import QuotaExceeded
from turnwire.storage.members import Charge, Used

KEY = Principal(id="key:1", scopes=frozenset({"chat"}))
MEMBER = Principal(id="member:1", scopes=frozenset({"chat"}), vouched_by="key:1")
POLICY = QuotaPolicy(
    member=Allowance(messages=3, seconds=60), key=Allowance(tokens=1000, seconds=3600)
)
NOW = 1_800_000_000_000


def subjects(caller: Principal, policy: QuotaPolicy = POLICY) -> list[str]:
    return [each.subject for each in policy.charges(caller, now=NOW)]


def test_a_members_turn_is_charged_to_the_member_and_to_the_key():
    assert subjects(MEMBER) == ["member:1", "key:1"]


def test_without_a_session_only_the_key_is_charged():
    assert subjects(KEY) == ["key:1"]
    assert subjects(anonymous(KEY)) == ["key:1"]


def test_the_operator_of_a_server_on_loopback_has_no_allowance_but_its_members_have():
    assert subjects(OPERATOR) == []
    assert subjects(replace(MEMBER, vouched_by="operator")) == ["member:1"]


def test_without_limits_nothing_is_counted():
    assert subjects(MEMBER, QuotaPolicy()) == []


def test_only_a_sign_in_is_a_message_when_a_turn_goes_on():
    charged = {
        kind
        for kind in ("review", "confirmation", "sign_in", "approval", "input")
        if POLICY.resuming(MEMBER, kind, now=NOW)
    }
    assert charged == {"sign_in"}


@given(now=st.integers(0, 10**13), seconds=st.floats(1, 10**7))
def test_every_moment_is_in_its_window_and_the_windows_touch(now: int, seconds: float):
    allowance = Allowance(messages=1, seconds=seconds)
    charge = allowance.charge("member:1", held=1, now=now)
    assert charge.start_ms <= now < charge.ends_ms
    assert allowance.charge("member:1", held=1, now=charge.ends_ms).start_ms == charge.ends_ms


@pytest.mark.parametrize(
    ("messages", "tokens", "used", "may"),
    [
        (3, None, Used(2, 10**9), True),
        (3, None, Used(3, 0), False),
        (None, 100, Used(10**9, 99), True),
        (None, 100, Used(0, 100), False),
        (3, 100, Used(3, 0), False),
        (3, 100, Used(0, 100), False),
        (3, 100, Used(2, 99), True),
    ],
)
def test_a_turn_starts_where_something_is_left_of_each_limit(
    messages: int | None, tokens: int | None, used: Used, may: bool
):
    charge = Allowance(messages=messages, tokens=tokens).charge("member:1", held=50, now=NOW)
    if may:
        require_room([charge], [used], now=NOW)
    else:
        with pytest.raises(QuotaExceeded):
            require_room([charge], [used], now=NOW)


def test_the_time_to_come_back_is_the_end_of_the_longest_window_that_is_full():
    short = Charge(subject="member:1", window_ms=1000, start_ms=5000, messages=1)
    long = Charge(subject="key:1", window_ms=4000, start_ms=4000, messages=1)
    for used, after in (((1, 1), 2.5), ((1, 0), 0.5), ((0, 1), 2.5)):
        with pytest.raises(QuotaExceeded) as refused:
            require_room([short, long], [Used(each) for each in used], now=5500)
        assert refused.value.retry_after == after
        again = 5500 + round(after * 1000)
        assert all(
            each.ends_ms <= again for each, n in zip((short, long), used, strict=True) if n
        ), "by then every full window is over"
