"""Touchline killed with SIGKILL anywhere in a build of three tasks: started again it goes on where it was.

No task is done twice, no commit is lost or doubled, and the person's checkout stays as it was.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.zygote import Zygote
from tests.roles.yard import Yard, code_turns, opened, plan_turns, sh, task
from tests.sessions.house import alive, place_of

from touchline.roles.build.rows import TaskRow, build_row
from touchline.roles.specification.keeping import find_spec
from touchline.store.fault_points import FAULT_POINTS
from touchline.store.log_tables import outbox
from touchline.store.migrate import open_database

pytestmark = pytest.mark.timeout(400)

ID = "build_crash"
CHECK = "python3 -c 'import a; assert a.x == 1'"
TASKS = (
    task("T-001", "a.py", check=CHECK),
    task("T-002", "b.py"),
    task("T-003", "c.py", check="python3 -c 'import c; assert c.total == 2'", needs=("T-001", "T-002")),
)
DONE = '{text: "Reply ${number}: it is done, and the check passes with exit code 0.\\n${marker}"}'
"""Never the same words twice: that would be a loop."""
PLAN = "Reply ${number}, the plan: write the file, run its check.\\n${marker}"


def tries(file: str, content: str, check: str) -> tuple[str, ...]:
    """A kill may cut off the very call that writes; who is told that it does not pass writes again."""
    return (f'{{calls: [{{write: {file}, content: "{content}"}}]}}', sh(check), DONE) * 3


SCRIPT = (
    code_turns("T-001", '{calls: [{write: a.py, content: "x = 1 + 1\\n"}]}', DONE, *tries("a.py", "x = 1\\n", CHECK))
    + code_turns("T-002", *tries("b.py", "x = 1\\n", TASKS[1].check.command))
    + code_turns("T-003", *tries("c.py", "import a, b\\ntotal = a.x + b.x\\n", TASKS[2].check.command))
)
REVIEWS = """
- {question: review_plan, when: "a first draft", answer: {verdict: needs_changes, guidance: "Name the check."}}
- {question: review_plan, answer: {verdict: approved}}
- {question: review_code, answer: {verdict: approved}}
"""
PLANNED = SCRIPT + "".join(
    plan_turns(each.id, "Reply ${number}, a first draft: write it.") + f'      - text: "{PLAN}"\n' * 4 for each in TASKS
)
CHAINS = {
    "the build's own steps": ["build.fetched", "build.merged", "build.advanced", "build.task_done:2"],
    # A rejected turn first: a kill in the middle of it may cost the very reply that would be rejected.
    "a session begins": ["session.acting", "session.asked", "session.turn_begun", "session.judged"],
    "a turn": ["session.turn_heard:2", "session.turn_over", "session.collected:2"],
    "a session ends": ["session.turn_ended:2", "session.delivering", "session.sent:2"],
    "plans, reviews, the engine": [
        "workflow.starting",
        "build.reviewed",
        "transaction.committed:2",
        "build.reviewed:2",
        "step.done:6",
        "lease.released",
    ],
}
KILLS = int(os.environ.get("TOUCHLINE_BUILD_KILLS", "4"))
"""How often a build is killed at random times; more in `make soak`."""


def play(folder: str, planned: bool = False) -> int:
    """In a process of its own: start the build if it is not there, and wait until it has ended."""
    with opened(Path(folder)) as yard:
        if not _known(yard):
            judge = yard.answers(REVIEWS) if planned else ""
            yard.start(TASKS, PLANNED if planned else SCRIPT, id=ID, plan=planned, judge=judge)
        yard.end(ID, seconds=150)
        jobs = [yard.build(ID).job, *(row.job for row in yard.tasks(ID).values())]
        yard.until(
            lambda: all((job := yard.engine.status(each)) is None or job.state.ended for each in jobs), "the end"
        )
    return 0


def _known(yard: Yard) -> bool:
    import sqlalchemy as sa

    from touchline.store.tables import builds

    with yard.database.reading() as connection:
        return connection.execute(sa.select(builds.c.id).where(builds.c.id == ID)).first() is not None


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    log = tmp_path_factory.mktemp("zygote") / "log"
    with Zygote(log) as made:
        yield made
    print(log.read_text()[-4000:])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with unsaved work in it."""
    from tests.sessions.house import repository

    repo = repository(tmp_path / "repo")
    (repo / "dirty.txt").write_text("mine\n")
    (repo / "README.md").write_text("Changed, and not committed.\n")
    return tmp_path


def killed(zygote: Zygote, folder: Path, fault: str, *, planned: bool = False) -> None:
    code = zygote.run("tests.roles.test_build_crash.play", folder=str(folder), planned=planned, fault=fault)
    assert code == -9, f"not at {fault}"
    assert _gone(folder), f"left over after {fault}: {alive(folder)}"


def _gone(folder: Path) -> bool:
    until = time.monotonic() + 15
    while alive(folder):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def finished(zygote: Zygote, folder: Path, *, planned: bool = False) -> None:
    """Let it come to its end, and look at everything that a kill could have spoiled."""
    assert zygote.run("tests.roles.test_build_crash.play", folder=str(folder), planned=planned) == 0
    assert _gone(folder)
    with open_database(place_of(folder).url, purpose="test") as database:
        yard = Yard(folder=folder, repo=folder / "repo", engine=None, database=database)  # type: ignore[arg-type]
        build, tasks = yard.build(ID), yard.tasks(ID)
        assert (build.status, build.reason) == ("complete", "completed"), build.detail
        assert {name: row.task.status for name, row in tasks.items()} == dict.fromkeys(tasks, "complete")
        troubles = [row.data.get("failures") or row.data.get("checks") for row in tasks.values()]
        assert {name: row.attempts for name, row in tasks.items()} == dict.fromkeys(tasks, 1), troubles
        done = [event.ids.task for event in yard.events(ID, "task.completed")]
        assert sorted(filter(None, done)) == sorted(row.id for row in tasks.values()), "each done once"
        assert len(yard.events(ID, "build.completed")) == 1
        log = yard.git("log", "--format=%s", "refs/touchline/base..refs/heads/build", at=Path(build.workshop))
        assert sorted(log.splitlines()) == ["T-001: Make a.py", "T-002: Make b.py", "T-003: Make c.py"]
        assert {row.data["commit"] for row in tasks.values()} == set(
            yard.git("log", "--format=%H", "refs/touchline/base..refs/heads/build", at=Path(build.workshop)).split()
        )
        with database.reading() as connection:
            parcels = connection.execute(outbox.select()).mappings().all()
            text = find_spec(connection, build_row(connection, ID).spec_id or "").tasks_path.read_text()
        assert {row["status"] for row in parcels} == {"sent"}
        sent_back = _reviewed_once(yard, tasks, planned=planned)
        worked = len(tasks) * (2 if planned else 1) + sent_back
        assert len({row["key"] for row in parcels}) == len(parcels) == worked, (
            "one delivery per session and each return"
        )
        assert text.count("status: complete") == 3
        assert text.count(": complete after 1 attempt(s)") == 3, "one line per task in the log"
        assert yard.git("status", "--porcelain") == "M README.md\n?? dirty.txt"
        assert yard.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
        assert (folder / "repo" / "README.md").read_text() == "Changed, and not committed.\n"


def _reviewed_once(yard: Yard, tasks: dict[str, TaskRow], *, planned: bool) -> int:
    """Each plan and each change was read and counted once. Returns how many were sent back to their author."""
    kept = [(row.id, each["of"], each["verdict"]) for row in tasks.values() for each in row.data.get("reviews", ())]
    told = [
        (event.ids.task, event.payload["verdict"]) for event in yard.events(ID, "review.completed") if event.ids.task
    ]
    assert sorted(told) == sorted((task, verdict) for task, _, verdict in kept)
    verdict = "approved" if planned else "unreviewed"
    for id in (row.id for row in tasks.values()):
        assert kept.count((id, "code", verdict)) == 1, kept
        assert kept.count((id, "plan", "approved")) == int(planned), kept
        assert kept.count((id, "plan", "needs_changes")) <= 1, kept
    return sum(verdict == "needs_changes" for _, _, verdict in kept)


def test_every_fault_point_of_builds_and_sessions_is_killed_at() -> None:
    killed_at = {name.partition(":")[0] for names in CHAINS.values() for name in names}
    assert {name for name in FAULT_POINTS if name.startswith(("build.", "session."))} <= killed_at


@pytest.mark.parametrize("chain", CHAINS)
def test_killed_again_and_again_it_goes_on_where_it_was(zygote: Zygote, folder: Path, chain: str) -> None:
    planned = chain.startswith("plans")
    for fault in CHAINS[chain]:
        killed(zygote, folder, fault, planned=planned)
    finished(zygote, folder, planned=planned)


def test_killed_at_any_time(zygote: Zygote, folder: Path) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    for _ in range(KILLS):
        # Not often enough in one turn for the guard that gives a turn up after three deaths.
        zygote.run("tests.roles.test_build_crash.play", folder=str(folder), kill_after=chance.uniform(1.0, 9.0))
        assert _gone(folder)
    finished(zygote, folder)
