import pytest

from turnwire.models.breaker import Breaker, BreakerPolicy, Breakers

POLICY = BreakerPolicy(threshold=3, cooldown=10, longest=60)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def opened(now: float = 100) -> Breaker:
    breaker = Breaker()
    for _ in range(POLICY.threshold):
        breaker = breaker.failed(now, POLICY)
    return breaker


def test_it_opens_at_the_third_failure_in_a_row():
    states: list[str] = []
    breaker = Breaker()
    for _ in range(3):
        breaker = breaker.failed(100, POLICY)
        states.append(breaker.state(100))
    assert states == ["closed", "closed", "open"]


def test_after_the_cooldown_it_lets_one_probe_through():
    breaker = opened()
    assert [breaker.state(at) for at in (100, 109.9, 110)] == ["open", "open", "half_open"]
    probing = breaker.called(110)
    assert (probing.state(110), probing.admits(110)) == ("probing", False)
    assert probing.admits(10_000) is False


def test_each_probe_that_fails_doubles_the_cooldown_up_to_the_longest():
    breaker, now, waits = opened(), 110.0, []
    for _ in range(5):
        breaker = breaker.called(now).failed(now, POLICY)
        assert breaker.opens_at is not None
        waits.append(breaker.opens_at - now)
        now = breaker.opens_at
    assert waits == [20, 40, 60, 60, 60]


def test_ten_thousand_failures_do_not_overflow():
    breaker = Breaker(failures=10_000, opens_at=0, is_probed=True)
    assert breaker.failed(100, POLICY).opens_at == 160


def test_a_probe_that_the_client_left_lets_another_through():
    assert opened().called(110).released().admits(110)


@pytest.mark.parametrize(("wish", "until"), [(5, 105), (600, 160)])
def test_the_providers_own_wish_opens_it_at_once_and_not_for_ever(wish: float, until: float):
    assert Breaker().failed(100, POLICY, retry_after=wish).opens_at == until


def test_a_success_forgets_the_failures():
    clock = Clock()
    breakers = Breakers(clock=clock, policy=POLICY)
    for _ in range(2):
        breakers.call("a")
        breakers.failed("a")
    breakers.succeeded("a")
    breakers.failed("a")
    assert breakers.state("a") == "closed"


def test_providers_do_not_share_a_breaker_and_only_a_probe_says_that_it_is_one():
    clock = Clock()
    breakers = Breakers(clock=clock, policy=POLICY)
    for _ in range(3):
        assert breakers.call("a") is False
        breakers.failed("a")
    assert (breakers.admits("a"), breakers.admits("b")) == (False, True)
    clock.now += 10
    assert breakers.call("a") is True
    assert breakers.admits("a") is False
