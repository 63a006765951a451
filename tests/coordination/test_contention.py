"""Many at once, and some of them dead: never two holders, never a stale write, and what the dead held comes free."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.coordination.test_leases import denied, granted, held
from tests.coordination.test_waits import until

from touchline.coordination.leases import Granted, acquire, check_token, expire, release
from touchline.coordination.section import enter
from touchline.coordination.waiting import wait_for
from touchline.errors import LeaseError
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.events import read

RESOURCES = [f"file:{letter}.py" for letter in "abcdef"]


def together(work: Callable[[int], None], count: int = 8) -> None:
    """Run it in that many threads; the first failure is raised."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


def test_no_resource_ever_has_two_holders(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("create table in_use (resource varchar(80) primary key, holder varchar(80))"))
    tokens: list[int] = []

    def work(number: int) -> None:
        chance = random.Random(number)
        me = f"agent{number}"
        for _ in range(12):
            wanted = chance.sample(RESOURCES, 2)
            answer = wait_for(database, holder=me, resources=wanted, timeout=60, priority=chance.randrange(2))
            assert isinstance(answer, Granted)
            tokens.append(answer.token)
            rows = [{"r": each, "h": me} for each in wanted]
            with database.writing() as connection:
                # Its primary key refuses a second holder.
                connection.execute(sa.text("insert into in_use values (:r, :h)"), rows)
            with database.writing() as connection:
                connection.execute(sa.text("delete from in_use where holder = :h"), {"h": me})
            release(database, holder=me, token=answer.token)

    together(work)
    assert len(tokens) == len(set(tokens)) == 8 * 12
    assert held(database) == {}
    with database.reading() as connection:
        assert connection.execute(sa.text("select count(*) from waits")).scalar() == 0
    _check_log(database)


def _check_log(database: Database) -> None:
    """By the log alone: a grant only of what is free, an end only of what is held, with the token of the grant."""
    having: dict[str, tuple[str, int]] = {}
    last = 0
    for event in read(database, patterns=["lock.granted", "lock.released", "lock.expired"], limit=10_000):
        said = event.payload
        mine = (said["holder"], said["token"])
        if event.type == "lock.granted":
            before = having.get(said["resource"])
            assert before is None or before[0] == said["holder"], event
            assert said["token"] >= last, event
            last = said["token"]
            having[said["resource"]] = mine
        else:
            assert having.pop(said["resource"]) == mine, event
    assert having == {}


def test_a_holder_that_sleeps_past_its_lease_never_writes_again(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("create table written (token bigint, at varchar(40))"))
    outcomes: list[str] = []

    def work(number: int) -> None:
        chance = random.Random(number)
        for _ in range(10):
            answer = acquire(database, holder=f"agent{number}", resources=["file:x.py"], seconds=0.05)
            if not isinstance(answer, Granted):
                outcomes.append("denied")
                time.sleep(0.01)
                continue
            time.sleep(chance.choice([0, 0.12]))
            try:
                with database.writing() as connection:
                    check_token(connection, "file:x.py", answer.token)
                    connection.execute(
                        sa.text("insert into written values (:t, :a)"), {"t": answer.token, "a": now().isoformat()}
                    )
                outcomes.append("written")
            except LeaseError:
                outcomes.append("refused")

    together(work)
    with database.reading() as connection:
        tokens = connection.execute(sa.text("select token from written order by at")).scalars().all()
    # Written in the order of the grants: no older holder after a newer one.
    assert list(tokens) == sorted(tokens)
    assert {"written", "refused"} <= set(outcomes)
    time.sleep(0.1)
    expire(database)
    _check_log(database)


_HOLD = """
import sys, time
from touchline.coordination.leases import acquire
from touchline.store.migrate import open_database
with open_database(sys.argv[1], purpose="test") as database:
    answer = acquire(database, holder="child", resources=["file:a.py", "file:b.py"], seconds=float(sys.argv[2]))
    print(answer.token, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_held_comes_free_by_expiry_and_its_token_is_dead(database: Database) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, database.url, "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout
    assert child.stderr
    with child:
        line = child.stdout.readline()
        assert line, child.stderr.read()
        child.send_signal(signal.SIGKILL)
    token = int(line)
    assert denied(database, "bob", "file:b.py").holder == "child"
    answer = wait_for(database, holder="bob", resources=["file:b.py"], timeout=60)
    assert isinstance(answer, Granted)
    assert answer.token > token
    with database.writing() as connection, pytest.raises(LeaseError):
        check_token(connection, "file:a.py", token)
    assert held(database) == {"file:b.py": "bob"}


_RELEASE = """
import sys
from touchline.coordination.leases import acquire, release
from touchline.store.migrate import open_database
with open_database(sys.argv[1], purpose="test") as database:
    acquire(database, holder="child", resources=["file:a.py"])
    release(database, holder="child")
"""


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("lease.acquiring", {}),
        ("lease.acquired", {}),
        ("lease.releasing", {"file:a.py": "child"}),
        ("lease.released", {"file:a.py": "child"}),
    ],
)
def test_killed_before_the_commit_nothing_happened(database: Database, point: str, left: dict[str, str]) -> None:
    environment = {"TOUCHLINE_FAULT": point, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(_source())}
    done = subprocess.run(
        [sys.executable, "-c", _RELEASE, database.url], env=environment, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert held(database) == left
    assert len(read(database, patterns=["lock.*"])) == len(left)
    release(database, holder="child")
    granted(database, "bob", "file:a.py")


def _source() -> Path:
    import touchline

    return Path(touchline.__file__).parents[1]


def test_a_lease_cannot_go_to_another_between_check_and_commit(database: Database) -> None:
    """The writer checked its token and is slow; the lease runs out; the next holder has to wait for its commit."""
    token = granted(database, "slow", "file:a.py", seconds=0.5).token
    taken = threading.Event()

    def take() -> None:
        while not isinstance(acquire(database, holder="next", resources=["file:a.py"]), Granted):
            time.sleep(0.02)
        taken.set()

    thread = threading.Thread(target=take)
    with database.writing() as connection:
        check_token(connection, "file:a.py", token)
        thread.start()
        assert not taken.wait(2)
    assert taken.wait(60)
    thread.join(60)


def test_the_time_of_a_grant_is_read_when_its_turn_has_come(database: Database) -> None:
    """Who waited for others must not be given a lease that began, and may have ended, before they were done."""
    answers: list[Granted] = []
    thread = threading.Thread(target=lambda: answers.append(granted(database, "ann", "file:a.py", seconds=60)))
    with database.writing() as connection:
        enter(connection)
        thread.start()
        if not database.sqlite:
            blocked = sa.text("select count(*) from pg_locks where locktype = 'advisory' and not granted")
            until(lambda: connection.execute(blocked).scalar() == 1)
        time.sleep(0.3)
        done_at = now()
    thread.join(60)
    assert answers[0].expires_at >= done_at + timedelta(seconds=60)
