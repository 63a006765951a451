"""One limit over all sessions of a build: reserved before a turn, warned of once, and an end of its own."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.sessions.house import House, Story

from touchline.errors import SettingsError
from touchline.sessions import governor
from touchline.sessions.governor import Grant, Refused, decide_grant
from touchline.sessions.records import session_record
from touchline.sessions.room import Room, current_room
from touchline.sessions.spend_limits import SpendLimit, limit_for
from touchline.sessions.spend_totals import Spent
from touchline.sessions.starting import start_session
from touchline.store.columns import new_id
from touchline.store.events import Event, read
from touchline.store.spend_tables import reservations
from touchline.store.statuses import create
from touchline.store.tables import sessions

pytestmark = pytest.mark.timeout(180)

LIMIT = SpendLimit(scope="build:b", title="The build b", build_id="b", tokens=1000, usd=1.0, runs_per_day=3)
TURNS = "turns:\n" + "".join(
    f"  - text: I looked at part {n}. Next I will look at another one.\n"
    "    usage: {input: 300, cached: 0, output: 50}\n"
    for n in range(9)
)
DONE = "turns:\n  - {text: The answer is 42.}\n"
LONG = "turns:\n" + "".join(
    f"  - {{calls: [{{shell: sleep 0.2 && echo {n}}}], usage: {{input: 100, cached: 0, output: 0}}}}\n"
    for n in range(60)
)


class TestGrants:
    def test_a_turn_gets_a_share_or_what_is_left(self) -> None:
        assert decide_grant(LIMIT, Spent(), new_run=True) == Grant(tokens=100, usd=0.1)
        left = decide_grant(LIMIT, Spent(tokens=900, held_tokens=60), new_run=True)
        assert left == Grant(tokens=40, usd=0.1)
        assert decide_grant(replace(LIMIT, tokens=None, usd=None), Spent(tokens=10**9), new_run=True) == Grant()

    @pytest.mark.parametrize(
        ("spent", "why", "says"),
        [
            (Spent(tokens=1000), "over", "has used 1000 of 1000 tokens"),
            (Spent(usd=1.2), "over", "has spent 1.2 of 1 USD"),
            (Spent(usd=0.5, untold=5), "over", "5 turns did not tell their cost and count as 10 % each"),
            (Spent(runs_today=3), "over", "3 of 3 runs today"),
            (Spent(tokens=500, held_tokens=500), "full", "is reserved by turns that run"),
            (Spent(usd=0.4, held_usd=0.6), "full", "is reserved by turns that run"),
        ],
    )
    def test_what_is_over_ends_it_and_what_is_only_reserved_waits(self, spent: Spent, why: str, says: str) -> None:
        found = decide_grant(LIMIT, spent, new_run=True)
        assert isinstance(found, Refused)
        assert (found.why, says in found.words) == (why, True), found.words

    def test_a_session_that_has_begun_is_no_new_run(self) -> None:
        assert isinstance(decide_grant(LIMIT, Spent(runs_today=3), new_run=False), Grant)


def task_of_build(house: House, **budget: Any) -> tuple[str, str]:
    """A task in a build with that budget: ids of task and build."""
    with house.database.writing() as connection:
        build = create(connection, "builds", id=new_id("build"), repository="r", budget=budget)
        task = create(connection, "tasks", build_id=build, key="T-1", phase="api", action="CREATE", file="a.py")
    return task, build


def alerts(house: House, build: str) -> list[Event]:
    with house.database.reading() as connection:
        found = read(connection, limit=100_000)
    return [event for event in found if event.type == "alert.budget" and event.ids.build == build]


def test_a_build_without_tokens_starts_no_further_turn_and_says_why(house: House) -> None:
    task, build = task_of_build(house, tokens=1000)
    story = house.run(TURNS, task_id=task)
    assert story.actions[-1] == "deliver:spending_limit", story.told()
    assert (story.session.reason, story.session.delivery) == ("spending_limit", "unresolved")
    assert "of 1000 tokens" in story.session.detail
    assert story.session.spent["tokens"] < 1000 + 350, "no more than one reply over"
    other = house.run(DONE, task="What is the answer?", task_id=task)
    assert (other.session.reason, len(other.turns)) == ("spending_limit", 0), "no agent was started at all"
    (warning,) = alerts(house, build)
    assert warning.payload["limit"] == 1000
    assert warning.payload["spent"] >= 800


def test_a_turn_that_goes_on_and_on_is_ended_in_its_middle(house: House) -> None:
    task, _ = task_of_build(house, tokens=2000)
    story = house.run(LONG, task_id=task)
    assert story.session.reason == "spending_limit", story.told()
    assert (story.turns[0].stopped or "").startswith("spending")
    assert 2000 < story.session.spent["tokens"] < 6000, "long before its own end"


def test_a_turn_that_spends_on_and_on_is_ended_in_its_middle(house: House) -> None:
    task, _ = task_of_build(house, usd=0.01)
    story = house.run(LONG, task_id=task, model="claude-sonnet-4-5")
    assert story.session.reason == "spending_limit", story.told()
    assert (story.turns[0].stopped or "").startswith("spending")
    assert "has spent" in story.session.detail


def test_money_runs_out_over_all_sessions_together(house: House) -> None:
    task, _ = task_of_build(house, usd=0.0000001)
    first = house.run(TURNS, task_id=task)
    assert first.actions[-1] == "deliver:spending_limit", first.told()
    assert "USD" in first.session.detail


def test_turns_that_do_not_tell_their_cost_count_all_the_same(house: House) -> None:
    task, _ = task_of_build(house, usd=50.0)
    story = house.run(TURNS, task_id=task, agent="silent")
    assert story.session.reason != "spending_limit", story.told()
    with house.database.reading() as connection:
        record = session_record(connection, story.session.id)
        limit = limit_for(connection, record, {})
        assert limit is not None
        from touchline.sessions.spend_totals import spent_in

        assert spent_in(connection, limit, record, 99).untold == len(story.turns)


def test_runs_per_day_are_sessions(house: House) -> None:
    task, _ = task_of_build(house, runs_per_day=2)
    ends = [house.run(DONE, task="What is the answer?", task_id=task).session.reason for _ in range(3)]
    assert ends == ["completed", "completed", "spending_limit"]


def test_without_a_limit_nothing_is_reserved(house: House) -> None:
    story = house.run(DONE, task="What is the answer?")
    with house.database.reading() as connection:
        query = sa.select(reservations.c.id).where(reservations.c.session_id == story.session.id)
        assert connection.execute(query).first() is None


def room() -> Room:
    return current_room()


def running(house: House, task: str) -> str:
    """A session's row that says it runs, without anything that runs."""
    with house.database.writing() as connection:
        asked = house.ask(DONE, task_id=task).to_json()
        return create(connection, "sessions", agent="scripted", task_id=task, status="running", asked=asked)


def test_sessions_side_by_side_never_reserve_more_than_there_is(house: House) -> None:
    task, build = task_of_build(house, tokens=1000)
    ids = [running(house, task) for _ in range(16)]
    with house.database.reading() as connection:
        records = [session_record(connection, id) for id in ids]
    stop = threading.Event()
    try:
        with ThreadPoolExecutor(16) as pool:
            found = [pool.submit(governor.reserve, room(), record, 1, stop.is_set) for record in records]
            end = time.monotonic() + 30
            while sum(each.done() for each in found) < 10 and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(0.3)
            held = [each for each in found if each.done()]
            assert len(held) == 10, "ten shares of a tenth, and six wait"
            with house.database.reading() as connection:
                query = sa.select(sa.func.sum(reservations.c.tokens)).where(reservations.c.scope == f"build:{build}")
                assert connection.execute(query).scalar() == 1000
            # One of them dies without a word: what it held is free when its session is given up.
            with house.database.writing() as connection:
                gone = next(r.id for r, each in zip(records, found, strict=True) if each.done())
                connection.execute(sessions.update().where(sessions.c.id == gone).values(status="failed"))
            while sum(each.done() for each in found) < 11 and time.monotonic() < end:
                time.sleep(0.05)
            assert sum(each.done() for each in found) == 11
            stop.set()
    finally:
        stop.set()
        with house.database.writing() as connection:
            connection.execute(sessions.update().where(sessions.c.id.in_(ids)).values(status="dropped"))


def test_an_error_of_the_database_is_not_read_as_no_spending(house: House) -> None:
    task, _ = task_of_build(house, tokens=1000)
    with house.database.writing() as connection:
        connection.execute(sa.text("alter table reservations rename to reservations_away"))
    try:
        story: Story = house.rest(
            start_session(house.engine, house.database, house.ask(DONE, task="What is the answer?", task_id=task))
        )
    finally:
        with house.database.writing() as connection:
            connection.execute(sa.text("alter table reservations_away rename to reservations"))
    assert story.session.status == "failed", story.told()
    assert story.turns == ()


def test_the_day_has_a_limit_for_sessions_without_a_build(house: House) -> None:
    story = house.run(DONE, task="What is the answer?")
    with house.database.reading() as connection:
        record = story.session
        assert limit_for(connection, record, {}) is None
        found = limit_for(connection, record, {"TOUCHLINE_DAY_USD": "2.5", "TOUCHLINE_DAY_RUNS": "40"})
        assert found == SpendLimit(scope="day", title="Today's work", usd=2.5, runs_per_day=40)
        for wrong in ("much", "-1", "nan", "1.5"):
            with pytest.raises(SettingsError, match="TOUCHLINE_DAY_TOKENS"):
                limit_for(connection, record, {"TOUCHLINE_DAY_TOKENS": wrong})
