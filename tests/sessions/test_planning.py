"""A planner's words: a plan may hope and has run nothing, but what it says of the past is held against the record."""

from __future__ import annotations

import pytest
from tests.sessions.house import House

from touchline.store.columns import new_id
from touchline.store.statuses import create

pytestmark = pytest.mark.timeout(120)
FIND = 'find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}\n'
PLAN = (
    "I am done: the plan is complete. parser.py gets a function split(), and test_sample.py a case for it. "
    "The check should then pass."
)
CLAIMS = "I am done: the plan is complete, and all 12 tests pass."
TASK = "Plan how split() is added to the parser."


def script(*texts: str) -> str:
    turns = "".join(f'  - {{text: "{text}\\n${{marker}}"}}\n' for text in texts)
    return f"{FIND}turns:\n  - {{calls: [{{shell: cat README.md}}]}}\n{turns}"


def test_a_plan_that_only_hopes_is_taken_from_who_may_only_read(house: House) -> None:
    story = house.run(script(PLAN), TASK, read_only=True, contract={"marker": True})
    assert (story.actions, story.session.delivery) == (["deliver:completed"], "accepted"), story.told()


def test_the_same_words_are_no_completion_of_who_may_write(house: House) -> None:
    story = house.run(script(PLAN, PLAN + " Really.", PLAN + " Truly."), TASK, contract={"marker": True}, turns=1)
    assert story.session.delivery == "unresolved", story.told()


def test_a_planner_who_says_that_tests_pass_must_have_run_them(house: House) -> None:
    story = house.run(script(CLAIMS, PLAN), TASK, read_only=True, contract={"marker": True})
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()


def test_every_event_of_a_tasks_session_names_the_task(house: House) -> None:
    with house.database.writing() as connection:
        build = create(connection, "builds", id=new_id("build"), repository="r")
        task = create(connection, "tasks", build_id=build, key="T-1", phase="api", action="CREATE", file="a.py")
    done = 'turns:\n  - {calls: [{write: ok, content: "yes"}, {shell: cat ok}]}\n  - {text: "ok is written."}\n'
    story = house.run(done, "Write ok.", check="test -f ok", task_id=task)
    assert "check.run" in {event.type for event in story.events}, story.told()
    assert {event.type for event in story.events if event.ids.task != task} == set()
