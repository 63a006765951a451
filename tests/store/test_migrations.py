"""The schema is what the migrations make of it, on both databases; upgrades keep data; newer ones are refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from touchline.errors import SchemaError
from touchline.store.database import Database
from touchline.store.migrate import open_database, schema_of, upgrade_schema
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


def test_an_upgrade_keeps_what_is_there(database_url: str) -> None:
    from alembic import command

    from touchline.store.log_tables import meta
    from touchline.store.migrate import _config

    with Database(database_url) as database:
        with database.writing() as connection:
            config = _config(database)
            config.attributes["connection"] = connection
            command.upgrade(config, "0001")
            connection.execute(meta.insert().values(key="kept", value="yes"))
        assert schema_of(database).state == "older"
    with open_database(database_url, purpose="test") as database, database.reading() as connection:
        assert schema_of(database).state == "current"
        assert connection.execute(sa.select(meta.c.value).where(meta.c.key == "kept")).scalar() == "yes"
