"""The time limit of a build is one of work: a person may take a day to answer."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.roles.test_build_outages import ROW
from tests.roles.yard import code_turns, opened, task, writes

from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.roles.build.changes import update_build
from touchline.roles.build.rows import BuildRow
from touchline.roles.build.states import State
from touchline.roles.build.working_time import SAVE_SECONDS, WorkingTime
from touchline.store.columns import now
from touchline.store.database import Database

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("build-time")]
CODING = replace(ROW, task=replace(ROW.task, status="in_progress"), state=State.CODING)
ASKING = replace(CODING, state=State.QUESTION)


def test_only_what_works_counts_and_is_remembered(database: Database) -> None:
    build = cast(BuildRow, SimpleNamespace(job="build_1/run-1"))
    hour = 3600.0
    moments = iter([0.0, 1.0, 1.0 + SAVE_SECONDS, 50.0 + hour, 52.0 + hour])
    clock = WorkingTime(database, lambda: next(moments))
    shown = [clock.seconds(build, rows) for rows in ([CODING], [CODING], [ASKING], [CODING, ASKING])]
    assert shown == [0.0, SAVE_SECONDS, SAVE_SECONDS, SAVE_SECONDS + 2]
    clock.save(build)
    assert WorkingTime(database).seconds(build, [CODING]) == SAVE_SECONDS + 2
    again = cast(BuildRow, SimpleNamespace(job="build_1/run-2"))
    assert WorkingTime(database).seconds(again, [CODING]) == 0.0, "a resumed build has all its time before it"


def test_a_build_that_waits_for_a_person_does_not_run_out_of_time(tmp_path: Path) -> None:
    asks = '{text: "Before I go on: which port should the server listen on, 8080 or 9090?"}'
    with opened(tmp_path) as yard:
        script = code_turns("T-001", asks, *writes("time_a.py"))
        id = yard.start((task("T-001", "time_a.py"),), script, plan=False, max_seconds=20.0)
        yard.until(lambda: yard.tasks(id)["T-001"].state is State.QUESTION, "the task shows the question")
        with yard.database.writing() as connection:  # as if it had been asked yesterday
            update_build(connection, id, started_at=now().replace(year=now().year - 1))
        time.sleep(1.0)  # several looks of the build
        (session,) = yard.tasks(id)["T-001"].sessions
        with yard.database.reading() as connection:
            (question,) = [each for each in open_questions(connection) if each.session_id == session]
        answer_question(yard.engine, yard.database, question.id, "8080", person="Ann")
        build = yard.end(id)
    assert (build.status, build.reason) == ("complete", "completed"), build.detail
