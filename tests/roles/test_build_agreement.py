"""What the specification says to all tasks reaches each agent and reviewer, and so do the lessons that concern it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.roles.yard import asked_with, opened, plan_turns, task, writes

from touchline.roles.build.agreement import agreement_of, with_lessons
from touchline.roles.build.prompting import body
from touchline.roles.specification.gotchas import Gotcha
from touchline.roles.specification.spec import PlannedFile, Spec
from touchline.sessions.records import session_record

pytestmark = pytest.mark.timeout(120)
SAID = {
    "objective": "Greet people by their names.",
    "api": "hello(name) returns 'Hello, NAME!'",
    "data_models": "Person: name",
    "quality": ("answers within a second",),
    "avoided_files": (PlannedFile(path="legacy.py", purpose="frozen"),),
    "out_of_scope": ("farewells",),
    "gotchas": ("Mind leap years.",),
}
WORDS = ("Greet people", "hello(name) returns", "Person: name", "within a second", "legacy.py: frozen", "farewells")


def test_agents_and_reviewers_are_told_what_all_tasks_share(tmp_path: Path) -> None:
    with opened(tmp_path) as yard:
        lessons = yard.repo / ".touchline" / "lessons"
        lessons.mkdir(parents=True)
        (lessons / "sure.md").write_text("---\npattern: '*.py'\nconfidence: 0.6\n---\nName every constraint.\n")
        (lessons / "vague.md").write_text("---\nconfidence: 0.5\n---\nPerhaps it was the moon.\n")
        when = [*WORDS]
        answers = "".join(
            f"- {{question: {name}, when: {when}, answer: {{verdict: approved}}}}\n"
            for name in ("review_plan", "review_code")
        )
        script = plan_turns("T-001") + asked_with("hello\\(name\\) returns", "T-001", *writes("hello.py"))
        id = yard.start((task("T-001", "hello.py"),), script, said=SAID, judge=yard.answers(answers))
        build = yard.end(id)
        assert build.status == "complete", build.detail
        with yard.database.reading() as connection:
            told = [session_record(connection, each).asked.task for each in yard.tasks(id)["T-001"].sessions]
    assert len(told) == 2
    for prompt in told:
        for words in (*WORDS, "Mind leap years.", "Name every constraint."):
            assert words in prompt, words
        assert "moon" not in prompt
        assert "A sample." not in prompt, "the README of the repository is not the idea"


def test_the_contract_is_cut_before_conventions_are_touched_and_says_nothing_where_there_is_none() -> None:
    assert agreement_of(Spec(id="s", title="t", objective=" Greet. ")) == {"objective": "Greet.", "contract": ""}
    one = task("T-001", "a.py")
    names = [each.name for each in body(one, contract="c", conventions="v", idea="i").included]
    assert names == ["task", "contract", "conventions", "readme"]


def test_lessons_are_added_to_the_tasks_own_pitfalls_once() -> None:
    spec = Spec(id="s", title="t", gotchas=("Mind leap years.", "Name it."))
    lessons = (
        Gotcha(text="Name it.", pattern="*.sql"),
        Gotcha(text="Never tabs."),
        Gotcha(text="Moon", confidence=0.5),
    )
    (found,) = with_lessons([task("T-001", "a.py", gotchas=("never  tabs.",))], spec, lessons)
    assert found.gotchas == ("never  tabs.", "Mind leap years."), "a lesson about other files is not this task's"
