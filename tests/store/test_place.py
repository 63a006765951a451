"""Where the database is: the address given, the environment, the project, the user; never a person's one in a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from touchline.engine.opening import connect_engine
from touchline.errors import DatabaseUnreachable
from touchline.store.migrate import open_database
from touchline.store.place import VARIABLE, Place, find_place, normalised


def place(tmp_path: Path, *, given: str | None = None, folder: Path | None = None, **env: str) -> Place:
    return find_place(given=given, env=env, folder=folder or tmp_path / "work", home=tmp_path / "home")


def test_the_address_given_wins_over_all_others(tmp_path: Path) -> None:
    (tmp_path / "work" / ".touchline").mkdir(parents=True)
    found = place(tmp_path, given="/data/x.db", TOUCHLINE_DATABASE_URL="postgresql://h/db")
    assert (found.url, found.origin) == ("sqlite:////data/x.db", "given")


def test_then_the_environment_then_the_project_then_the_user(tmp_path: Path) -> None:
    inside = tmp_path / "work" / "src" / "deep"
    inside.mkdir(parents=True)
    found = place(tmp_path, folder=inside, TOUCHLINE_DATABASE_URL="postgres://u@h:5433/db")
    assert (found.url, found.origin) == ("postgresql+psycopg://u@h:5433/db", "environment")
    data = tmp_path / "home" / "Library" / "Application Support" if sys.platform == "darwin" else tmp_path / "xdg"
    found = place(tmp_path, folder=inside, XDG_DATA_HOME=str(tmp_path / "xdg"))
    assert (found.path, found.origin) == (data / "touchline" / "app.db", "user")
    (tmp_path / "work" / ".touchline" / "lessons").mkdir(parents=True)
    found = place(tmp_path, folder=inside, XDG_DATA_HOME=str(tmp_path / "xdg"))
    assert found.origin == "user", "a folder for lessons moves no database into the repository"
    (tmp_path / "work" / ".touchline" / "app.db").touch()
    found = place(tmp_path, folder=inside, XDG_DATA_HOME=str(tmp_path / "xdg"))
    assert (found.path, found.origin) == (tmp_path / "work" / ".touchline" / "app.db", "project")


def test_a_process_that_a_test_started_finds_no_database_of_a_person(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnreachable, match="no default database"):
        place(tmp_path, PYTEST_CURRENT_TEST="test_x (call)")
    assert os.environ.get("PYTEST_CURRENT_TEST")
    code = (
        "import os, pathlib; from touchline.store.place import find_place; "
        "find_place(given=None, env=os.environ, folder=pathlib.Path.cwd(), home=pathlib.Path.home())"
    )
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "DatabaseUnreachable" in done.stderr


def test_the_engine_keeps_its_state_beside_ours(tmp_path: Path) -> None:
    assert place(tmp_path, given="/data/app.db").engine_url == "sqlite:////data/engine.db"
    server = place(tmp_path, given="postgresql://h/db")
    assert server.path is None
    assert server.engine_url == server.url


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("/a/b.db", "sqlite:////a/b.db"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("sqlite:////a/what?/b.db", "sqlite:////a/what?/b.db"),
        ("postgres://u@h/db", "postgresql+psycopg://u@h/db"),
        (
            "postgresql://u:p%40w@[::1]:5433/db?sslmode=require",
            "postgresql+psycopg://u:p%40w@[::1]:5433/db?sslmode=require",
        ),
        ("postgresql+psycopg://h/db", "postgresql+psycopg://h/db"),
        ("postgresql:///db", "postgresql+psycopg:///db"),
    ],
)
def test_addresses_have_one_form_and_it_is_stable(address: str, url: str) -> None:
    assert normalised(address) == url
    assert normalised(url) == url


def test_a_path_may_be_relative_or_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert normalised("data/app.db") == normalised("sqlite:///data/app.db") == f"sqlite:///{tmp_path}/data/app.db"
    assert normalised("~/app.db") == f"sqlite:///{tmp_path}/home/app.db"


SECRET = "4711"


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:4711@h/db",
        "http://h",
        "sqlite://",
        "sqlite:///:memory:",
        "~nobody-of-this-name/app.db",
        "postgresql://u@h:port/db",
        "postgresql://u@h:99999/db",
        "postgresql://u@h:0/db",
        "postgresql://u:x/4711@h/db",
        "postgresql://u:4711/x@h/db",
        "postgresql://u:4711#x@h/db",
        "postgresql://u:4711?x@h/db",
        "postgresql://u:x@4711@h/db",
        "postgresql://u:4711@[::1/db",
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_with_the_next_step_and_without_the_password(address: str) -> None:
    with pytest.raises(DatabaseUnreachable) as caught:
        normalised(address)
    assert caught.value.hint
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:4711@h:5433/db", "postgresql://ann@h:5433/db"),
        ("postgresql://ann@h/db?password=4711", "postgresql://ann@h/db"),
        ("postgresql://:4711@h/db", "postgresql://h/db"),
        ("/a/b.db", "/a/b.db"),
    ],
)
def test_people_see_the_address_without_the_password(address: str, shown: str) -> None:
    assert str(Place(url=normalised(address), origin="given")) == shown


def test_databases_of_one_folder_do_not_share_the_engines_file(tmp_path: Path) -> None:
    places = [Place(url=f"sqlite:///{tmp_path / name}", origin="given") for name in ("app.db", "a.db", "b.db")]
    assert len({place.engine_url for place in places}) == 3
    assert places[0].engine_url.endswith("/engine.db")
    assert all(place.engine_url != place.url for place in places)


def test_the_words_for_a_dump_hold_no_secret(tmp_path: Path) -> None:
    from touchline.store.backup import dump_command, restore_command

    url = "postgresql+psycopg://u:s3cret@h/x?password=t0psecret&sslpassword=abc123"
    for words in (dump_command(url, tmp_path / "a"), restore_command(url, tmp_path / "a")):
        assert not any(secret in words for secret in ("s3cret", "t0psecret", "abc123"))


def test_what_a_new_database_consists_of_is_its_owners_alone(tmp_path: Path) -> None:
    """Agents' words and people's answers stand in it; a wide umask must not show them to everybody."""
    before = os.umask(0o022)
    try:
        where = Place(url=f"sqlite:///{tmp_path / 'data' / 'app.db'}", origin="given")
        with open_database(where.url, purpose="test") as database:
            connect_engine(where).close()
            with database.reading() as connection:
                connection.execute(sa.text("SELECT 1"))
            rights = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    finally:
        os.umask(before)
    assert {"app.db", "app.db-wal", "engine.db"} <= set(rights)
    assert {name: mode for name, mode in rights.items() if mode != 0o600 and not name.endswith(".lock")} == {}
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
