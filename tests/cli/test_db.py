"""`touchline db`, run as a person runs it, on real databases of both kinds."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.cli.command import alert, environment, made, said, started, task_started, touchline, write
from tests.postgres import PostgresServer

from touchline.errors import DatabaseUnreachable, InputError
from touchline.sessions.delivering import send
from touchline.store import filesystem
from touchline.store.backup import back_up
from touchline.store.database import Database
from touchline.store.events import last_seq
from touchline.store.log_tables import dead_letters, events, outbox, subscriptions
from touchline.store.migrate import FOLDER, open_database
from touchline.store.outbox import enqueue, send_due
from touchline.store.soundness import check_database
from touchline.store.tables import leases, turns

REVISIONS = sorted(path.name.split("_")[0] for path in (FOLDER / "versions").glob("0*.py"))
COMMANDS = (("status",), ("upgrade",), ("backup", "copy.db"), ("check",), ("vacuum",), ("resend",))
SOURCE = FOLDER.parents[2]
NFS = "/dev/root / ext4 rw 0 0\nserver:/home {point} nfs4 rw 0 0\n"


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'app.db'}"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_test_that_names_no_database_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    done = touchline("db", *command, HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "A test has no default database" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_test_cannot_upgrade_a_persons_database(sqlite_url: str) -> None:
    open_database(sqlite_url, purpose="user").close()
    done = touchline("db", "upgrade", "--database", sqlite_url)
    assert done.returncode == 2
    assert "made for the purpose 'user'" in done.stderr


def test_status_of_no_database_makes_none_and_says_the_next_step(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "app.db"
    done = touchline("db", "status", "--database", place)
    assert done.returncode == 0
    assert "not there yet" in done.stdout
    assert "touchline db upgrade" in done.stderr
    assert said("db", "status", "--database", place)["exists"] is False
    assert list(tmp_path.iterdir()) == []


def test_upgrade_says_what_it_applies_and_dry_run_applies_nothing(database_url: str) -> None:
    dry = touchline("db", "upgrade", "--database", database_url, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert f"would apply {len(REVISIONS)} migrations" in dry.stdout
    assert said("db", "status", "--database", database_url).get("state", "empty") == "empty"
    done = said("db", "upgrade", "--database", database_url)
    assert done["applied"] == REVISIONS
    again = touchline("db", "upgrade", "--database", database_url)
    assert f"is up to date (revision {REVISIONS[-1]})" in again.stdout


def test_status_tells_where_and_how_the_database_stands(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [task_started(n) for n in range(1, 4)])
    found = said("db", "status", "--database", database_url)
    assert found["schema"] == "touchline.database/1"
    assert (found["origin"], found["exists"], found["state"]) == ("given", True, "current")
    assert (found["events"], found["newest_seq"], found["pending"], found["purpose"]) == (3, 3, [], "test")
    assert found["oldest"] <= found["newest"]
    assert "T" in found["newest"]
    assert (found["revision"], found["newest_revision"]) == (REVISIONS[-1], REVISIONS[-1])
    assert found["size"] > 10_000
    if database_url.startswith("sqlite"):
        assert found["journal_mode"] == "wal"
        assert found["free"] > 0
    else:
        assert int(found["version"].split(".")[0]) >= 13
    shown = touchline("db", "status", "--database", database_url).stdout
    assert "named by --database" in shown
    assert "newest number 3" in shown
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []


def test_status_finds_the_place_by_the_environment_and_hides_the_password(postgres: PostgresServer) -> None:
    with postgres.fresh() as url:
        address = url.replace(f"{postgres.user}@", f"{postgres.user}:s3cret@")
        done = touchline("db", "status", TOUCHLINE_DATABASE_URL=address)
        assert done.returncode == 0, done.stderr
        assert "named by TOUCHLINE_DATABASE_URL" in done.stdout
        wrong = touchline("db", "status", "--database", address.replace("127.0.0.1", "127.0.0.1:1/x?x="))
        for text in (done.stdout, done.stderr, wrong.stdout, wrong.stderr):
            assert "s3cret" not in text


def test_looking_at_somebody_elses_file_leaves_it_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("create table customers (id integer)")
    connection.close()
    before = other.read_bytes()
    assert said("db", "status", "--database", other)["state"] == "foreign"
    for command in (("upgrade",), ("check",), ("vacuum",), ("backup", str(tmp_path / "copy.db"))):
        done = touchline("db", *command, "--database", other)
        assert done.returncode == 2, command
        assert "not Touchline's" in done.stderr
    assert other.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.db"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "answers"),
        ("mysql://x/y", "not known"),
        ("/dev/null/app.db", "cannot be made"),
    ],
)
def test_a_wrong_address_is_a_clear_error(address: str, words: str) -> None:
    done = touchline("db", "upgrade", "--database", address)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) >= 2, "no next step"


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "app.db").write_text("Dear diary, this is not a database at all. " * 40)
    done = touchline("db", "status", "--database", tmp_path / "app.db")
    assert done.returncode == 2
    assert "no SQLite database" in done.stderr
    found = said("db", "check", "--database", tmp_path / "app.db", code=1)
    assert found["checks"] == [
        {"id": "file", "result": "problem", "found": found["checks"][0]["found"], "fix": found["checks"][0]["fix"]}
    ]


def test_a_backup_is_consistent_while_another_process_writes(sqlite_url: str, tmp_path: Path) -> None:
    """Every transaction writes ten events: a copy that holds a part of one would show."""
    with made(sqlite_url) as database:
        ended = threading.Event()

        def keep_writing() -> None:
            while not ended.is_set():
                write(database, [task_started(n) for n in range(10)])

        writer = threading.Thread(target=keep_writing)
        writer.start()
        try:
            for number in range(2):
                done = touchline("db", "backup", tmp_path / f"copy{number}.db", "--database", sqlite_url)
                assert done.returncode == 0, done.stderr
        finally:
            ended.set()
            writer.join()
    for number in range(2):
        with Database(f"sqlite:///{tmp_path / f'copy{number}.db'}", only_look=True) as copy:
            assert {one.result for one in check_database(copy)} == {"ok"}
            count = last_seq(copy)
        assert count % 10 == 0
        assert count > 0
    assert not list(tmp_path.glob(".*"))


def test_a_backup_takes_the_engines_file_along_and_can_be_restored(sqlite_url: str, tmp_path: Path) -> None:
    with made(sqlite_url) as database:
        write(database, [task_started(1)])
    with sqlite3.connect(tmp_path / "engine.db") as engine:
        engine.execute("create table workflow (id text)")
    engine.close()
    (tmp_path / "safe").mkdir()
    copies = said("db", "backup", tmp_path / "safe" / "monday.db", "--database", sqlite_url)["copies"]
    assert {Path(each["file"]).stat().st_mode & 0o777 for each in copies} == {0o600}, "as private as what it copies"
    assert [Path(copy["file"]).name for copy in copies] == ["monday.engine.db", "monday.db"]
    restored = tmp_path / "new" / "app.db"
    restored.parent.mkdir()
    (tmp_path / "safe" / "monday.db").rename(restored)
    with made(f"sqlite:///{restored}") as database:
        assert write(database, [task_started(2)]) == [2]


def test_a_backup_overwrites_nothing_by_itself(sqlite_url: str, tmp_path: Path) -> None:
    made(sqlite_url).close()
    target = tmp_path / "copy.db"
    target.write_text("precious")
    done = touchline("db", "backup", target, "--database", sqlite_url)
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert target.read_text() == "precious"
    for wrong in (file_of(sqlite_url), tmp_path, tmp_path / "none" / "copy.db"):
        with pytest.raises(InputError):
            back_up(file_of(sqlite_url), wrong, overwrite=True)
    assert touchline("db", "backup", target, "--database", sqlite_url, "--force").returncode == 0
    assert target.read_bytes().startswith(b"SQLite format 3")


def test_a_backup_of_postgresql_names_the_command_and_the_command_works(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with postgres.fresh() as url:
        with made(url) as database:
            write(database, [task_started(1)])
        target = tmp_path / "copy.dump"
        done = touchline("db", "backup", target, "--database", url.replace("@", ":s3cret@"))
        assert done.returncode == 2
        assert "s3cret" not in done.stderr
        command = next(line.removeprefix("Copy:").strip() for line in done.stderr.splitlines() if "pg_dump" in line)
        path = f"{postgres.binaries}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(command, shell=True, check=True, env={**os.environ, "PATH": path})
        assert target.stat().st_size > 1000


def test_a_sound_database_passes_every_check(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [task_started(1), alert("half the budget")])
    found = said("db", "check", "--database", database_url)
    assert found["sound"] is True
    assert {one["result"] for one in found["checks"]} == {"ok"}
    assert {"schema", "references", "log", "events", "causes", "cursors", "dead_letters"} <= {
        one["id"] for one in found["checks"]
    }
    assert "checks passed" in touchline("db", "check", "--database", database_url).stdout


def _gap(connection: sa.Connection) -> None:
    connection.execute(events.delete().where(events.c.seq == 2))


def _payload(connection: sa.Connection) -> None:
    connection.execute(events.update().where(events.c.seq == 2).values(payload="{broken"))


def _newer(connection: sa.Connection) -> None:
    connection.execute(events.update().where(events.c.seq == 3).values(version=99))


def _cause(connection: sa.Connection) -> None:
    connection.execute(events.update().where(events.c.seq == 2).values(cause=3))


def _cursor(connection: sa.Connection) -> None:
    at = connection.execute(sa.select(events.c.at).limit(1)).scalar_one()
    connection.execute(subscriptions.insert().values(name="web", patterns=["*"], sources=[], cursor=99, updated_at=at))


@pytest.mark.parametrize(
    ("harm", "check", "words"),
    [
        (_gap, "log", "missing between 1 and 3"),
        (_payload, "events", "Event 2"),
        (_newer, "events", "version 99 is newer"),
        (_cause, "causes", "2 names 3"),
        (_cursor, "cursors", "web at 99"),
    ],
)
def test_what_is_wrong_is_found(sqlite_url: str, harm: Callable[[sa.Connection], None], check: str, words: str) -> None:
    with made(sqlite_url) as database:
        write(database, [task_started(n) for n in range(1, 4)])
        with database.writing() as connection:
            harm(connection)
    with Database(sqlite_url, only_look=True) as database:
        wrong = {one.id: one for one in check_database(database) if one.result == "problem"}
    assert set(wrong) == {check}
    assert words in wrong[check].found
    assert wrong[check].fix


def test_all_that_is_wrong_is_said_and_ends_with_exit_code_1(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [task_started(n) for n in range(1, 6)])
        with database.writing() as connection:
            _newer(connection)
            _cursor(connection)
            _gap(connection)
            connection.execute(events.update().where(events.c.seq == 4).values(cause=5))
    found = said("db", "check", "--database", database_url, code=1)
    assert found["sound"] is False
    wrong = {one["id"] for one in found["checks"] if one["result"] == "problem"}
    assert wrong == {"log", "events", "causes", "cursors"}
    shown = touchline("db", "check", "--database", database_url)
    assert shown.returncode == 1
    assert "4 problems" in shown.stdout
    assert "Restore a backup" in shown.stdout


def test_left_overs_are_warnings(database_url: str) -> None:
    with made(database_url) as database:
        [seq] = write(database, [task_started(1)])
        with database.writing() as connection:
            at = connection.execute(sa.select(events.c.at)).scalar_one()
            connection.execute(
                dead_letters.insert().values(id="d1", subscription="gone", seq=seq, failures=5, reason="x", at=at)
            )
            connection.execute(
                leases.insert().values(resource="a.py", holder="h", token=1, granted_at=at, expires_at=at)
            )
    with Database(database_url, only_look=True) as database:
        found = list(check_database(database))
    assert {one.id for one in found if one.result == "warning"} == {"dead_letters", "left_over"}
    assert not [one for one in found if one.result == "problem"]


def test_orphans_in_sqlite_are_found(sqlite_url: str) -> None:
    made(sqlite_url).close()
    with sqlite3.connect(file_of(sqlite_url)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("insert into turns (id, session_id, started_at) values ('t', 'nobody', '2026-01-01')")
    connection.close()
    with Database(sqlite_url, only_look=True) as database:
        [wrong] = [one for one in check_database(database) if one.result == "problem"]
    assert wrong.id == "references"
    assert turns.name in wrong.found


def test_a_missing_table_is_found(sqlite_url: str) -> None:
    made(sqlite_url).close()
    with sqlite3.connect(file_of(sqlite_url)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("drop table metrics")
    connection.close()
    with Database(sqlite_url, only_look=True) as database:
        assert "metrics" in next(one.found for one in check_database(database) if one.id == "schema")


def test_damage_in_the_middle_of_the_file_is_found(sqlite_url: str) -> None:
    with made(sqlite_url) as database:
        write(database, [alert("x" * 900) for _ in range(400)])
    path = file_of(sqlite_url)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(path.read_bytes())
    middle = len(content) * 3 // 4 // 4096 * 4096
    content[middle : middle + 4096] = b"\x5a" * 4096
    path.write_bytes(content)
    done = touchline("db", "check", "--database", sqlite_url)
    assert done.returncode == 1
    assert "Restore a backup" in done.stdout
    assert touchline("db", "backup", path.with_name("copy.db"), "--database", sqlite_url).returncode == 2
    assert not path.with_name("copy.db").exists()


def test_what_was_given_up_is_told_and_sent_again(database_url: str, tmp_path: Path) -> None:
    result = tmp_path / "there" / "result.json"
    with made(database_url) as database:
        with database.writing() as connection:
            enqueue(connection, key="run/1", channel="file", destination=str(result), body={"a": 1})
        (tmp_path / "there").write_text("in the way")
        send_due(database, send, worker="w", max_attempts=1)
    (told,) = [one for one in said("db", "check", "--database", database_url)["checks"] if one["id"] == "outbox"]
    assert (told["result"], told["fix"]) == ("warning", "touchline db resend")
    assert "run/1" in told["found"]
    again = said("db", "resend", "--database", database_url, code=1)
    assert (again["sent"], again["failed"]) == (0, 1)
    (tmp_path / "there").unlink()
    with made(database_url) as database, database.writing() as connection:
        connection.execute(outbox.update().values(status="failed"))
    assert touchline("db", "resend", "run/2", "--database", database_url).returncode == 2
    assert touchline("db", "resend", "run/1", "--database", database_url).stdout == "1 sent.\n"
    assert json.loads(result.read_text())["a"] == 1
    assert touchline("db", "resend", "--database", database_url).stdout == "Nothing was given up.\n"


def test_vacuum_says_what_was_freed(database_url: str) -> None:
    with made(database_url) as database:
        write(database, [alert("x" * 3000) for _ in range(500)])
        with database.writing() as connection:
            connection.execute(events.delete())
    [done] = said("db", "vacuum", "--database", database_url)["done"]
    assert done["before"] > 1_000_000
    if database_url.startswith("sqlite"):
        assert done["after"] < done["before"] / 2
        assert "nothing to free" in touchline("db", "vacuum", "--database", database_url).stdout
    with Database(database_url, only_look=True) as database:
        assert not [one for one in check_database(database) if one.result == "problem"]


def test_vacuum_gives_up_kindly_when_the_file_is_in_use(sqlite_url: str) -> None:
    made(sqlite_url).close()
    with sqlite3.connect(file_of(sqlite_url), isolation_level=None) as connection:
        connection.execute("BEGIN IMMEDIATE")
        done = touchline("db", "vacuum", "--database", sqlite_url)
    connection.close()
    assert done.returncode == 2
    assert "in use" in done.stderr


def test_a_newer_database_is_refused_but_can_be_looked_at_and_copied(sqlite_url: str, tmp_path: Path) -> None:
    with made(sqlite_url) as database, database.writing() as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    assert said("db", "status", "--database", sqlite_url)["state"] == "newer"
    done = touchline("db", "upgrade", "--database", sqlite_url)
    assert done.returncode == 2
    assert "Upgrade Touchline" in done.stderr
    assert touchline("db", "backup", tmp_path / "copy.db", "--database", sqlite_url).returncode == 0


def test_two_upgrades_at_once_both_succeed(database_url: str) -> None:
    running = [started("db", "upgrade", "--database", database_url) for _ in range(2)]
    for process in running:
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told


def test_sqlite_on_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(NFS.format(point=tmp_path / "shared"))
    monkeypatch.setattr(filesystem, "MOUNTS", mounts)
    place = tmp_path / "shared" / "deep" / "app.db"
    for only_look in (False, True):
        with pytest.raises(DatabaseUnreachable, match=r"network file system \(nfs4"):
            Database(f"sqlite:///{place}", only_look=only_look)
    with pytest.raises(DatabaseUnreachable, match="network"):
        open_database(f"sqlite:///{place}", purpose="test")
    assert not place.parent.exists()
    made(f"sqlite:///{tmp_path / 'app.db'}").close()


def test_the_command_refuses_a_network_file_system(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(NFS.format(point=tmp_path / "shared"))
    code = (
        "import pathlib, sys, touchline.store.filesystem as f; f.MOUNTS = pathlib.Path(sys.argv.pop(1)); "
        "from touchline.__main__ import main; main()"
    )
    command = [
        sys.executable,
        "-c",
        code,
        str(mounts),
        "db",
        "upgrade",
        "--database",
        str(tmp_path / "shared" / "a.db"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2
    assert "nfs4" in done.stderr
    assert "PostgreSQL" in done.stderr
    assert not (tmp_path / "shared").exists()


@pytest.mark.parametrize(
    ("mounts", "path", "kind"),
    [
        ("a / ext4 rw 0 0\nb /data nfs rw 0 0", "/data/x/app.db", "nfs"),
        ("a / ext4 rw 0 0\nb /data nfs rw 0 0", "/database/app.db", "ext4"),
        ("a / ext4 rw 0 0\nb /data nfs rw 0 0\nc /data/local xfs rw 0 0", "/data/local/app.db", "xfs"),
        ("a / nfs rw 0 0\na / ext4 rw 0 0", "/app.db", "ext4"),
        ("a / ext4 rw 0 0\n//s/x /my\\040share cifs rw 0 0", "/my share/app.db", "cifs"),
        ("a / ext4 rw 0 0\nme@host: /remote fuse.sshfs rw 0 0", "/remote/app.db", "fuse.sshfs"),
        ("a / ext4 rw 0 0\nC: /mnt/c 9p rw 0 0", "/mnt/c/app.db", "9p"),
        ("\nbroken\n", "/app.db", None),
    ],
)
def test_the_file_system_of_a_path_is_told_from_the_mounts(mounts: str, path: str, kind: str | None) -> None:
    mount = filesystem.mount_of(Path(path), mounts)
    assert (mount.kind if mount else None) == kind
    assert (mount is not None and mount.network) == (kind in {"nfs", "cifs", "fuse.sshfs", "9p"})


def test_without_the_engine_packages_it_says_what_to_install(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "gone" / "sqlalchemy").mkdir(parents=True)
    (tmp_path / "gone" / "sqlalchemy" / "__init__.py").write_text(
        "raise ModuleNotFoundError('gone', name='sqlalchemy')"
    )
    for command in (("db", "upgrade"), ("db", "check"), ("events", "list")):
        done = touchline(*command, "--database", sqlite_url, PYTHONPATH=f"{tmp_path / 'gone'}:{SOURCE}")
        assert done.returncode == 2, done.stderr
        assert "pipx install --force ." in done.stderr
