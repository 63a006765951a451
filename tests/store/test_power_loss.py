"""Power is cut at any moment: no acknowledged event is lost, and the database is whole.

The transactions that `Database` and `append` really send are recorded, with the settings really in force, and sent to
SQLite on a disk that keeps only what was synced (`power`). With weaker settings the same test shows losses.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest
import sqlalchemy as sa
from tests.store.power import Disk, PowerLoss, put

from touchline.store.append import append
from touchline.store.events import NewEvent, last_seq, read
from touchline.store.migrate import open_database

PATH = "/app.db"
CUTS = 300


@dataclass(frozen=True)
class Recording:
    """A database, and what was done to it afterwards."""

    image: bytes
    settings: dict[str, str]
    transactions: list[list[str]]


@dataclass(frozen=True)
class Outcome:
    """What was promised before the cut, and what is there after it."""

    operations: int
    acknowledged: int
    there: int
    problems: list[str]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("recorded") / "app.db"
    url = f"sqlite:///{path}"
    open_database(url, purpose="test").close()
    image = path.read_bytes()
    assert not path.with_name("app.db-wal").exists(), "the image must be whole by itself"
    statements: list[str] = []
    with open_database(url, purpose="test") as database:
        with database.reading() as connection:
            names = ("journal_mode", "synchronous", "foreign_keys", "page_size", "fullfsync")
            settings = {name: str(connection.exec_driver_sql(f"PRAGMA {name}").scalar()) for name in names}
        sa.event.listen(
            database.engine, "checkout", lambda driver, _record, _proxy: driver.set_trace_callback(statements.append)
        )
        for number in range(40):
            with database.writing() as connection:
                append(connection, [_event(number * 3 + each) for each in range(3)])
        assert last_seq(database) == 120
    return Recording(image=image, settings=settings, transactions=list(_transactions(statements)))


def _event(number: int) -> NewEvent:
    # Payloads of many sizes: some fit into a page with others, some need several.
    text = f"{number}:" + "x" * (number * 97 % 5000)
    return NewEvent(type="ideation.message", payload={"role": "person", "text": text}, source="test")


def _transactions(statements: list[str]) -> Iterator[list[str]]:
    current: list[str] = []
    for statement in statements:
        if statement.startswith("BEGIN"):
            current = []
        current.append(statement)
        if statement.startswith("COMMIT"):
            yield current
            current = []


def run(
    recording: Recording,
    folder: Path,
    *,
    cut_at: int | None,
    seed: int = 0,
    survives: float = 0.0,
    checkpoint_pages: int = 12,
    **other: str,
) -> Outcome:
    """Do it all until the power is cut, then look at what is left with the real `Database`.

    Few pages between checkpoints, so that cuts also fall into the moving of pages from the journal into the file.
    """
    settings = {**recording.settings, **other}
    disk = Disk({PATH: recording.image}, cut_at=cut_at, chance=random.Random(seed), survives=survives)
    acknowledged = 0
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(PATH, vfs=disk.name)
        # The disk has no shared memory, so one connection has it for itself; what is synced and when stays the same.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute(f"PRAGMA journal_mode={settings['journal_mode']}")
        for name in ("synchronous", "foreign_keys", "fullfsync"):
            connection.execute(f"PRAGMA {name}={settings[name]}")
        connection.execute(f"PRAGMA wal_autocheckpoint={checkpoint_pages}")
        for transaction in recording.transactions:
            for statement in transaction:
                connection.execute(statement)
            acknowledged += 3
    except (PowerLoss, apsw.Error):
        pass
    left = disk.after_power_loss()
    if connection is not None:
        with suppress(PowerLoss, apsw.Error):
            connection.close()
    disk.unregister()
    folder.mkdir()
    put(left, folder)
    return Outcome(disk.operations, acknowledged, *_found(folder / "app.db"))


def _found(path: Path) -> tuple[int, list[str]]:
    with open_database(f"sqlite:///{path}", purpose="test") as database:
        events = read(database, limit=10_000)
    problems = [f"event {n} differs" for n, event in enumerate(events) if event.payload != _event(n).payload]
    problems += [f"event {event.seq} at {n}" for n, event in enumerate(events, 1) if event.seq != n]
    with closing(sqlite3.connect(path)) as connection:
        problems += [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    return len(events), problems


@pytest.mark.parametrize("survives", [0.0, 0.5, 1.0], ids=["nothing-unsynced", "any-sectors", "all-written"])
def test_no_acknowledged_event_is_lost(recording: Recording, tmp_path: Path, survives: float) -> None:
    assert len(recording.transactions) == 40
    whole = run(recording, tmp_path / "whole", cut_at=None)
    assert (whole.acknowledged, whole.there, whole.problems) == (120, 120, [])
    chance = random.Random(f"cuts {survives}")
    reached = 0
    for number in range(CUTS // 3):
        cut_at = chance.randrange(1, whole.operations)
        outcome = run(recording, tmp_path / str(number), cut_at=cut_at, seed=number, survives=survives)
        assert outcome.problems == [], f"cut at {cut_at}"
        # The transaction in which the cut fell may have been kept, but only as a whole.
        assert outcome.there in (outcome.acknowledged, outcome.acknowledged + 3), f"cut at {cut_at}"
        reached += outcome.acknowledged
    assert reached > 0


def test_with_weaker_settings_the_same_cuts_lose_events(recording: Recording, tmp_path: Path) -> None:
    """Proves that the test above can fail: `synchronous=NORMAL` acknowledges what is not yet on the disk."""
    assert recording.settings["synchronous"] == "2"
    assert recording.settings["journal_mode"] == "wal"
    chance = random.Random("cuts")
    lost = 0
    for number in range(20):
        cut_at = chance.randrange(30, 150)
        outcome = run(recording, tmp_path / str(number), cut_at=cut_at, checkpoint_pages=1000, synchronous="1")
        assert outcome.problems == []
        lost += outcome.there < outcome.acknowledged
    assert lost == 20
