"""What does durability cost? One recorded step, one step with its own transaction, one start, one launch.

python bench/engine_cost.py [--steps N] [--json]

On SQLite, and on PostgreSQL when it is installed (a server of the benchmark's own, on the loopback). Beside it stands
what a bare driver needs to commit one small row to the same kind of database in the same run: nobody can record a step
for less. The rest buys replay, ownership checks against workers taken for dead, queues and timers.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sqlalchemy as sa
from tests.postgres import PostgresServer, find_binaries

from touchline.engine.opening import running_engine
from touchline.engine.port import Engine, Flow
from touchline.engine.workbook import Workbook
from touchline.store import statuses
from touchline.store.migrate import open_database
from touchline.store.place import Place

LIMITS = {"sqlite": 25.0, "postgresql": 60.0}
"""Milliseconds a recorded step may cost; an agent's step takes minutes. Wide, because disks differ tenfold."""
ROUNDS = 3


def book() -> Workbook:
    made = Workbook()

    @made.workflow("steps")
    def steps(flow: Flow, count: int) -> float:
        began = time.perf_counter()
        for number in range(count):
            flow.step("nothing", int, number)
        return time.perf_counter() - began

    def add(connection: sa.Connection) -> int:
        return statuses.bump(connection, "counters", "bench", "value")

    @made.workflow("transactions")
    def transactions(flow: Flow, count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            flow.transaction("add", add)
        return time.perf_counter() - began

    return made


def measured(place: Place, steps: int) -> dict[str, float]:
    """Milliseconds."""
    with open_database(place.url, purpose="test") as database:
        began = time.perf_counter()
        with running_engine(place, database, book()):
            first = time.perf_counter() - began
        began = time.perf_counter()
        with running_engine(place, database, book()) as station:
            again = time.perf_counter() - began
            engine = station.engine
            return {
                "first launch": 1000 * first,
                "launch": 1000 * again,
                "recorded step": per_step(engine, "steps", steps),
                "step with a transaction": per_step(engine, "transactions", steps // 2),
                "start of a job": starts(engine, 50),
            }


def per_step(engine: Engine, workflow: str, steps: int) -> float:
    times = [engine.result(engine.start(workflow, [steps], id=f"{workflow}/{n}"), 300) for n in range(ROUNDS)]
    return 1000 * float(statistics.median(times)) / steps


def starts(engine: Engine, count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        engine.start("steps", [0], id=f"start/{number}", delay=1000)
    return 1000 * (time.perf_counter() - began) / count


def bare_sqlite(folder: Path, count: int) -> float:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        connection.execute(f"pragma {pragma}")
    connection.execute("create table steps (id text, number integer, result text, primary key (id, number))")
    began = time.perf_counter()
    for number in range(count):
        connection.execute("begin immediate")
        connection.execute("insert into steps values ('w', ?, '1')", (number,))
        connection.execute("commit")
    taken = time.perf_counter() - began
    connection.close()
    return 1000 * taken / count


def bare_postgres(url: str, count: int) -> float:
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute("create table bare_steps (id text, number integer, result text, primary key (id, number))")
        connection.commit()
        began = time.perf_counter()
        for number in range(count):
            connection.execute("insert into bare_steps values ('w', %s, '1')", (number,))
            connection.commit()
        taken = time.perf_counter() - began
        connection.execute("drop table bare_steps")
    return 1000 * taken / count


@contextmanager
def postgres(folder: Path) -> Iterator[PostgresServer | None]:
    binaries = find_binaries()
    if binaries is None:
        yield None
        return
    folder.mkdir()
    folder.parent.chmod(0o755)  # root starts it as another user, who has to get there
    with PostgresServer(binaries, folder) as server:
        yield server


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="pytest-bench-") as name:
        folder = Path(name)
        figures["sqlite"] = measured(Place(url=f"sqlite:///{folder / 'app.db'}", origin="given"), given.steps)
        figures["sqlite"]["bare commit"] = bare_sqlite(folder, given.steps)
        with postgres(folder / "postgres") as server:
            if server is not None:
                with server.fresh() as url:
                    figures["postgresql"] = measured(Place(url=url, origin="given"), given.steps)
                with server.fresh() as url:
                    figures["postgresql"]["bare commit"] = bare_postgres(url, given.steps)
    missed = [kind for kind, found in figures.items() if found["recorded step"] > LIMITS[kind]]
    if given.json:
        print(json.dumps(figures, indent=1))
    else:
        for kind, found in figures.items():
            print(f"{kind}, milliseconds")
            for what, value in found.items():
                limit = f"  (limit {LIMITS[kind]:g})" if what == "recorded step" else ""
                print(f"  {what:28}{value:>10.2f}{limit}")
        if "postgresql" not in figures:
            print("postgresql: not installed, skipped")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
