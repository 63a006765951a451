"""One writer for statuses and counters, on both databases; and no other module that writes them."""

from __future__ import annotations

import ast
import re
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import touchline
from touchline.errors import StatusError
from touchline.store import tables
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.life import LIVES, edges, first_status, may_move
from touchline.store.statuses import COUNTERS, bump, create, create_once, move, status_of

SOURCE = Path(touchline.__file__).parent
WRITERS = {SOURCE / "store" / "statuses.py"}
COUNTED = {counter for names in COUNTERS.values() for counter in names} - {"version", "value"}


def new_task(database: Database, **values: Any) -> str:
    with database.writing() as connection:
        return create(connection, "tasks", key="T-1", phase="api", action="CREATE", **values)


def test_a_record_starts_where_its_life_starts(database: Database) -> None:
    id = new_task(database)
    assert id.startswith("task_")
    with database.reading() as connection:
        row = connection.execute(sa.select(tables.tasks)).mappings().one()
    assert (row["id"], row["status"], row["attempts"]) == (id, "pending", 0)
    assert row["created_at"] == row["updated_at"]
    assert row["created_at"].tzinfo is not None
    with pytest.raises(StatusError, match="'done' is no status"):
        new_task(database, status="done")


def test_a_record_moves_along_its_edges_only(database: Database) -> None:
    id = new_task(database)
    with database.writing() as connection:
        assert move(connection, "tasks", id, "in_progress", expect="pending") == "pending"
        assert move(connection, "tasks", id, "failed", reason="syntax error", lesson="look twice") == "in_progress"
        assert status_of(connection, "tasks", id) == "failed"
        row = connection.execute(sa.select(tables.tasks)).mappings().one()
        assert (row["reason"], row["lesson"]) == ("syntax error", "look twice")
        assert row["updated_at"] > row["created_at"]
        with pytest.raises(StatusError) as told:
            move(connection, "tasks", id, "complete")
        assert str(told.value) == (
            f"tasks {id}: 'failed' cannot become 'complete'. Allowed from here: pending, in_progress, skipped, blocked."
        )
        with pytest.raises(StatusError, match="is 'failed', not 'pending'"):
            move(connection, "tasks", id, "in_progress", expect="pending")
        assert status_of(connection, "tasks", id) == "failed"


def test_mistakes_are_named(database: Database) -> None:
    with database.writing() as connection:
        with pytest.raises(StatusError, match="no record 'nobody'"):
            move(connection, "tasks", "nobody", "failed")
        with pytest.raises(StatusError, match="no table 'task'"):
            create(connection, "task")
        with pytest.raises(StatusError, match="have no status"):
            create(connection, "turns")
        alert = create(connection, "alerts", kind="budget", severity="error", subject="b")
        with pytest.raises(StatusError, match="no place for a reason"):
            move(connection, "alerts", alert, "cleared", reason="over")
        with pytest.raises(StatusError, match="is no counter"):
            bump(connection, "tasks", "x", "priority")
        with pytest.raises(StatusError, match="no record 'nobody'"):
            bump(connection, "tasks", "nobody", "attempts")


def test_of_those_who_move_a_record_at_once_one_succeeds(database: Database) -> None:
    id = new_task(database)
    start, results = threading.Barrier(6), []

    def go(number: int) -> None:
        start.wait()
        try:
            with database.writing() as connection:
                move(connection, "tasks", id, "in_progress", expect="pending", title=str(number))
            results.append(number)
        except StatusError:
            pass

    threads = [threading.Thread(target=go, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.reading() as connection:
        assert [connection.execute(sa.select(tables.tasks.c.title)).scalar()] == list(map(str, results))


def test_a_move_that_lost_the_race_between_look_and_write_is_refused(database: Database) -> None:
    if database.sqlite:
        pytest.skip("the second writer cannot even look before the first has committed")
    id = new_task(database)
    told: list[str] = []

    def late() -> None:
        try:
            with database.writing() as connection:
                move(connection, "tasks", id, "in_progress")
        except StatusError as error:
            told.append(str(error))

    with database.writing() as connection:
        move(connection, "tasks", id, "blocked")
        thread = threading.Thread(target=late)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(30)
    assert told == [
        f"tasks {id}: left 'pending' while it was to be moved to 'in_progress'. "
        "Somebody else moved it; look at it again."
    ]


def test_counters_count_every_bump_of_everybody(database: Database) -> None:
    id = new_task(database)

    def go() -> None:
        for _ in range(10):
            with database.writing() as connection:
                bump(connection, "tasks", id, "attempts")
                bump(connection, "counters", "tokens", "value", by=3)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.writing() as connection:
        assert bump(connection, "tasks", id, "attempts", by=0) == 40
        assert bump(connection, "counters", "tokens", "value") == 121


def test_created_once(database: Database) -> None:
    given: dict[str, Any] = {"channel": "c", "destination": "", "body": 1, "next_at": now()}
    with database.writing() as connection:
        first = create_once(connection, "outbox", unique="key", key="k", **given)
        assert first is not None
        assert create_once(connection, "outbox", unique="key", key="k", **given) is None


def test_every_table_with_a_status_has_a_life_and_every_life_is_whole() -> None:
    with_status = {name for name, table in tables.metadata.tables.items() if "status" in table.c}
    assert with_status == set(LIVES) - {"roles"}
    for kind in LIVES:
        known = edges(kind)
        reached, ahead = set(), [first_status(kind)]
        while ahead:
            here = ahead.pop()
            reached.add(here)
            ahead += [each for each in known[here] if each not in reached]
        assert reached == set(known), f"{kind}: nothing leads to {set(known) - reached}"


def test_the_life_of_a_role() -> None:
    path = ["idle", "loading", "active", "complete", "idle"]
    assert all(may_move("roles", *step) for step in pairwise(path))
    assert may_move("roles", "loading", "error")
    assert may_move("roles", "active", "error")
    assert not may_move("roles", "idle", "active")
    assert not may_move("roles", "unheard of", "idle")


def test_counters_are_columns() -> None:
    for name, columns in COUNTERS.items():
        for column in columns:
            assert isinstance(tables.metadata.tables[name].c[column].type, sa.Integer)


def writes_of_statuses(code: str) -> list[int]:
    """Lines that write a status, or count, without `statuses`."""
    found = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Attribute(attr="values" | "on_conflict_do_update"), keywords=given):
                found += [node.lineno for each in given if each.arg == "status" or _counts(each.arg, each.value)]
                found += [line for each in [*node.args, *(k.value for k in given)] for line in _in_dict(each)]
            case ast.Call(func=ast.Attribute(attr="execute" | "exec_driver_sql"), args=[first, *rest]):
                found += [line for each in rest for line in _in_dict(each)]
                words = " ".join(str(inner.value) for inner in ast.walk(first) if isinstance(inner, ast.Constant))
                if re.search(r"\b(update|insert)\b.*\bstatus\b", words, re.IGNORECASE | re.DOTALL):
                    found.append(node.lineno)
    return found


def _in_dict(node: ast.expr) -> list[int]:
    found = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Dict):
            for key, value in zip(inner.keys, inner.values, strict=True):
                name = key.value if isinstance(key, ast.Constant) else getattr(key, "attr", None)
                if name == "status" or (isinstance(name, str) and _counts(name, value)):
                    found.append(inner.lineno)
        if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "dict":
            found += [inner.lineno for each in inner.keywords if each.arg == "status"]
    return found


def _counts(name: str | None, value: ast.expr) -> bool:
    return name in COUNTED and isinstance(value, ast.BinOp)


@pytest.mark.parametrize(
    "code",
    [
        "c.execute(tasks.update().where(x).values(status='done'))",
        "c.execute(tasks.insert().values({'status': 'done'}))",
        "c.execute(tasks.insert().values(dict(status='done')))",
        "c.execute(tasks.update().values({tasks.c.status: 'done'}))",
        "c.execute(tasks.insert(), [{'id': 1, 'status': 'done'}])",
        "c.execute(sa.text('update tasks set status = :s'), {'s': 1})",
        "c.exec_driver_sql(f'insert into {name} (id, status) values (1, 2)')",
        "c.execute(i.on_conflict_do_update(index_elements=['id'], set_={'status': 'x'}))",
        "c.execute(tasks.update().values(attempts=tasks.c.attempts + 1))",
    ],
)
def test_the_search_finds_what_it_is_for(code: str) -> None:
    assert writes_of_statuses(code) == [1]


def test_nobody_else_writes_a_status_or_counts() -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        if path not in WRITERS
        for line in writes_of_statuses(path.read_text(encoding="utf-8"))
    }
    assert not found, "use touchline.store.statuses: create, move, bump"
