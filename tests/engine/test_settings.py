"""The engine's connections to PostgreSQL: what the address says holds, and no transaction is forgotten for ever."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.postgres import PostgresServer

from touchline.engine.dbos_settings import connect
from touchline.store.place import Place

IDLE = "idle_in_transaction_session_timeout"


def settings(url: str) -> tuple[str, str]:
    """The schemas that are searched, and how long a transaction may be idle, on two connections in a row."""
    pool = connect(Place(url=url, origin="given"))
    found = set()
    for _ in range(2):
        with pool.connect() as connection:
            shown = (connection.execute(sa.text(f"show {name}")).scalar_one() for name in ("search_path", IDLE))
            found.add(tuple(shown))
    pool.dispose()
    [(path, idle)] = found
    return path, idle


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ('"$user", public', "1min")),
        ("?options=-csearch_path%3Dteam", ("team", "1min")),
        (f"?options=-csearch_path%3Dteam%20-c{IDLE}%3D5000", ("team", "5s")),
    ],
)
def test_the_options_of_the_address_hold(postgres: PostgresServer, options: str, expected: tuple[str, str]) -> None:
    assert settings(postgres.url() + options) == expected


def test_the_options_of_the_environment_hold(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-csearch_path=mine")
    assert settings(postgres.url()) == ("mine", "1min")
