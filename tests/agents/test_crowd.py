"""Many turns at a time ask, together, no more often than a few."""

from __future__ import annotations

from contextlib import ExitStack

from touchline.agents.crowd import AT_EASE, in_the_crowd, patience


def test_a_few_ask_as_often_as_one_and_a_crowd_shares_the_same_number_of_questions() -> None:
    with ExitStack() as few:
        for _ in range(AT_EASE):
            few.enter_context(in_the_crowd())
        assert patience(1.0) == 1.0
        with ExitStack() as more:
            for _ in range(2 * AT_EASE):
                more.enter_context(in_the_crowd())
            assert patience(1.0) == 3.0
        assert patience(1.0) == 1.0
    assert patience(2.0) == 2.0
