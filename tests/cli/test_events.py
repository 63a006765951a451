"""`touchline events`, run as a person runs it, while other processes write."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import alert, environment, made, started, task_started, touchline, write
from tests.postgres import PostgresServer

from touchline.store.database import Database
from touchline.store.event_search import Wanted, search
from touchline.store.log_tables import events

ROOT = Path(__file__).resolve().parents[2]


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def following(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = started("events", "follow", "--json", *arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def next_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    text = process.stdout.readline()
    assert text, process.stderr.read() if process.stderr else ""
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture
def filled(database_url: str) -> Iterator[tuple[str, Database]]:
    with made(database_url) as database:
        write(
            database, [task_started(1), task_started(2, task="task_2"), alert("half"), task_started(3, source="retry")]
        )
        yield database_url, database


def test_the_list_is_one_json_object_per_line_with_the_documented_fields(filled: tuple[str, Database]) -> None:
    found = lines(touchline("events", "list", "--json", "--database", filled[0]))
    assert [event["seq"] for event in found] == [1, 2, 3, 4]
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    shape = page.split("## Fields")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", shape, re.MULTILINE)) == set(found[0])
    assert found[0]["schema"] == "touchline.event/1"
    assert found[2]["payload"] == {"alert": "alert_1", "severity": "warning", "text": "half"}


def test_the_list_for_people_has_a_line_per_event(filled: tuple[str, Database]) -> None:
    done = touchline("events", "list", "--database", filled[0])
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    shown = done.stdout.splitlines()
    assert len(shown) == 4
    assert re.match(r" +3  \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  alert\.budget +monitor +session_1  .*text=half$", shown[2])


def test_filters(filled: tuple[str, Database]) -> None:
    cases: list[tuple[Wanted, int | None, int, list[int]]] = [
        (Wanted(patterns=("task.*",)), None, 50, [1, 2, 4]),
        (Wanted(patterns=("alert.budget", "lesson.*")), None, 50, [3]),
        (Wanted(sources=("retry", "monitor")), None, 50, [3, 4]),
        (Wanted(task="task_2"), None, 50, [2]),
        (Wanted(session="session_1"), None, 50, [3]),
        (Wanted(build="build_1"), None, 50, [1, 2, 4]),
        (Wanted(), None, 2, [3, 4]),
        (Wanted(), 1, 2, [2, 3]),
        (Wanted(patterns=("task.*",)), 1, 50, [2, 4]),
    ]
    for wanted, after, limit, numbers in cases:
        found = search(filled[1], wanted, after=after, limit=limit)
        assert [event.seq for event in found] == numbers, wanted


def test_the_options_are_the_filters(filled: tuple[str, Database]) -> None:
    def numbers(*options: str) -> list[int]:
        return [
            event["seq"] for event in lines(touchline("events", "list", "--json", "--database", filled[0], *options))
        ]

    assert numbers("--type", "task.*", "--source", "build", "--task", "task_2") == [2]
    assert numbers("--build", "build_1", "--after", "1", "--limit", "1", "--since", "1h") == [2]
    assert numbers("--session", "session_1", "--since", "2026-01-01") == [3]


def test_nothing_that_fits_is_said(filled: tuple[str, Database]) -> None:
    done = touchline("events", "list", "--since", "2199-01-01", "--database", filled[0])
    assert (done.returncode, done.stdout) == (0, "")
    assert "No event fits" in done.stderr


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("list", ("--type", "tsak.*"), "No known event fits"),
        ("follow", ("--type", "tsak.*"), "No known event fits"),
        ("follow", ("--since", "yesterday"), "neither a time nor a span"),
        ("list", ("--limit", "0"), "--limit"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, command: str, options: tuple[str, str], words: str) -> None:
    place = f"sqlite:///{tmp_path / 'app.db'}"
    made(place).close()
    done = touchline("events", command, "--database", place, *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_no_database_and_no_address_are_clear_errors(tmp_path: Path) -> None:
    done = touchline("events", "list", "--database", tmp_path / "app.db")
    assert done.returncode == 2
    assert "touchline db upgrade" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert "A test has no default database" in touchline("events", "follow").stderr


def test_an_event_of_a_newer_touchline_is_a_clear_error(filled: tuple[str, Database]) -> None:
    url, database = filled
    with database.writing() as connection:
        connection.execute(events.update().where(events.c.seq == 2).values(version=9))
    done = touchline("events", "list", "--database", url)
    assert done.returncode == 2
    assert "Event 2" in done.stderr
    assert "Upgrade Touchline" in done.stderr


def test_text_from_agents_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'app.db'}"
    with made(place) as database:
        write(database, [alert("red \x1b[31m and\na second line \u202e")])
    done = touchline("events", "list", "--database", place)
    assert len(done.stdout.splitlines()) == 1
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_follow_shows_what_another_process_writes_each_once_in_order(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [task_started(0)])
        with following("--database", database_url, "--after", "1") as process:
            for number in range(1, 30):
                write(database, [task_started(number) for _ in range(number % 3 + 1)])
            last = write(database, [alert("the end")])[0]
            seen: list[int] = []
            while not seen or seen[-1] != last:
                seen.append(next_line(process)["seq"])
            assert seen == list(range(2, last + 1))


def test_follow_begins_now_filters_and_ends_after_so_many(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [alert("old")])
        options = ("--database", database_url, "--type", "alert.*", "--session", "session_1", "--limit", "2")
        with following(*options) as process:
            # It says nothing when it stands ready: write until it was seen.
            found: list[dict[str, Any]] = []
            while process.poll() is None:
                write(database, [task_started(1), alert("new")])
                time.sleep(0.2)
            assert process.stdout is not None
            found = [json.loads(line) for line in process.stdout]
            assert process.returncode == 0
        assert [event["payload"]["text"] for event in found] == ["new", "new"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_follow_ends_at_a_signal_without_a_traceback(tmp_path: Path, number: signal.Signals, code: int) -> None:
    place = f"sqlite:///{tmp_path / 'app.db'}"
    with made(place) as database:
        write(database, [alert("x")])
        with following("--database", place, "--after", "0") as process:
            assert next_line(process)["seq"] == 1
            process.send_signal(number)
            _, told = process.communicate(timeout=20)
            assert process.returncode == code, told
            assert "Traceback" not in told


def test_follow_survives_a_restart_of_the_server(postgres: PostgresServer) -> None:
    with postgres.fresh() as url, made(url) as database:
        write(database, [alert("before")])
        with following("--database", url, "--after", "0") as process:
            assert next_line(process)["seq"] == 1
            postgres.restart()
            database.engine.dispose()
            write(database, [alert("after")])
            assert next_line(process)["seq"] == 2


def test_follow_tells_what_no_waiting_would_mend(postgres: PostgresServer) -> None:
    """It needs two connections, and gets one: the database answers, and following fails all the same."""
    with postgres.fresh() as url, made(url) as database:
        role = f"narrow_{url.rpartition('/')[2]}"
        with database.writing() as connection:
            connection.exec_driver_sql(f"create role {role} login connection limit 1")
            connection.exec_driver_sql(f"grant all on all tables in schema public to {role}")
        try:
            done = touchline("events", "follow", "--database", url.replace(f"{postgres.user}@", f"{role}@"))
        finally:
            with database.writing() as connection:
                connection.exec_driver_sql(f"drop owned by {role}; drop role {role}")
    assert done.returncode == 2, done.stderr
    assert "too many connections" in done.stderr


def test_a_reader_that_goes_away_ends_the_list_quietly(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'app.db'}"
    with made(place) as database:
        write(database, [alert("x" * 1000) for _ in range(500)])
    process = started("events", "list", "--json", "--limit", "500", "--database", place)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, told = process.communicate(timeout=30)
    assert "Traceback" not in told


def test_lines_are_cut_where_somebody_watches(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'app.db'}"
    with made(place) as database:
        write(database, [alert("long " * 60)])
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "touchline", "events", "list", "--database", place]
    subprocess.run(command, stdout=writer, check=True, env=environment(COLUMNS="80"))
    os.close(writer)
    shown = os.read(reader, 10_000).decode()
    os.close(reader)
    [line] = shown.splitlines()
    assert len(line) == 80
    assert line.endswith("…")
