"""How many requests a minute: the rule, and what counts in one process."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.admission.rates import MINUTE_MS, LocalRates, wait_ms

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("earlier", "wait"),
    [
        (None, 0),
        (NOW, 60_000),
        (NOW - 1, 59_999),
        (NOW - 59_999, 1),
        (NOW - 60_000, 0),
        (NOW - 10**9, 0),
        (NOW + 1, 0),
        (NOW + 10**9, 0),
    ],
)
def test_a_request_waits_until_the_one_so_many_places_before_it_is_a_minute_old(
    earlier: int | None, wait: int
):
    assert wait_ms(earlier, now=NOW) == wait


@pytest.mark.anyio
async def test_of_many_at_once_no_more_pass_than_may():
    rates = LocalRates()

    waits = await asyncio.gather(*(rates.take("a", 10, now=NOW) for _ in range(100)))

    assert waits.count(0) == 10
    assert set(waits) == {0, 60_000}


@pytest.mark.anyio
async def test_a_refused_request_does_not_count():
    rates = LocalRates()
    assert await rates.take("a", 1, now=NOW) == 0
    for second in range(1, 60):
        assert await rates.take("a", 1, now=NOW + second * 1000) == 60_000 - second * 1000
    assert await rates.take("a", 1, now=NOW + 60_000) == 0


@pytest.mark.anyio
async def test_names_count_apart():
    rates = LocalRates()
    assert [await rates.take(name, 1, now=NOW) for name in ("a", "b", "a")] == [0, 0, MINUTE_MS]


@pytest.mark.anyio
async def test_another_limit_takes_over_what_was_counted():
    rates = LocalRates()
    for at in range(3):
        await rates.take("a", 3, now=NOW + at)
    assert await rates.take("a", 2, now=NOW + 3) == 59_998
    assert await rates.take("a", 5, now=NOW + 3) == 0


@pytest.mark.anyio
async def test_a_clock_that_is_set_back_holds_nobody_up():
    rates = LocalRates()
    assert await rates.take("a", 1, now=NOW) == 0
    assert await rates.take("a", 1, now=NOW - 3_600_000) == 0
    assert await rates.take("a", 1, now=NOW - 3_600_000) == 60_000


@pytest.mark.anyio
async def test_what_is_a_minute_old_takes_no_memory():
    rates = LocalRates()
    for number in range(1000):
        await rates.take(f"key {number}", 5, now=NOW)
    await rates.take("last", 5, now=NOW + MINUTE_MS)
    assert list(rates._passed) == ["last"]  # pyright: ignore[reportPrivateUsage]


@given(
    limit=st.integers(1, 5),
    gaps=st.lists(st.integers(0, 40_000), max_size=60),
)
def test_no_minute_has_more_than_the_limit_and_a_wait_is_never_too_long_or_too_short(
    limit: int, gaps: list[int]
):
    async def play() -> list[int]:
        rates, now, passed = LocalRates(), NOW, list[int]()
        for gap in gaps:
            now += gap
            wait = await rates.take("a", limit, now=now)
            in_this_minute = [each for each in passed if each > now - MINUTE_MS]
            assert bool(wait) == (len(in_this_minute) == limit)
            if wait:
                assert wait == in_this_minute[0] + MINUTE_MS - now
            else:
                passed.append(now)
        return passed

    passed = asyncio.run(play())
    for each in passed:
        assert sum(each <= other < each + MINUTE_MS for other in passed) <= limit
