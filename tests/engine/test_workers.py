"""Workers on PostgreSQL: any of them may die at any time, the database too, and every job is done, once."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.engine import sample_jobs
from tests.engine.zygote import Zygote
from tests.postgres import PostgresServer

from touchline.coordination.heartbeats import Component, components
from touchline.engine.opening import connect_engine
from touchline.engine.port import Engine, State
from touchline.store.database import Database
from touchline.store.log_tables import counters
from touchline.store.migrate import open_database
from touchline.store.place import Place
from touchline.store.tables import heartbeats

WORK = "tests.engine.sample_jobs.work"
JOBS = 300


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    log = tmp_path_factory.mktemp("workers") / "log"
    with Zygote(log) as made:
        yield made
    print(log.read_text()[-4000:])


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.fresh() as made:
        open_database(made, purpose="test").close()
        yield made


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = connect_engine(Place(url=url, origin="given"), sample_jobs.book())
    yield made
    made.close()


class Crew:
    """Workers that a test started; none outlives it."""

    def __init__(self, zygote: Zygote) -> None:
        self.zygote = zygote
        self.pids: list[int] = []

    def add(self, fault: str = "", **arguments: object) -> int:
        self.pids.append(self.zygote.spawn(WORK, fault=fault, **arguments))
        return self.pids[-1]

    def kill(self, pid: int) -> int:
        sample_jobs.end(pid)
        self.pids.remove(pid)
        return self.zygote.wait(pid)

    def stop(self, pid: int) -> int:
        sample_jobs.end(pid, signal.SIGTERM)
        self.pids.remove(pid)
        return self.zygote.wait(pid)


@pytest.fixture
def crew(zygote: Zygote) -> Iterator[Crew]:
    made = Crew(zygote)
    yield made
    for pid in list(made.pids):
        if zygote.poll(pid) is None:
            sample_jobs.end(pid)
            zygote.wait(pid)


def wait_until(true: Callable[[], object], seconds: float = 40.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.05)


def effects(database: Database) -> dict[str, int]:
    with database.reading() as connection:
        found = connection.execute(sa.select(counters.c.name, counters.c.value).where(counters.c.name.like("job:%")))
        return {row.name: row.value for row in found}


def executors(url: str) -> list[str]:
    with Database(url) as database, database.reading() as connection:
        return list(connection.execute(sa.select(heartbeats.c.component).order_by(heartbeats.c.started_at)).scalars())


def rows(url: str) -> dict[str, Component]:
    with Database(url) as database, database.reading() as connection:
        return {each.component: each for each in components(connection)}


def words(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.timeout(200)
def test_three_workers_do_every_job_once_while_they_and_the_database_die(
    url: str, engine: Engine, crew: Crew, postgres: PostgresServer
) -> None:
    chance = random.Random()
    for _ in range(3):
        crew.add(url=url)
    for number in range(JOBS):
        engine.start("job", [number], id=f"job/{number}")
    with Database(url) as database:
        kills = restarts = 0
        began = time.monotonic()

        def done() -> int:
            return len(engine.list(states=[State.DONE], prefix="job/", limit=JOBS + 1))

        while (count := done()) < JOBS:
            assert time.monotonic() - began < 150, f"{count} of {JOBS} jobs done"
            assert not engine.list(states=[State.FAILED, State.EXHAUSTED, State.CANCELLED], prefix="job/", limit=1)
            # A worker that was just starting when the database went away says so and ends; its keeper starts another.
            for pid in [pid for pid in crew.pids if crew.zygote.poll(pid) is not None]:
                assert restarts, "a worker ended by itself"
                crew.pids.remove(pid)
                crew.add(url=url)
            if restarts < 2 and count > JOBS * (restarts + 1) // 4:
                postgres.restart()
                restarts += 1
            elif count < JOBS * 9 // 10:
                code = crew.kill(chance.choice(crew.pids))
                assert code == -9 or restarts
                crew.add(url=url)
                kills += code == -9
            time.sleep(chance.uniform(0.3, 1.0))
        assert (restarts, effects(database)) == (2, {f"job:{number}": 1 for number in range(JOBS)})
        assert kills >= 5
        again = [job.id for job in engine.list(states=[State.DONE], prefix="job/", limit=JOBS) if job.attempts > 1]
        print(f"{kills} kills, {restarts} restarts, {len(again)} jobs begun again, {time.monotonic() - began:.0f} s")
        assert again, "no worker was killed in the middle of a job"
        # The dead are forgotten, the living are not.
        wait_until(lambda: len(executors(url)) == 3)


@pytest.mark.parametrize("point", ["takeover.claimed", "takeover.recovered"])
def test_a_takeover_that_dies_half_way_is_taken_over(
    url: str, engine: Engine, crew: Crew, tmp_path: Path, point: str
) -> None:
    path = tmp_path / "steps"
    first = crew.add(url=url)
    engine.start("slow", [1, str(path)], id="slow")
    wait_until(lambda: len(words(path)) == 2)
    dead = executors(url)
    heir = crew.add(url=url, fault=point)
    wait_until(lambda: len(executors(url)) == 2)
    assert crew.kill(first) == -9
    wait_until(lambda: crew.zygote.poll(heir) is not None)
    assert crew.zygote.wait(heir) == -9, "it never came by the point"
    path.with_name("steps.go").touch()
    crew.add(url=url, dead=str(tmp_path / "dead"))
    assert engine.result("slow", 40) == 1
    assert [line.split()[0] for line in words(path)].count("first") == 1, "a recorded step ran again"
    with Database(url) as database:
        assert effects(database) == {"job:1": 1}
    wait_until(lambda: len(executors(url)) == 1)
    told = [f"executor:{line.split()[0]}" for line in words(tmp_path / "dead")]
    assert len(told) == 2
    assert told.count(dead[0]) == 1


def test_a_worker_that_was_taken_for_dead_cannot_finish_the_work_of_its_heir(
    url: str, engine: Engine, crew: Crew, tmp_path: Path
) -> None:
    path, end = tmp_path / "steps", tmp_path / "end"
    zombie = crew.add(url=url, end=str(end))
    engine.start("slow", [1, str(path)], id="slow")
    wait_until(lambda: len(words(path)) == 2)
    heir = crew.add(url=url)
    wait_until(lambda: len(executors(url)) == 2)
    sample_jobs.end(zombie, signal.SIGSTOP)
    wait_until(lambda: len(words(path)) == 3)
    assert words(path)[-1] == f"long {heir}"
    path.with_name("steps.go").touch()
    sample_jobs.end(zombie, signal.SIGCONT)
    assert engine.result("slow", 40) == 1
    wait_until(lambda: crew.zygote.poll(zombie) is not None)
    crew.pids.remove(zombie)
    assert end.read_text().split()[0] == "fenced"
    with Database(url) as database:
        assert effects(database) == {"job:1": 1}


def test_a_stopped_worker_hands_back_what_it_cannot_finish(
    url: str, engine: Engine, crew: Crew, tmp_path: Path
) -> None:
    path, end = tmp_path / "steps", tmp_path / "end"
    first = crew.add(url=url, end=str(end), grace=1)
    engine.start("slow", [1, str(path)], id="slow")
    wait_until(lambda: len(words(path)) == 2)
    heir = crew.add(url=url, ttl=20)  # so long that only a hand-over can be in time
    wait_until(lambda: len(executors(url)) == 2)
    assert crew.stop(first) == 0
    assert end.read_text() == "stopped 1"
    wait_until(lambda: len(words(path)) == 3)
    assert words(path)[-1] == f"long {heir}"
    path.with_name("steps.go").touch()
    assert engine.result("slow", 20) == 1
    assert crew.stop(heir) == 0
    assert executors(url) == []


def test_a_worker_that_fails_at_its_start_hands_over_what_it_has_begun(
    url: str, engine: Engine, crew: Crew, tmp_path: Path
) -> None:
    path, end, broken = tmp_path / "steps", tmp_path / "end", tmp_path / "broken"
    first = crew.add(url=url, end=str(end), broken=str(broken))
    engine.start("slow", [1, str(path)], id="slow")
    wait_until(lambda: len(words(path)) == 2)
    heir = crew.add(url=url, ttl=20)  # so long that only a hand-over can be in time
    wait_until(lambda: len(executors(url)) == 2)
    broken.touch()
    wait_until(lambda: crew.zygote.poll(first) is not None, 10)
    crew.pids.remove(first)
    assert end.read_text() == "failed 1"
    wait_until(lambda: len(words(path)) == 3, 10)
    assert words(path)[-1] == f"long {heir}"
    path.with_name("steps.go").touch()
    assert engine.result("slow", 20) == 1


def test_nobody_goes_on_with_work_that_still_runs_in_a_worker_that_is_leaving(
    url: str, engine: Engine, crew: Crew, tmp_path: Path
) -> None:
    path, end = tmp_path / "steps", tmp_path / "end"
    first = crew.add(url=url, end=str(end), grace=1, linger=3)
    engine.start("pulse", [str(path)], id="pulse")
    wait_until(lambda: len(words(path)) > 5)
    heir = crew.add(url=url, ttl=20)
    wait_until(lambda: len(executors(url)) == 2)
    sample_jobs.end(first, signal.SIGTERM)
    wait_until(lambda: end.exists())
    assert crew.zygote.wait(first) == 0
    crew.pids.remove(first)
    assert end.read_text() == "stopped 1"
    wait_until(lambda: f"long {heir}" in words(path))
    path.with_name("steps.go").touch()
    assert engine.result("pulse", 20) == heir
    seen = [int(line.split()[1]) for line in words(path)]
    assert set(seen) == {first, heir}
    assert first not in seen[seen.index(heir) :], "both were in the step at the same time"


def test_a_worker_that_is_leaving_beats_for_its_own_and_takes_over_nobody(
    url: str, engine: Engine, crew: Crew, tmp_path: Path
) -> None:
    path, end = tmp_path / "steps", tmp_path / "end"
    first = crew.add(url=url, end=str(end), grace=1, linger=5)
    engine.start("pulse", [str(path)], id="pulse")
    wait_until(lambda: words(path))
    [mine] = executors(url)
    other = crew.add(url=url)
    wait_until(lambda: len(executors(url)) == 2)
    time.sleep(2.5)  # until it would judge others
    assert crew.kill(other) == -9
    sample_jobs.end(first, signal.SIGTERM)
    wait_until(lambda: end.exists())
    before = rows(url)
    time.sleep(3.5)  # longer than the other's silence may be
    assert crew.zygote.poll(first) is None
    after = rows(url)
    assert after[mine].beat_at > before[mine].beat_at
    assert {row.status for row in after.values()} == {"alive"}, "it claimed what it can no longer take over"
    path.with_name("steps.go").touch()
    assert crew.zygote.wait(first) == 0
    crew.pids.remove(first)


def test_a_worker_beats_again_after_the_database_was_away(
    url: str, engine: Engine, crew: Crew, postgres: PostgresServer
) -> None:
    crew.add(url=url)
    engine.start("job", [0], id="before")
    assert engine.result("before", 40) == 1
    [mine] = executors(url)
    postgres.stop()
    time.sleep(1)  # several beats
    postgres.start()
    back = rows(url)[mine].beat_at
    wait_until(lambda: rows(url)[mine].beat_at > back)
    engine.start("job", [1], id="afterwards")
    assert engine.result("afterwards", 40) == 1


def test_a_fault_while_taking_over_does_not_end_the_heartbeat(url: str, crew: Crew, tmp_path: Path) -> None:
    dead = tmp_path / "missing" / "dead"  # the heir fails when it wants to note whom it buries
    first = crew.add(url=url)
    wait_until(lambda: executors(url))
    [lost] = executors(url)
    crew.add(url=url, dead=str(dead))
    wait_until(lambda: len(executors(url)) == 2)
    [mine] = set(executors(url)) - {lost}
    assert crew.kill(first) == -9
    wait_until(lambda: rows(url)[lost].status == "recovering")
    failed = rows(url)[mine].beat_at
    wait_until(lambda: rows(url)[mine].beat_at > failed + timedelta(seconds=1))
    assert set(executors(url)) == {mine, lost}
    dead.parent.mkdir()
    wait_until(lambda: executors(url) == [mine])
    assert len(words(dead)) == 1


def test_two_workers_have_their_own_slots(url: str, engine: Engine, crew: Crew, tmp_path: Path) -> None:
    paths = [tmp_path / f"steps{n}" for n in range(8)]
    small = crew.add(url=url, slots=1)
    big = crew.add(url=url, slots=3)
    wait_until(lambda: len(executors(url)) == 2)
    for number, path in enumerate(paths):
        engine.start("slow", [number, str(path)], id=f"slow/{number}")
    wait_until(lambda: len(engine.list(states=[State.RUNNING])) == 4)
    time.sleep(0.5)
    running = [line.split()[1] for path in paths for line in words(path) if line.startswith("long")]
    assert sorted(running.count(str(pid)) for pid in (small, big)) == [1, 3]
    assert running.count(str(small)) == 1
    for path in paths:
        path.with_name(path.name + ".go").touch()
    for number in range(len(paths)):
        engine.result(f"slow/{number}", 30)


def test_every_tick_comes_once_with_two_processes(url: str, zygote: Zygote, tmp_path: Path) -> None:
    pids = [zygote.spawn("tests.engine.sample_jobs.tick", url=url, folder=str(tmp_path)) for _ in range(2)]
    try:
        wait_until(lambda: len(words(tmp_path / "ticks")) >= 5)
    finally:
        for pid in pids:
            sample_jobs.end(pid, signal.SIGTERM)
        assert [zygote.wait(pid) for pid in pids] == [0, 0]
    ticks = [line.split()[0] for line in words(tmp_path / "ticks")]
    assert len(ticks) == len(set(ticks))
