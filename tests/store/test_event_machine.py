"""The event log against a plain list: appended, rolled back, killed, reopened and delivered in any order."""

from __future__ import annotations

import contextlib
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.store.samples import note, program

from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import Event, NewEvent, last_seq, read
from touchline.store.log_tables import counters
from touchline.store.migrate import open_database
from touchline.store.statuses import bump
from touchline.store.subscriptions import dead_letters, deliver, redeliver, subscribe, subscription_of
from touchline.store.tables import metadata
from touchline.store.writer import EventWriter

TYPES = ("metric.recorded", "component.started")
SOURCES = ("a", "b")
MAX_FAILURES = 2
CROSS_SECONDS = 0.05
"""How long the second of two writers has for coming in between."""
Said = tuple[str, str, str]
"""What the model knows of an event: type, source, number."""
SOME = st.lists(st.tuples(st.sampled_from(TYPES), st.sampled_from(SOURCES), st.integers(0, 99).map(str)), max_size=5)

DYING = """
import os, signal, sys
from touchline.store.append import append
from touchline.store.events import NewEvent
from touchline.store.migrate import open_database
with open_database(sys.argv[1], purpose="test") as database, database.writing() as connection:
    append(connection, [NewEvent(type="build.started", source="a")] * 2)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def event_of(said: Said) -> NewEvent:
    return note(int(said[2]), type=said[0], source=said[1])


def said_by(event: Event) -> Said:
    return event.type, event.source, str(event.payload.get("value", event.payload.get("component")))


@dataclass
class Reader:
    """What the model knows of a subscriber."""

    types: tuple[str, ...]
    cursor: int = 0
    failures: int = 0
    handled: list[int] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)


class LogMachine(RuleBasedStateMachine):
    """Does the same to a database and to a list."""

    def __init__(self, fresh: Callable[[], str]) -> None:
        super().__init__()
        self.url = fresh()
        self.kills = 0

    @initialize()
    def begin(self) -> None:
        self.database = open_database(self.url, purpose="test")
        self.log: list[Said] = []
        self.readers = {"all": Reader(TYPES), "some": Reader(TYPES[1:])}
        subscribe(self.database, "all")
        subscribe(self.database, "some", ["component.*"])

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.database.close()

    @rule(batch=SOME)
    def append_a_batch(self, batch: list[Said]) -> None:
        with self.database.writing() as connection:
            seqs = append(connection, [event_of(said) for said in batch])
        self.log += batch
        assert seqs == list(range(len(self.log) - len(batch) + 1, len(self.log) + 1))

    @rule(batch=SOME, cut=st.booleans())
    def lose_a_transaction(self, batch: list[Said], cut: bool) -> None:
        with contextlib.suppress(ConnectionAbortedError), self.database.writing() as connection:
            append(connection, [event_of(said) for said in batch])
            if cut:
                connection.connection.driver_connection.close()  # type: ignore[union-attr]
                connection.invalidate()
            raise ConnectionAbortedError

    @precondition(lambda self: self.kills < 1)
    @rule()
    def a_process_dies_in_its_transaction(self) -> None:
        self.kills += 1
        process = program(DYING, self.database.url)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, errors

    @rule(first=SOME, second=SOME, lost=st.booleans())
    def two_writers_cross(self, first: list[Said], second: list[Said], lost: bool) -> None:
        """The second begins, on a connection of its own, while the first has appended and not yet committed."""

        def write(batch: list[Said]) -> list[int]:
            with Database(self.url) as other, other.writing() as connection:
                return append(connection, [event_of(said) for said in batch])

        with ThreadPoolExecutor(1) as pool:
            with contextlib.suppress(ConnectionAbortedError), self.database.writing() as connection:
                seqs = append(connection, [event_of(said) for said in first])
                crossing = pool.submit(write, second)
                if first:
                    wait([crossing], CROSS_SECONDS)
                    # Whoever has seen a number will never see a smaller one appear.
                    assert last_seq(self.database) == len(self.log)
                if lost:
                    raise ConnectionAbortedError
            told = {} if lost else dict(zip(seqs, first, strict=True))
            told |= dict(zip(crossing.result(60), second, strict=True))
        assert sorted(told) == list(range(len(self.log) + 1, len(self.log) + len(told) + 1))
        self.log += [said for _, said in sorted(told.items())]

    @rule(first=SOME, second=SOME)
    def two_write_at_once(self, first: list[Said], second: list[Said]) -> None:
        def hand_in(batch: list[Said]) -> dict[int, Said]:
            return {writer.append(event_of(said), seconds=60): said for said in batch}

        with EventWriter(self.database) as writer, ThreadPoolExecutor(2) as pool:
            told = [done for each in pool.map(hand_in, (first, second)) for done in each.items()]
        assert [seq for seq, _ in sorted(told)] == list(range(len(self.log) + 1, len(self.log) + len(told) + 1))
        self.log += [said for _, said in sorted(told)]

    @rule()
    def reopen(self) -> None:
        self.database.close()
        self.database = open_database(self.url, purpose="test")

    @rule(
        after=st.integers(0, 40),
        limit=st.integers(1, 10),
        types=st.sets(st.sampled_from(TYPES), min_size=1),
        sources=st.sets(st.sampled_from(SOURCES)),
    )
    def read_from_anywhere(self, after: int, limit: int, types: set[str], sources: set[str]) -> None:
        found = read(self.database, after, patterns=sorted(types), sources=sorted(sources), limit=limit)
        wanted = [
            (seq, said)
            for seq, said in enumerate(self.log, 1)
            if seq > after and said[0] in types and (not sources or said[1] in sources)
        ]
        assert [(event.seq, said_by(event)) for event in found] == wanted[:limit]

    @rule(name=st.sampled_from(["all", "some"]), bad=st.sets(st.integers(1, 40)), limit=st.integers(1, 5))
    def deliver_some(self, name: str, bad: set[int], limit: int) -> None:
        def handler(connection: sa.Connection, event: Event) -> None:
            bump(connection, "counters", f"{name}.{event.seq}", "value")
            if event.seq in bad:
                raise ValueError("bad")

        done = deliver(self.database, name, handler, limit=limit, max_failures=MAX_FAILURES)
        expected = self._delivered(self.readers[name], bad, limit)
        assert (done.handled, done.failed, done.dead) == expected

    @rule(name=st.sampled_from(["all", "some"]), bad=st.sets(st.integers(1, 40)))
    def try_the_dead_again(self, name: str, bad: set[int]) -> None:
        def handler(connection: sa.Connection, event: Event) -> None:
            bump(connection, "counters", f"{name}.{event.seq}", "value")
            if event.seq in bad:
                raise ValueError("bad")

        redeliver(self.database, name, handler)
        reader = self.readers[name]
        reader.handled += [seq for seq in reader.dead if seq not in bad]
        reader.dead = [seq for seq in reader.dead if seq in bad]

    def _delivered(self, reader: Reader, bad: set[int], limit: int) -> tuple[int, int, int]:
        handled = dead = 0
        while handled + dead < limit:
            ahead = [n for n, said in enumerate(self.log, 1) if n > reader.cursor and said[0] in reader.types]
            if not ahead:
                if reader.cursor < len(self.log):
                    reader.cursor, reader.failures = len(self.log), 0
                break
            seq = ahead[0]
            if seq in bad:
                reader.failures += 1
                if reader.failures < MAX_FAILURES:
                    return handled, 1, dead
                reader.dead.append(seq)
                dead += 1
            else:
                reader.handled.append(seq)
                handled += 1
            reader.cursor, reader.failures = seq, 0
        return handled, 0, dead

    @invariant()
    def the_database_says_what_the_list_says(self) -> None:
        if not hasattr(self, "database"):
            return
        assert last_seq(self.database) == len(self.log)
        with self.database.reading() as connection:
            for name, reader in self.readers.items():
                found = subscription_of(connection, name)
                assert (found.cursor, found.failures) == (reader.cursor, reader.failures)
                seen = sa.select(counters.c.name, counters.c.value).where(counters.c.name.like(f"{name}.%"))
                assert {row.name: row.value for row in connection.execute(seen)} == {
                    f"{name}.{seq}": 1 for seq in reader.handled
                }
        for name, reader in self.readers.items():
            assert [letter.seq for letter in dead_letters(self.database, name)] == sorted(reader.dead)


def run(fresh: Callable[[], str], *, examples: int) -> None:
    wanted = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )

    class OnThisDatabase(LogMachine):
        def __init__(self) -> None:
            super().__init__(fresh)

    run_state_machine_as_test(OnThisDatabase, settings=wanted)


def test_the_log_on_sqlite(migrated_file: Path, tmp_path: Path) -> None:
    files = iter(range(10_000))

    def fresh() -> str:
        path = tmp_path / f"{next(files)}.db"
        shutil.copy(migrated_file, path)
        return f"sqlite:///{path}"

    run(fresh, examples=25)


def test_the_log_on_postgresql(migrated_server: str) -> None:
    def fresh() -> str:
        with Database(migrated_server) as database, database.writing() as connection:
            for table in reversed(metadata.sorted_tables):
                if table.name != "meta":
                    connection.execute(table.delete())
        return migrated_server

    run(fresh, examples=8)


def test_the_machine_finds_a_log_that_loses_an_event(migrated_file: Path, tmp_path: Path) -> None:
    """The check of the check: with one event taken out behind its back, the machine complains."""
    shutil.copy(migrated_file, tmp_path / "app.db")
    machine = LogMachine(lambda: f"sqlite:///{tmp_path / 'app.db'}")
    machine.begin()
    machine.append_a_batch([(TYPES[0], "a", "1"), (TYPES[0], "a", "2")])
    with machine.database.writing() as connection:
        connection.execute(metadata.tables["events"].delete().where(sa.text("seq = 2")))
    with pytest.raises(AssertionError):
        machine.the_database_says_what_the_list_says()
    machine.teardown()
