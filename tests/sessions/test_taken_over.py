"""A process that runs sessions takes over from a dead one whole: the dead one's leases are given back, too."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.sessions.house import opened

from touchline.coordination.leases import Granted, acquire, all_leases, in_process
from touchline.engine.executors import announce, leave
from touchline.store.migrate import open_database
from touchline.store.place import Place
from touchline.store.tables import heartbeats


@pytest.mark.timeout(90)
def test_what_a_dead_process_held_is_given_back(database_url: str, tmp_path: Path) -> None:
    place = Place(url=database_url, origin="given")
    name = "local" if place.path is not None else "dead.1.abc"
    with open_database(database_url, purpose="test") as database:
        if place.path is None:
            with database.writing() as connection:
                announce(connection, name)
                leave(connection, name, unfinished=1)
        assert isinstance(acquire(database, holder=in_process(name, "x"), resources=["file:a.py"]), Granted)
    with opened(tmp_path / "house", place=place) as house:
        until = time.monotonic() + 30
        while True:
            with house.database.reading() as connection:
                rows = set(connection.execute(sa.select(heartbeats.c.component)).scalars())
                left = [lease.holder for lease in all_leases(connection)]
            if f"executor:{name}" not in rows:
                break
            assert time.monotonic() < until, "it is not taken over"
            time.sleep(0.1)
        assert left == []
