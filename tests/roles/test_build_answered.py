"""What people answered to blocked tasks is carried out by whoever goes on with the build, once, and never dropped.

The answers are written and wake nobody, as by a process that was killed in between: the engine never gets them first.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.roles.yard import DONE, Yard, code_turns, opened, sh, task, waits_for, writes

from touchline.questions.answering import record_answer
from touchline.roles.build.controlling import go_on_answered, resume_build
from touchline.roles.build.ending import halted
from touchline.roles.build.escalating import question_of, take_answer
from touchline.roles.build.overview import overview_of

pytestmark = pytest.mark.timeout(120)
CHECK = "test -f __pycache__/seen || python3 -c 'import tinypack'"
"""Passes where the agent works, and nowhere else."""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def turns(id: str, file: str) -> str:
    return code_turns(id, sh(f"mkdir -p __pycache__ && touch __pycache__/seen && echo 1 > {file}"), sh(CHECK), DONE)


def blocked(yard: Yard, *names: str) -> str:
    """A build whose tasks all wait for a person."""
    tasks = tuple(task(f"T-00{n}", name, check=CHECK) for n, name in enumerate(names, start=1))
    id = yard.start(tasks, "".join(turns(each.id, each.file) for each in tasks), plan=False)
    build = yard.end(id)
    assert (build.status, build.reason) == ("stopped", "escalated"), build.detail
    return id


def say(yard: Yard, build: str, name: str, words: str) -> None:
    with yard.database.writing() as connection:
        assert record_answer(connection, question_of(yard.tasks(build)[name]), words, person="Ann")


def answered(yard: Yard, id: str) -> bool:
    with yard.database.reading() as connection:
        return overview_of(connection, id).answered


def test_a_task_that_was_to_be_left_out_is_not_begun_anew_by_resuming(yard: Yard) -> None:
    id = blocked(yard, "left.py", "words.py")
    say(yard, id, "T-001", "Skip")
    say(yard, id, "T-002", "Do without tinypack.")
    assert answered(yard, id)
    resume_build(yard.engine, yard.database, id, retry=False)
    build = yard.end(id)
    assert (build.reason, build.runs) == ("escalated", 2), build.detail
    rows = yard.tasks(id)
    assert (rows["T-001"].task.status, rows["T-002"].attempts) == ("skipped", 2)
    assert rows["T-002"].data["advice"] == "Do without tinypack.", "also where only open tasks are gone on with"


def test_waiting_is_kept_to_until_somebody_resumes(yard: Yard) -> None:
    id = blocked(yard, "waits.py")
    say(yard, id, "T-001", "Wait")
    assert not answered(yard, id)
    assert go_on_answered(yard.engine, yard.database, id) == id
    assert (yard.build(id).status, yard.build(id).runs) == ("stopped", 1)
    resume_build(yard.engine, yard.database, id)
    assert yard.end(id).runs == 2
    assert yard.tasks(id)["T-001"].attempts == 2


def test_an_answer_is_carried_out_once(yard: Yard) -> None:
    id = blocked(yard, "once.py")
    key = question_of(yard.tasks(id)["T-001"])
    say(yard, id, "T-001", "retry")
    go_on_answered(yard.engine, yard.database, id)
    with yard.database.writing() as connection:
        assert take_answer(connection, yard.tasks(id)["T-001"].id, key, "retry")["then"] == "over"
    yard.end(id)
    assert (yard.build(id).runs, yard.tasks(id)["T-001"].attempts) == (2, 2)


def test_a_build_that_is_about_to_stop_for_an_answer_sees_it_come(yard: Yard) -> None:
    go = yard.meeting() / "go"
    script = turns("T-001", "first.py") + code_turns("T-002", waits_for(go), *writes("second.py"))
    id = yard.start((task("T-001", "first.py", check=CHECK), task("T-002", "second.py")), script, plan=False)
    yard.until(lambda: yard.tasks(id)["T-001"].task.status == "blocked", "a person is asked")
    row = yard.tasks(id)["T-001"]
    halt = {"reason": "escalated", "detail": "T-001: a person must decide.", "waiting": [row.id]}
    with yard.database.writing() as connection:
        assert take_answer(connection, row.id, question_of(row), "skip")["run"] == 0, "the build runs, and goes on"
        assert halted(connection, id, halt) == ""
    go.touch()
    assert yard.end(id).reason == "tasks_open"
