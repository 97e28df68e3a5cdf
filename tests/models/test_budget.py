import math

import pytest
from langchain_core.messages import HumanMessage

from turnwire.models.budget import Budget, Ledger, Spent, estimated_prompt
from turnwire.models.roles import Price

PRICE = Price(input=1_000, output=10_000)
"""0.1 cent a token read, 1 cent a token written."""


@pytest.mark.parametrize(
    ("budget", "spent", "room"),
    [
        (Budget(), Spent(10**9, 10**9, 10**9), math.inf),
        (Budget(tokens=100), Spent(), 90),
        (Budget(tokens=100), Spent(60, 30), 0),
        (Budget(tokens=100), Spent(60, 60), -30),
        (Budget(usd=0.11), Spent(), 10),
        (Budget(usd=0.11), Spent(usd=0.05), 5),
        (Budget(usd=0.11), Spent(usd=0.2), 0),
        (Budget(tokens=100, usd=0.11), Spent(), 10),
    ],
)
def test_the_room_is_what_the_tighter_limit_leaves(budget: Budget, spent: Spent, room: float):
    assert budget.room(spent, PRICE, tokens_in=10) == pytest.approx(room)


def test_money_limits_nothing_where_nothing_costs():
    assert Budget(usd=1).room(Spent(), Price(), tokens_in=10) == math.inf


def test_each_turn_has_an_account_and_the_oldest_are_forgotten():
    ledger = Ledger(turns=2)
    ledger.add("a", Spent(1, 2, 0.5))
    ledger.add("a", Spent(1, 2, 0.5))
    assert ledger.spent("a") == Spent(2, 4, 1.0)
    ledger.add("b", Spent(1))
    ledger.add("a", Spent(1))
    ledger.add("c", Spent(1))
    assert [ledger.spent(each).tokens_in for each in "abc"] == [3, 0, 1]


def test_a_prompt_is_estimated_at_four_characters_a_token():
    assert estimated_prompt([HumanMessage("x" * 9), HumanMessage("")]) == 3
