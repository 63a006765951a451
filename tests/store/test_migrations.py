"""The schema is what the migrations make of it, on both databases; upgrades keep data; newer ones are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from touchline.errors import SchemaError
from touchline.store.database import Database
from touchline.store.migrate import FOLDER, _config, open_database, schema_of, upgrade_schema
from touchline.store.tables import metadata


def test_all_migrations_applied_give_the_schema_in_the_code(database_url: str) -> None:
    with open_database(database_url, purpose="test") as database, database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"target_metadata": metadata, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_new_database_is_empty_then_current(database_url: str) -> None:
    with Database(database_url) as database:
        assert schema_of(database).state == "empty"
        assert upgrade_schema(database).state == "current"
        assert upgrade_schema(database).state == "current"


def test_a_newer_database_is_refused_and_left_alone(database_url: str) -> None:
    with open_database(database_url, purpose="test") as database, database.writing() as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    with pytest.raises(SchemaError, match="newer Touchline"):
        open_database(database_url, purpose="test")


def test_a_database_of_somebody_else_is_refused(database_url: str) -> None:
    with Database(database_url) as database, database.writing() as connection:
        connection.execute(sa.text("create table customers (id integer)"))
    with pytest.raises(SchemaError, match="not Touchline's"):
        open_database(database_url, purpose="test")


def test_a_test_cannot_open_a_persons_database_nor_the_other_way_round(database_url: str) -> None:
    open_database(database_url, purpose="user").close()
    with pytest.raises(SchemaError, match="purpose"):
        open_database(database_url, purpose="test")


def test_many_processes_may_start_on_an_empty_database_at_once(database_url: str) -> None:
    code = f"from touchline.store.migrate import open_database; open_database({database_url!r}, purpose='test').close()"
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)]
    for process in running:
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr.decode()


def test_a_writer_that_fails_leaves_nothing(database_url: str) -> None:
    from touchline.store.log_tables import meta

    with open_database(database_url, purpose="test") as database:

        def half() -> None:
            with database.writing() as connection:
                connection.execute(meta.insert().values(key="half", value="x"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            half()
        with database.reading() as connection:
            assert connection.execute(sa.select(meta.c.key)).scalars().all() == ["purpose"]


def test_the_migrations_are_part_of_the_package() -> None:
    import touchline.store

    assert list((Path(touchline.store.__file__).parent / "migrations" / "versions").glob("0*.py"))


REVISIONS = sorted(path.name.partition("_")[0] for path in (FOLDER / "versions").glob("0*.py"))
Rows = dict[str, dict[str, object]]


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_upgrade_keeps_what_is_there(database_url: str, revision: str) -> None:
    """A row in every table that there was at a revision, with a value in every column, is the same at the newest."""
    with Database(database_url) as database:
        with database.writing() as connection:
            config = _config(database)
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        with database.writing() as connection:
            before = filled(connection)
        assert len(before) > 5
        assert schema_of(database).state == ("current" if revision == REVISIONS[-1] else "older")
    with open_database(database_url, purpose="test") as database, database.reading() as connection:
        assert schema_of(database).state == "current"
        after = metadata_of(connection).tables
        for name, row in before.items():
            found = connection.execute(sa.select(*(after[name].c[column] for column in row))).mappings().all()
            assert row in [dict(each) for each in found], f"{name}: its row of revision {revision} is gone or changed"


def filled(connection: sa.Connection) -> Rows:
    """One row in each table, by the tables that are there; parents before their children."""
    rows: Rows = {}
    for table in metadata_of(connection).sorted_tables:
        row: dict[str, object] = {}
        for column in table.columns:
            parent = next((key.column for key in column.foreign_keys), None)
            if parent is None:
                row[column.name] = sample(table.name, column)
            elif parent.table.name in rows:
                row[column.name] = rows[parent.table.name][parent.name]
            else:
                assert column.nullable, f"{column}: no row to refer to yet"
        connection.execute(table.insert().values(row))
        rows[table.name] = row
    return rows


def metadata_of(connection: sa.Connection) -> sa.MetaData:
    """The tables as the database has them, not as the code does."""
    found = sa.MetaData()
    found.reflect(connection, only=lambda name, _: name != "alembic_version")
    return found


def sample(table: str, column: sa.Column[object]) -> object:
    kind = column.type
    if table == "meta":
        return "test" if column.name == "value" else "purpose"  # another purpose would not be opened
    if isinstance(kind, sa.Boolean):
        return True
    if isinstance(kind, sa.Integer):
        return 1
    if isinstance(kind, sa.Numeric | sa.Float):
        return 0.5
    assert isinstance(kind, sa.String), f"{column}: no sample of {kind!r}"
    if kind.length is None:
        return json.dumps(f"{table}.{column.name}")  # some of these hold JSON
    return f"{table}.{column.name}"[: kind.length]
