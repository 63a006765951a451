"""When a budget is used up."""

from __future__ import annotations

import pytest

from touchline.supervision.budgets import Budget, Spending, exhausted, unknown_cost


@pytest.mark.parametrize(
    ("budget", "spending", "resources"),
    [
        (Budget(), Spending(turns=999, tokens=10**9, usd=1e6), []),
        (Budget(turns=3), Spending(turns=2), []),
        (Budget(turns=3), Spending(turns=3), ["turns"]),
        (Budget(tokens=100), Spending(tokens=99), []),
        (Budget(tokens=100), Spending(tokens=100), ["tokens"]),
        (Budget(usd=1.0), Spending(usd=0.99), []),
        (Budget(usd=1.0), Spending(usd=1.2), ["usd"]),
        (Budget(usd=1.0), Spending(usd=None), []),
        (Budget(seconds=60), Spending(seconds=61), ["seconds"]),
        (Budget(failures=3), Spending(failures=3), []),
        (Budget(failures=3), Spending(failures=4), ["failures"]),
        (Budget(turns=1, usd=1.0), Spending(turns=1, usd=2.0), ["turns", "usd"]),
    ],
)
def test_exhausted(budget: Budget, spending: Spending, resources: list[str]) -> None:
    assert [e.resource for e in exhausted(budget, spending)] == resources


def test_a_money_limit_with_unknown_cost_is_said() -> None:
    assert unknown_cost(Budget(usd=1.0), Spending(usd=None))
    assert not unknown_cost(Budget(usd=1.0), Spending(usd=0.2))
    assert not unknown_cost(Budget(turns=3), Spending(usd=None))
