"""`touchline doctor`: what it finds, what it says to do, and that it changes nothing."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.cli.command import alert, environment, made, said, touchline, write

from touchline.__main__ import _OURS
from touchline.cli.checks import Group, check_group, check_programs, check_sqlite, groups
from touchline.cli.database_checks import (
    check_clock,
    check_disk,
    check_filesystem,
    check_place,
    check_rights,
    check_server,
)
from touchline.store.place import Place

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def by_id(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {one["id"]: one for one in found["checks"]}


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.id)
def test_missing_packages_are_installed_by_what_there_is(group: Group) -> None:
    there = check_group(group)
    assert (there.id, there.result, there.fix) == (group.id, "ok", "")
    missing = check_group(replace(group, packages=("no-such-package",)))
    assert missing.result == "warning"
    extra = re.search(r"install '\.\[(\w+)\]'", missing.fix)
    assert declared(extra[1] if extra else "") >= set(group.packages), f"{missing.fix} would not bring them"
    assert check_group(replace(group, packages=())).result == "warning", "nothing is known, so nothing is well"


def declared(extra: str = "") -> set[str]:
    """What pyproject.toml says is needed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {re.split(r"[^\w.-]", each)[0].replace(".", "-") for each in lines}


def test_every_package_that_is_needed_is_looked_at_and_told() -> None:
    looked = {package for group in groups() if not group.extra for package in group.packages}
    assert looked == declared()
    told = json.loads(touchline("--version", "--json").stdout)["packages"]
    assert set(told) == declared() | declared("fast") | declared("models")
    imported = {{"ruamel-yaml": "ruamel"}.get(each, each.replace("-", "_")) for each in declared()}
    assert imported == set(_OURS), "and each that is missing is told in words"


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_good_machine_has_no_problem(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [alert("x")])
    found = said("doctor", "--database", database_url)
    checks = by_id(found)
    assert (found["schema"], found["ok"]) == ("touchline.doctor/1", True)
    for each in ("python", "touchline", "packages.cli", "packages.engine", "sqlite", "database", "clock", "git"):
        assert checks[each]["result"] == "ok", checks[each]
    if database_url.startswith("sqlite"):
        assert {"filesystem", "disk", "rights"} <= set(checks)
    else:
        assert checks["postgresql"]["result"] == "ok"
    assert all(one["fix"] for one in found["checks"] if one["result"] != "ok")


def test_every_check_is_documented(database_url: str) -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    for each in by_id(said("doctor", "--database", database_url)):
        assert re.search(rf"^\| `{re.escape(each)}`", page, re.MULTILINE), each


def test_the_text_names_the_fix_and_the_count(tmp_path: Path) -> None:
    done = touchline("doctor", "--database", tmp_path / "app.db", PATH="/nowhere")
    assert done.returncode == 0, done.stdout
    told = " ".join(done.stdout.split())
    assert "is not there yet" in told
    assert "→ Make it with: touchline db upgrade" in told
    assert re.search(r"0 problems, \d+ warnings in \d+ checks", told)
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_used_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "app.db").write_text("no database " * 100)
    found = said("doctor", "--database", tmp_path / "app.db", code=1)
    assert found["ok"] is False
    assert by_id(found)["database"]["result"] == "problem"
    assert by_id(said("doctor", code=1))["database"]["found"] == "A test has no default database."
    away = by_id(said("doctor", "--database", "postgresql://nobody@127.0.0.1:1/none", code=1))
    assert "127.0.0.1" in away["database"]["found"]


@pytest.mark.parametrize(
    ("change", "result", "words"),
    [
        ("update alembic_version set version_num = '0001'", "warning", "pending migrations: 0002"),
        ("update alembic_version set version_num = '9999'", "problem", "newer Touchline"),
        ("drop table alembic_version", "problem", "not Touchline's"),
    ],
)
def test_the_state_of_the_schema_is_told(database_url: str, change: str, result: str, words: str) -> None:
    with made(database_url) as database, database.writing() as connection:
        connection.execute(sa.text(change))
    checks = {one.id: one for one in check_place(Place(url=database_url, origin="given"))}
    assert checks["database"].result == result
    assert words in checks["database"].found


def test_the_file_system_is_told_from_the_mounts(tmp_path: Path) -> None:
    listed = f"/dev/root / ext4 rw 0 0\nhost:/x {tmp_path} nfs rw 0 0\n"
    assert check_filesystem(tmp_path / "app.db", listed).result == "problem"
    assert check_filesystem(Path("/var/app.db"), listed).result == "ok"
    assert check_filesystem(tmp_path / "app.db", "").result == "warning"
    # A database there is not even looked at.
    (tmp_path / "app.db").write_text("not to be opened")
    found = list(check_place(Place(url=f"sqlite:///{tmp_path / 'app.db'}", origin="given"), mounts=listed))
    assert "database" not in {one.id for one in found}


@pytest.mark.parametrize(("free", "result"), [(5 << 30, "ok"), (900 << 20, "warning"), (99 << 20, "problem")])
def test_the_disk(tmp_path: Path, free: int, result: str) -> None:
    assert check_disk(tmp_path / "not" / "there" / "app.db", free).result == result


@pytest.mark.parametrize(
    ("newest", "server", "result"),
    [
        (None, None, "ok"),
        (NOW - timedelta(days=3), NOW + timedelta(seconds=2), "ok"),
        (NOW + timedelta(hours=1), None, "warning"),
        (None, NOW - timedelta(minutes=2), "problem"),
    ],
)
def test_the_clock(newest: datetime | None, server: datetime | None, result: str) -> None:
    assert check_clock(NOW, newest, server).result == result


def test_a_clock_from_before_this_program_is_a_problem(tmp_path: Path) -> None:
    place = Place(url=f"sqlite:///{tmp_path / 'app.db'}", origin="given")
    found = {one.id: one for one in check_place(place, now=datetime(1970, 1, 1, tzinfo=UTC))}
    assert found["clock"].result == "problem"


@pytest.mark.parametrize(
    ("version", "result"), [("12.9", "problem"), ("13.1", "ok"), ("18beta1", "ok"), ("", "problem")]
)
def test_the_version_of_the_server(version: str, result: str) -> None:
    assert check_server(version).result == result


@pytest.mark.parametrize(("version", "result"), [("3.34.1", "problem"), ("3.35.0", "ok"), ("3.50.2", "ok")])
def test_the_version_of_sqlite(version: str, result: str) -> None:
    assert check_sqlite(version).result == result


@pytest.mark.skipif(os.geteuid() != 0, reason="as somebody else: needs root")
def test_a_folder_without_the_right_to_write_is_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        os.write(writer, check_rights(folder / "app.db").result.encode())
        os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    said_by_child = os.read(reader, 100).decode()
    os.close(reader)
    assert said_by_child == "problem"
    assert check_rights(tmp_path / "app.db").result == "ok"


def test_programs_are_asked_for_their_version_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    program(folder, "claude", 'echo "$@" >> "$0.asked"; echo "2.1.0 (Claude Code)"')
    program(folder, "codex", "exit 3")
    program(folder, "opencode", "printf '1.0 \\033[31mred\\nsecond'")
    found = {one.id: one for one in check_programs(f"{folder}:/usr/bin:/bin")}
    assert found["agent.claude"].result == "ok"
    assert found["agent.claude"].found.startswith("2.1.0 (Claude Code)")
    assert (folder / "claude.asked").read_text() == "--version\n"
    assert found["agent.codex"].result == "warning"
    assert "exit code 3" in found["agent.codex"].found
    assert "\x1b" not in found["agent.opencode"].found
    assert "agent.gemini" not in found
    assert "agents" not in found


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchline.cli.checks.ANSWER_SECONDS", 0.5)
    program(tmp_path / "bin", "gemini", 'sleep 600 & echo $! > "$0.child"; sleep 600')
    found = {one.id: one for one in check_programs(f"{tmp_path / 'bin'}:/usr/bin:/bin")}
    assert found["agent.gemini"].result == "warning"
    child = int((tmp_path / "bin" / "gemini.child").read_text())
    patience = time.monotonic() + 10
    while _alive(child) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not _alive(child)


def test_no_program_at_all_is_a_warning() -> None:
    found = {one.id: one for one in check_programs("/nowhere")}
    assert {found[each].result for each in ("git", "bwrap", "agents")} == {"warning"}


def test_without_the_engine_packages_it_still_works_and_says_what_to_install(tmp_path: Path) -> None:
    place = tmp_path / "app.db"
    made(f"sqlite:///{place}").close()
    # A Python that has the command line's packages and no others.
    code = (
        "import importlib.metadata as m, sys\n"
        "gone = {'sqlalchemy', 'alembic', 'dbos', 'psycopg', 'orjson'}\n"
        "sys.modules.update(dict.fromkeys(gone))\n"
        "version = m.version\n"
        "def told(name):\n"
        "    if name in gone: raise m.PackageNotFoundError(name)\n"
        "    return version(name)\n"
        "m.version = told\n"
        "from touchline.__main__ import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", "--database", str(place)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())  # long lines wrap
    assert "pipx install --force . " in words
    assert "pipx install --force '.[fast]'" in words
    assert "was not looked at" in " ".join(done.stdout.split())  # a long path wraps the line
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []


def test_doctor_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "other.db"
    with sqlite3.connect(place) as connection:
        connection.execute("create table customers (id integer)")
    connection.close()
    before = place.read_bytes()
    said("doctor", "--database", place, code=1)
    assert place.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["other.db"]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
