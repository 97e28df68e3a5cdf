import pytest

from turnwire.agents.studio.limits import exceeded
from turnwire.agents.studio.spec import Limits
from turnwire.agents.studio.state import AgentState

LIMITS = Limits(iterations=3, seconds=2.0, usd=0.5)


@pytest.mark.parametrize(
    ("state", "now", "reason"),
    [
        ({"iteration": 2, "since_ms": 0, "usd": 0.5}, 2000, None),
        ({"iteration": 3, "since_ms": 0}, 0, "iteration_limit"),
        ({"iteration": 0, "since_ms": 0}, 2001, "time_limit"),
        ({"iteration": 0, "since_ms": 0, "usd": 0.51}, 0, "cost_limit"),
    ],
)
def test_a_loop_ends_for_the_limit_it_has_reached(state: AgentState, now: int, reason: str | None):
    assert exceeded(LIMITS, state, now=now) == reason


def test_without_limits_nothing_ends():
    assert exceeded(Limits(), {"iteration": 99, "since_ms": 0, "usd": 9.0}, now=10**9) is None
