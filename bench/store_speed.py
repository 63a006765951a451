"""How many events per second are appended and read, next to a bare driver that does the same in the same run?

    python bench/store_speed.py [--postgres URL] [--events N]

The bare driver writes the same rows into the same table (same indexes, same durability), turns the same payloads into
JSON and back, and checks nothing. Without --postgres a server is started for the run where one is installed.
Exit code 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.postgres import PostgresServer, find_binaries

from touchline.store.append import append
from touchline.store.columns import now, written
from touchline.store.database import Database
from touchline.store.events import Ids, NewEvent, read
from touchline.store.migrate import open_database
from touchline.store.place import normalised
from touchline.store.writer import EventWriter

LIMIT = 0.5
"""Batched, we do at least this part of what the bare driver does."""
BATCH, PAGE, SINGLES = 500, 1000, 500
THREADS, EACH = 50, 60
NAMES = "seq, at, type, version, source, idea_id, spec_id, build_id, task_id, session_id, cause, payload"
BOUGHT = """What the rest buys: every event checked against its type's fields, ids and sizes before it is written;
numbers without a gap, in the order of commits, so that no reader skips one; readers woken; old versions lifted when
read; typed, frozen values; one code for SQLite and PostgreSQL; errors that say what to do."""


def payload(number: int) -> dict[str, Any]:
    return {"reason": "validation failed", "detail": f"{number}: " + "line of output " * 14, "attempt": number % 3}


class Ours:
    """Touchline's log."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.after = 0

    def write(self, batch: int) -> None:
        """One transaction."""
        some = [
            NewEvent(type="task.failed", payload=payload(n), source="build", ids=Ids(build="b1", task=f"t{n % 7}"))
            for n in range(batch)
        ]
        with self.database.writing() as connection:
            append(connection, some)

    def read(self, page: int) -> None:
        """The next page."""
        self.after = read(self.database, self.after, limit=page)[-1].seq


class Bare:
    """A driver and its connection: `sqlite3` or `psycopg`."""

    def __init__(self, connection: Any, mark: str, begin: str, table: str = "events") -> None:
        self.connection, self.mark, self.begin, self.table = connection, mark, begin, table
        self.after, self.last = 0, 0

    def write(self, batch: int) -> None:
        insert = f"insert into {self.table} ({NAMES}) values ({', '.join([self.mark] * 12)})"
        at = written(now())
        rows = []
        for n in range(batch):
            about = (None, None, "b1", f"t{n % 7}", None, None)
            rows.append((self.last + n + 1, at, "task.failed", 1, "build", *about, json.dumps(payload(n))))
        cursor = self.connection.cursor()
        cursor.execute(self.begin)
        cursor.executemany(insert, rows)
        cursor.execute("commit")
        self.last += batch

    def read(self, page: int) -> None:
        query = f"select {NAMES} from {self.table} where seq > {self.mark} order by seq limit {page}"
        rows = self.connection.execute(query, (self.after,)).fetchall()
        found = [(*row[:-1], json.loads(row[-1])) for row in rows]
        self.after = int(found[-1][0])


def grouped(database: Database) -> float:
    """Many threads, each waiting for the commit of its event before the next one."""

    def hand_in() -> None:
        for number in range(EACH):
            writer.append(NewEvent(type="task.failed", payload=payload(number), source="build"))

    with EventWriter(database) as writer:
        threads = [threading.Thread(target=hand_in) for _ in range(THREADS)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return THREADS * EACH / (time.perf_counter() - began)


def measured(title: str, ours: Ours, bare: Bare, count: int) -> bool:
    """Print the rates; whether the limits were kept."""
    works: list[tuple[str, int, int, Callable[[Ours | Bare], None], float | None]] = [
        ("append, one per transaction", 1, SINGLES, lambda who: who.write(1), None),
        (f"append, {BATCH} per transaction", BATCH, count // BATCH, lambda who: who.write(BATCH), LIMIT),
        (f"read, {PAGE} per page", PAGE, count // PAGE, lambda who: who.read(PAGE), LIMIT),
    ]
    kept = True
    print(f"\n{title:36}{'bare /s':>10}{'ours /s':>10}{'ratio':>8}")
    for name, size, times, work, limit in works:
        if work is works[-1][3]:
            settle(ours, bare)
        took: dict[Ours | Bare, list[float]] = {bare: [], ours: []}
        for _ in range(times):
            # In turns, slice by slice, and the middle of them: whatever else the machine does disturbs both alike.
            for who, spent in took.items():
                began = time.perf_counter()
                work(who)
                spent.append(time.perf_counter() - began)
        kept &= shown(name, size / median(took[bare]), size / median(took[ours]), limit)
    print(f"  {f'{THREADS} threads, each acknowledged':44}{grouped(ours.database):>10,.0f}")
    return kept


def settle(ours: Ours, bare: Bare) -> None:
    """Let both know how large the table is, as the server's own upkeep does within a minute."""
    bare.connection.execute(f"analyze {bare.table}")
    with ours.database.writing() as connection:
        connection.exec_driver_sql("analyze events")


def shown(name: str, bare: float, ours: float, limit: float | None) -> bool:
    ratio = ours / bare
    verdict = "" if limit is None else f"   limit {limit}: {'kept' if ratio >= limit else 'MISSED'}"
    print(f"  {name:34}{bare:>10,.0f}{ours:>10,.0f}{ratio:>8.2f}{verdict}")
    return limit is None or ratio >= limit


def sqlite_pair(folder: Path) -> tuple[Ours, Bare, Callable[[], None]]:
    database = open_database(f"sqlite:///{folder / 'ours.db'}", purpose="test")
    open_database(f"sqlite:///{folder / 'bare.db'}", purpose="test").close()
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"pragma {pragma}")

    def close() -> None:
        connection.close()
        database.close()

    return Ours(database), Bare(connection, "?", "begin immediate"), close


@contextmanager
def server(given: str | None, folder: Path) -> Iterator[str | None]:
    """The address of an empty database; or None, and why is printed."""
    if given:
        yield normalised(given)
        return
    binaries = find_binaries()
    if binaries is None:
        print("\nPostgreSQL: skipped, it is not installed (scripts/test-tools installs it) and no --postgres was given")
        yield None
        return
    folder.mkdir()
    folder.parent.chmod(0o755)
    with PostgresServer(binaries, folder) as started, started.fresh() as url:
        yield url


def on_postgres(url: str, count: int) -> bool:
    import psycopg

    plain = url.replace("+psycopg", "")
    with open_database(url, purpose="test") as database, psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("drop table if exists bare_events")
        connection.execute("create table bare_events (like events including all)")
        try:
            bare = Bare(connection, "%s", "begin", "bare_events")
            return measured("PostgreSQL (fsync on)", Ours(database), bare, count)
        finally:
            connection.execute("drop table bare_events")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", help="address of an empty database, or of one a test made")
    parser.add_argument("--events", type=int, default=50_000, help="how many are appended in batches and read")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="touchline-bench-"))
    try:
        ours, bare, close = sqlite_pair(folder)
        kept = measured("SQLite (WAL, synchronous=FULL)", ours, bare, given.events)
        close()
        with server(given.postgres, folder / "postgres") as url:
            if url is not None:
                kept &= on_postgres(url, given.events)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{BOUGHT}")
    return int(not kept)


if __name__ == "__main__":
    raise SystemExit(main())
