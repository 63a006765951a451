"""The event log on both databases: checked, in order, without a gap, and nothing a reader could miss."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
import sqlalchemy as sa
from tests.store.samples import note, output_of, program

from touchline.errors import EventError, StoreError
from touchline.store import event_types, upcast, wake
from touchline.store.append import MAX_PAYLOAD, append, row_of
from touchline.store.database import Database
from touchline.store.event_types import KNOWN, EventType, Field, Kind, known_type, validate
from touchline.store.events import Event, Ids, NewEvent, check_patterns, follow, last_seq, read
from touchline.store.log_tables import events

LISTED = """idea.created ideation.message ideation.phase_changed ideation.completed spec.generated spec.approved
spec.revision_requested build.requested build.primed build.started build.completed build.stopped build.resume
task.started task.completed task.failed task.retry task.skipped task.blocked turn.started turn.ended decision.requested
decision.made coaching.sent nudge.sent review.requested review.completed question.asked question.answered
question.expired question.reminded lock.granted lock.denied lock.released lock.expired conflict.detected
alert.stuck_task alert.deadlock alert.build_failed alert.component_down alert.budget work.assigned lesson.recorded
lesson.reinforced lesson.weakened lesson.promoted lesson.superseded metric.recorded component.started component.stopped
component.heartbeat
agent.answered agent.called agent.fault agent.said agent.spent check.run question.advised reminder.sent
session.asked session.ended session.interrupted session.quiet session.resumed session.started session.stop_asked
session.stopped session.waiting task.state"""


def put(database: Database, *given: NewEvent) -> list[int]:
    with database.writing() as connection:
        return append(connection, given)


def sample(type: str, **payload: Any) -> NewEvent:
    return NewEvent(type=type, payload=payload, source="x")


def values(found: list[Event]) -> list[Any]:
    return [event.payload.get("value", event.payload.get("component")) for event in found]


def test_what_was_appended_is_read_back(database: Database) -> None:
    first = NewEvent(
        type="task.failed",
        payload={"reason": "timeout", "attempt": 2, "detail": None},
        source="build",
        ids=Ids(idea="i", spec="s", build="b", task="t", session="x"),
    )
    assert put(database, first, note(2)) == [1, 2]
    assert put(database, NewEvent(type="build.started", source="build", cause=1)) == [3]
    found = read(database)
    assert [event.seq for event in found] == [1, 2, 3]
    assert (found[0].type, found[0].version, found[0].source) == ("task.failed", 1, "build")
    assert found[0].payload == dict(first.payload)
    assert found[0].ids == first.ids
    assert found[0].at.tzinfo is not None
    assert (found[1].cause, found[2].cause) == (None, 1)
    assert last_seq(database) == 3
    assert put(database) == []


def test_odd_text_of_agents_survives(database: Database) -> None:
    text = "half a pair \ud83d, a zero \x00, 日本, 🎈, % _ ' \\"
    put(database, NewEvent(type="nudge.sent", payload={"text": text}, source="日本"))
    (event,) = read(database)
    assert event.payload == {"text": text}
    assert event.source == "日本"


def test_what_was_rolled_back_leaves_no_gap(database: Database) -> None:
    put(database, note(1))

    def undone() -> None:
        with database.writing() as connection:
            assert append(connection, [note(2), note(3)]) == [2, 3]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    assert put(database, note(4)) == [2]
    assert values(read(database)) == [1, 4]


def test_a_writer_waits_for_the_one_before_so_that_commits_cannot_cross(database: Database) -> None:
    done: list[int] = []
    second = threading.Thread(target=lambda: done.extend(put(database, note(2))), daemon=True)
    with database.writing() as connection:
        append(connection, [note(1)])
        second.start()
        second.join(0.5)
        assert not done, "the second writer committed while the first held a smaller number"
        assert read(database) == []
    second.join(30)
    assert values(read(database)) == [1, 2]


WRITER = """
import random, sys, time
from touchline.store.append import append
from touchline.store.events import NewEvent
from touchline.store.migrate import open_database
url, name = sys.argv[1:]
chance = random.Random(name)
with open_database(url, purpose="test") as database:
    for n in range(60):
        try:
            with database.writing() as connection:
                some = [NewEvent(type="metric.recorded", payload={"name": name, "value": n}, source=name)]
                append(connection, some * chance.randint(1, 3))
                time.sleep(chance.random() * 0.002)
                if chance.random() < 0.1:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            continue
"""


def test_a_reader_misses_nothing_of_processes_that_write_at_once(database: Database) -> None:
    writers = [program(WRITER, database.url, f"w{n}") for n in range(4)]
    seen: list[int] = []
    try:
        until = time.monotonic() + 60
        while any(each.poll() is None for each in writers) and time.monotonic() < until:
            seen += [event.seq for event in read(database, seen[-1] if seen else 0)]
        for each in writers:
            output_of(each)
    finally:
        for each in writers:
            each.kill()
    seen += [event.seq for event in read(database, seen[-1] if seen else 0)]
    assert len(seen) > 300
    assert seen == list(range(1, len(seen) + 1))
    with database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(events)).scalar() == len(seen)


def test_events_are_appended_in_a_transaction_only(database: Database) -> None:
    def alone() -> None:
        with database.engine.connect() as connection:
            if not database.sqlite:
                connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            append(connection, [note(1)])

    with pytest.raises(StoreError, match="inside a transaction"):
        alone()
    assert read(database) == []


def test_a_frozen_view_is_refused_since_it_would_give_a_number_twice(database: Database) -> None:
    if database.sqlite:
        pytest.skip("SQLite has one writer")
    frozen = database.engine.connect().execution_options(isolation_level="REPEATABLE READ")
    with frozen as connection, pytest.raises(StoreError, match="repeatable read"):
        append(connection, [note(1)])


def test_patterns_and_sources(database: Database) -> None:
    put(
        database,
        note(1, source="a"),
        note(2, source="a", type="component.started"),
        note(3, source="b", type="component.stopped"),
        note(4, source="c"),
    )

    def found(patterns: list[str], sources: list[str]) -> list[int]:
        return [event.seq for event in read(database, patterns=patterns, sources=sources)]

    assert found(["*"], []) == [1, 2, 3, 4]
    assert found(["component.*"], []) == [2, 3]
    assert found(["component.started"], []) == [2]
    assert found(["*.started", "metric.*"], []) == [1, 2, 4]
    assert found(["*"], ["b", "c"]) == [3, 4]
    assert found(["component.*"], ["b"]) == [3]
    assert found(["compon_nt.*"], []) == []
    assert found(["%.*"], []) == []
    assert found([], []) == []


def test_pages_and_ends(database: Database) -> None:
    put(database, *map(note, range(1, 11)))
    assert [event.seq for event in read(database, 3, limit=2)] == [4, 5]
    assert [event.seq for event in read(database, 3, upto=4)] == [4]
    assert read(database, 10) == []


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (sample("task.fail"), ["'task.fail'", "task.failed"]),
        (sample("task.failed", reason="r", why=1), ["task.failed", "'why'", "detail"]),
        (sample("task.failed", reason=7), ["'reason'", "text", "7"]),
        (sample("task.failed", reason="r", attempt=True), ["'attempt'", "integer"]),
        (sample("task.failed", detail="d"), ["'reason'", "missing"]),
        (sample("metric.recorded", name="n", value=float("nan")), ["'value'", "JSON"]),
        (sample("decision.made", action="a", reason="r", evidence={"a": {1}}), ["'evidence'", "JSON"]),
        (sample("nudge.sent", text="x" * MAX_PAYLOAD), ["characters", "file"]),
        (NewEvent(type="build.started", source=""), ["source"]),
        (NewEvent(type="build.started", source="s" * 81), ["source", "80"]),
        (NewEvent(type="build.started", source="x", ids=Ids(task="a\0b")), ["ids.task"]),
        (NewEvent(type="build.started", source="x", ids=Ids(build="\ud800")), ["ids.build"]),
        (NewEvent(type="build.started", source="x", cause=2**63), ["cause"]),
    ],
)
def test_what_does_not_fit_is_refused_by_name(event: NewEvent, words: list[str]) -> None:
    with pytest.raises(EventError) as told:
        row_of(event)
    for word in words:
        assert word in str(told.value)
    assert told.value.hint


def test_one_that_does_not_fit_keeps_its_batch_out(database: Database) -> None:
    with pytest.raises(EventError, match="reason"):
        put(database, note(1), NewEvent(type="task.failed", source="x"), note(2))
    assert read(database) == []


def test_what_cannot_be_understood_is_said_with_the_next_step(database: Database) -> None:
    put(database, *map(note, range(4)))
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"version": 9}, ["version 9", "Upgrade"]),
        ({"type": "future.thing"}, ["future.thing", "upgrade"]),
        ({"payload": "{broken"}, ["db check"]),
        ({"payload": "[1]"}, ["db check"]),
    ]
    for seq, (changed, words) in enumerate(cases, 1):
        with database.writing() as connection:
            connection.execute(events.update().where(events.c.seq == seq).values(**changed))
        with pytest.raises(EventError) as told:
            read(database, seq - 1)
        for word in (f"Event {seq}", *words):
            assert word in str(told.value)


def test_old_versions_are_lifted_when_read_and_kept_as_they_were(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_type("idea.created")
    one = EventType(name="probe.read", fields=(Field(name="celsius", kind=Kind.NUMBER, required=True),))
    monkeypatch.setitem(KNOWN, "probe.read", one)
    put(database, NewEvent(type="probe.read", payload={"celsius": 20}, source="x"))
    three = EventType(name="probe.read", version=3, fields=(Field(name="kelvin", kind=Kind.NUMBER, required=True),))
    monkeypatch.setitem(KNOWN, "probe.read", three)
    with pytest.raises(EventError, match="nothing leads from version 1 to 2"):
        read(database)
    monkeypatch.setattr(upcast, "UPCASTS", dict(upcast.UPCASTS))
    upcast.from_version("probe.read", 1)(lambda payload: {"degrees": payload["celsius"]})
    upcast.from_version("probe.read", 2)(lambda payload: {"kelvin": payload["degrees"] + 273})
    put(database, NewEvent(type="probe.read", payload={"kelvin": 1}, source="x"))
    old, new = read(database)
    assert (old.version, old.payload) == (1, {"kelvin": 293})
    assert (new.version, new.payload) == (3, {"kelvin": 1})
    with database.reading() as connection:
        kept = connection.execute(sa.select(events.c.payload).where(events.c.seq == 1)).scalar()
    assert kept == '{"celsius":20}'
    with pytest.raises(EventError, match="already"):
        upcast.from_version("probe.read", 1)(dict)


def test_every_listed_event_is_known_and_every_old_version_can_be_read() -> None:
    known_type("idea.created")
    assert sorted(LISTED.split()) == sorted(KNOWN)
    for kind in KNOWN.values():
        assert re.fullmatch(r"[a-z]+(\.[a-z_]+)+", kind.name)
        for version in range(1, kind.version):
            assert (kind.name, version) in upcast.UPCASTS
    with pytest.raises(EventError, match="already"):
        event_types.register(KNOWN["idea.created"])
    with pytest.raises(EventError, match="not written any more"):
        validate("idea.created", 0, {"title": "x"})


def test_a_pattern_nothing_can_fit_is_refused() -> None:
    check_patterns(["*", "alert.*", "*.failed", "task.started"])
    with pytest.raises(EventError, match="alrt"):
        check_patterns(["alrt.*"])


def followed(database: Database, wanted: int, **given: Any) -> tuple[threading.Thread, list[Event]]:
    seen: list[Event] = []

    def go() -> None:
        for event in follow(database, stop=lambda: len(seen) >= wanted, **given):
            seen.append(event)  # noqa: PERF402 - the condition looks at the list meanwhile

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    return thread, seen


def test_follow_gives_what_is_there_and_what_comes(database: Database) -> None:
    put(database, *map(note, range(5)))
    thread, seen = followed(database, 7, after=2, patterns=["metric.*"], limit=2)
    put(database, note(0, type="component.started"), *map(note, range(5, 9)))
    thread.join(30)
    assert [event.seq for event in seen][:7] == [3, 4, 5, 7, 8, 9, 10]


def test_a_commit_wakes_the_reader_by_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    # So seldom would it look by itself that only the bell, or the notice, can wake it in time.
    monkeypatch.setattr(wake, "LOOK_SECONDS", 100.0)
    thread, seen = followed(database, 1)
    time.sleep(0.3)
    put(database, note(1))
    thread.join(30)
    assert values(seen) == [1]


def test_another_process_wakes_the_reader(database: Database) -> None:
    thread, seen = followed(database, 1)
    output_of(program(WRITER.replace("range(60)", "range(1)").replace("< 0.1", "< 0"), database.url, "w"))
    thread.join(30)
    assert seen[0].source == "w"


def test_a_reader_stops_when_told(database: Database) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=lambda: list(follow(database, stop=stop.is_set)), daemon=True)
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive()
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


def test_a_reader_whose_notices_are_cut_off_goes_on(database: Database) -> None:
    if database.sqlite:
        pytest.skip("there is no connection to lose")
    thread, seen = followed(database, 1)
    cut = sa.text(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where query = 'listen touchline_events'"
    )
    until = time.monotonic() + 30
    with database.reading() as connection:
        while not connection.execute(cut).scalar() and time.monotonic() < until:
            time.sleep(0.05)
    put(database, note(1))
    thread.join(30)
    assert values(seen) == [1]


@pytest.mark.timeout(60)
def test_threads_that_all_need_the_first_event_type_at_once_find_it() -> None:
    code = (
        "import sys, threading\n"
        "from touchline.store.event_types import known_type\n"
        "sys.setswitchinterval(1e-6)\n"
        "together, wrong = threading.Barrier(16), []\n"
        "def ask():\n"
        "    together.wait()\n"
        "    try: known_type('component.heartbeat')\n"
        "    except Exception as error: wrong.append(error)\n"
        "threads = [threading.Thread(target=ask) for _ in range(16)]\n"
        "for each in threads: each.start()\n"
        "for each in threads: each.join()\n"
        "sys.exit(repr(wrong) if wrong else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
