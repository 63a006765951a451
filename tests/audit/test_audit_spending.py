"""Tokens and cost after a call: counted once, and unknown where the log does not say."""

from __future__ import annotations

import pytest

from touchline.audit.spending import Spending
from touchline.supervision.facts import Call, Event, Result, Spent, Turn, Usage


def turn(*tokens: int, cost: float | None = None, first: int = 0) -> Turn:
    """A turn in which every message of so many tokens makes one call."""
    events: list[Event] = []
    for place, number in enumerate(tokens):
        call = f"c{first + place}"
        events += [
            Spent(usage=Usage(output=number)),
            Call(id=call, tool="Bash", args={}),
            Result(call_id=call, text="", digest=""),
        ]
    return Turn(cli="claude", events=tuple(events), cost_usd=cost)


def test_the_message_that_made_the_call_is_not_counted() -> None:
    spending = Spending()
    spending.add(turn(10, 20, 30), first_call=0)
    assert spending.over([(0, 1)]) == (50, None)
    assert spending.over([(2, 1)]) == (0, None)


def test_overlapping_stretches_count_once() -> None:
    spending = Spending()
    spending.add(turn(10, 20, 30, cost=6.0), first_call=0)
    assert spending.over([(0, 1), (1, 1), (0, 1)]) == pytest.approx((50, 5.0))


def test_stretches_apart_add_up_over_turns() -> None:
    spending = Spending()
    spending.add(turn(10, 10, cost=2.0), first_call=0)
    spending.add(turn(10, 10, cost=4.0, first=2), first_call=2)
    assert spending.over([(0, 1), (2, 2)]) == pytest.approx((20, 3.0))


def test_a_stretch_over_a_turn_of_unknown_cost_has_no_cost() -> None:
    spending = Spending()
    spending.add(turn(10, 10, cost=2.0), first_call=0)
    spending.add(turn(10, 10, first=2), first_call=2)
    assert spending.over([(0, 2)]) == (30, None)
    assert spending.over([(0, 1)]) == pytest.approx((10, 1.0))


def test_no_stretch_costs_nothing_where_costs_are_known() -> None:
    spending = Spending()
    spending.add(turn(10, cost=2.0), first_call=0)
    assert spending.over([]) == (0, 0.0)


def test_a_loop_without_calls_counts_from_the_begin() -> None:
    spending = Spending()
    spending.add(turn(10, 20), first_call=0)
    assert spending.over([(-1, 1)]) == (30, None)
