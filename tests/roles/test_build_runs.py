"""Builds by the scripted agent through the real engine: what each kind of trouble comes to.

All builds of this file are started together, in one house, and each test looks at its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.roles.yard import DONE, Yard, asked_with, code_turns, opened, sh, task, waits_for, writes

from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.roles.build.controlling import resume_build, want
from touchline.roles.build.states import State
from touchline.roles.specification.task import TaskAction, TaskCheck
from touchline.sessions.stopping import resume_session

pytestmark = pytest.mark.timeout(240)
IGNORED = "__pycache__/seen"
"""A file that git leaves out: a check that needs it passes where the agent works, and nowhere else."""


def verify(id: str, check: str, **also: Any) -> Any:
    return task(id, "", check=check, action=TaskAction.VERIFY, **also)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        (made.repo / "dirty.txt").write_text("mine\n")
        (made.repo / "README.md").write_text("Changed, and not committed.\n")
        made.before = _checkout(made)  # type: ignore[attr-defined]
        made.builds = dict(_started(made))  # type: ignore[attr-defined]
        yield made


def _checkout(yard: Yard) -> tuple[str, ...]:
    texts = tuple((yard.repo / name).read_text() for name in ("dirty.txt", "README.md"))
    return (*texts, yard.git("status", "--porcelain"), yard.git("for-each-ref"), yard.git("rev-parse", "HEAD"))


def _started(yard: Yard) -> Iterator[tuple[str, str]]:
    """The builds, by name."""
    for name, make in MAKERS.items():
        yield name, make(yard)


def outcome(yard: Yard, name: str) -> tuple[Any, dict[str, Any]]:
    id = yard.builds[name]  # type: ignore[attr-defined]
    return yard.end(id, name), yard.tasks(id)


def statuses(tasks: dict[str, Any]) -> dict[str, str]:
    return {name: row.task.status for name, row in tasks.items()}


# --- side by side --------------------------------------------------------------------------------------------------


def start_parallel(yard: Yard) -> str:
    here = yard.meeting()
    script = ""
    for mine, other in (("T-001", "T-002"), ("T-002", "T-001")):
        turns = (sh(f"touch {here}/{mine}"), waits_for(here / other))
        script += code_turns(mine, *turns, *writes(f"parallel_{mine}.py"))
    tasks = tuple(task(id, f"parallel_{id}.py") for id in ("T-001", "T-002"))
    return yard.start(tasks, script, plan=False)


def test_two_tasks_really_run_at_the_same_time(yard: Yard) -> None:
    build, tasks = outcome(yard, "parallel")
    # Each agent went on only when the other had begun.
    assert (build.status, statuses(tasks)) == ("complete", {"T-001": "complete", "T-002": "complete"}), build.detail


def start_same_file(yard: Yard) -> str:
    check = "grep -q {} same.txt"
    script = code_turns("T-001", sh("echo one >> same.txt"), sh("grep -q one same.txt"), DONE) + code_turns(
        "T-002", sh("cat same.txt && echo two >> same.txt"), sh("grep -q two same.txt"), DONE
    )
    tasks = (
        task("T-001", "same.txt", check=check.format("one")),
        task("T-002", "same.txt", check="grep -q one same.txt && grep -q two same.txt", action=TaskAction.UPDATE),
    )
    return yard.start(tasks, script, plan=False)


def test_of_two_tasks_that_want_one_file_one_waits_and_begins_with_the_others_work(yard: Yard) -> None:
    build, tasks = outcome(yard, "same_file")
    assert build.status == "complete", build.detail
    events = yard.events(build.id, "lock.denied", "task.started", "task.completed")
    told = [(event.type, event.ids.task) for event in events]
    assert ("lock.denied", tasks["T-002"].id) in told
    assert tasks["T-002"].data["base"] == tasks["T-001"].data["commit"], "its clone began with the other's commit"
    with yard.database.reading() as connection:
        from touchline.coordination.leases import all_leases

        assert not [each for each in all_leases(connection) if each.holder.startswith(build.id)]


def start_third_file(yard: Yard) -> str:
    here = yard.meeting()
    edit = "python3 -c \"import pathlib; p = pathlib.Path('README.md'); p.write_text('{}\\n' + p.read_text()[10:])\""
    script = asked_with(
        "fresh clone that has all of it", "T-002", *writes("third_b.py"), sh("echo two >> README.md"), DONE
    )
    script += asked_with(
        "fresh clone that has all of it", "T-001", *writes("third_a.py"), sh("echo one >> README.md"), DONE
    )
    for mine, other, file in (("T-001", "T-002", "third_a.py"), ("T-002", "T-001", "third_b.py")):
        both = (sh(edit.format(mine)), sh(f"touch {here}/{mine}"), waits_for(here / other))
        script += code_turns(mine, *both, *writes(file))
    tasks = (task("T-001", "third_a.py"), task("T-002", "third_b.py"))
    return yard.start(tasks, script, plan=False)


def test_a_conflict_in_a_third_file_is_announced_before_the_merge_and_mended_by_a_rebase(yard: Yard) -> None:
    build, tasks = outcome(yard, "third_file")
    assert (build.status, statuses(tasks)) == ("complete", {"T-001": "complete", "T-002": "complete"}), build.detail
    events = yard.events(build.id, "conflict.detected", "task.completed", "task.retry")
    overlap = next(event for event in events if event.payload.get("kind") == "overlap")
    first = next(event for event in events if event.type == "task.completed")
    assert overlap.seq < first.seq, "it is told before anything is merged"
    assert (overlap.payload["resource"], overlap.payload["lines"]) == ("README.md", [[1, 1]])
    assert [event.payload["reason"] for event in events if event.type == "task.retry"] == ["conflict"]
    late = max(tasks.values(), key=lambda row: row.attempts)
    assert late.attempts == 2
    early = min(tasks.values(), key=lambda row: row.attempts)
    assert late.data["base"] == early.data["commit"], "it was done again on top of the other's commit"
    shop = Path(build.workshop)
    assert len(yard.git("log", "--format=%s", "refs/touchline/base..build", at=shop).splitlines()) == 2


def start_together_wrong(yard: Yard) -> str:
    """Each is right alone; together they are one line too many. The second one mends it when it is told."""
    here = yard.meeting()
    check = "test $(cat together_*.txt | wc -l) -le 1"
    script = asked_with("fresh clone that has all of it", "T-002", sh(": > together_b.txt"), sh(check), DONE)
    script += asked_with("fresh clone that has all of it", "T-001", sh(": > together_a.txt"), sh(check), DONE)
    for mine, other, file in (("T-001", "T-002", "together_a.txt"), ("T-002", "T-001", "together_b.txt")):
        both = (sh(f"echo x > {file}"), sh(f"touch {here}/{mine}"), waits_for(here / other))
        script += code_turns(mine, *both, sh(check), DONE)
    tasks = (task("T-001", "together_a.txt", check=check), task("T-002", "together_b.txt", check=check))
    return yard.start(tasks, script, plan=False)


def test_what_passes_alone_is_validated_again_on_top_of_the_others(yard: Yard) -> None:
    build, tasks = outcome(yard, "together_wrong")
    assert (build.status, statuses(tasks)) == ("complete", {"T-001": "complete", "T-002": "complete"}), build.detail
    (again,) = yard.events(build.id, "task.retry")
    assert again.payload["reason"] == "validation"
    late = max(tasks.values(), key=lambda row: row.attempts)
    assert "what other tasks did meanwhile" in late.data["failures"][0]["detail"]


# --- checks --------------------------------------------------------------------------------------------------------


def start_sent_back(yard: Yard) -> str:
    check = f"test -f {IGNORED} || test -f kept.txt"
    turns = (
        sh(f"mkdir -p __pycache__ && touch {IGNORED} && echo 1 > sent_back.py"),
        sh(check),
        DONE,
        "{heard: did not pass when your supervisor ran it, calls: [{shell: touch kept.txt}]}",
        sh(check),
        DONE,
    )
    return yard.start((task("T-001", "sent_back.py", check=check),), code_turns("T-001", *turns), plan=False)


def test_work_whose_check_fails_in_a_fresh_clone_goes_back_to_its_author_with_the_output(yard: Yard) -> None:
    build, tasks = outcome(yard, "sent_back")
    row = tasks["T-001"]
    assert (build.status, row.attempts) == ("complete", 2), build.detail
    assert [each["outcome"] for each in row.data["checks"]] == ["failed", "passed"]
    assert len(row.sessions) == 1, "the same author, in the same session"


def start_fails_twice(yard: Yard) -> str:
    check = f"test -f {IGNORED}"
    turns = (sh(f"mkdir -p __pycache__ && touch {IGNORED} && echo 1 > twice.py"), sh(check), DONE, sh(check), DONE)
    tasks = (
        task("T-001", "twice.py", check=check),
        task("T-002", "twice_more.py", needs=("T-001",)),
        task("T-003", "twice_other.py"),
    )
    script = code_turns("T-001", *turns) + code_turns("T-003", *writes("twice_other.py"))
    return yard.start(tasks, script, plan=False)


def test_a_check_that_fails_twice_leaves_its_task_and_what_needs_it_out_and_the_rest_goes_on(yard: Yard) -> None:
    build, tasks = outcome(yard, "fails_twice")
    assert statuses(tasks) == {"T-001": "failed", "T-002": "skipped", "T-003": "complete"}
    assert (build.status, build.reason) == ("failed", "tasks_open")
    assert (tasks["T-001"].attempts, tasks["T-001"].reason) == (2, "validation")
    text = yard.tasks_file(build.id).read_text()
    assert "T-002: skipped after 0 attempt(s): It needs T-001, which will not be done." in text


def start_no_pass(yard: Yard) -> str:
    tasks = (
        verify("T-001", "sleep 60"),
        verify("T-002", "true"),
        verify("T-003", "mkdir -p none && python3 -m unittest discover -s none; true"),
    )
    return yard.start(
        tasks, "", check_seconds=1.0, parallel=3, edit=lambda text: text.replace("command: 'true'", "command: ''")
    )


def test_a_check_that_times_out_has_no_command_or_runs_no_test_is_no_pass(yard: Yard) -> None:
    build, tasks = outcome(yard, "no_pass")
    assert statuses(tasks) == dict.fromkeys(("T-001", "T-002", "T-003"), "failed")
    assert build.status == "failed"
    told = {name: row.data["checks"][0]["outcome"] for name, row in tasks.items()}
    assert tasks["T-002"].task.check == TaskCheck(command=""), "the command was taken out by hand"
    assert set(told.values()) <= {"unverified", "error", "failed"}
    assert "passed" not in told.values()


def start_finished(yard: Yard) -> str:
    """The agent does the work and never reports it as it was asked to."""
    turns = ('{calls: [{write: finished.py, content: "x = 1\\n"}]}', '{text: "I wrote the file.", times: always}')
    return yard.start((task("T-001", "finished.py"),), code_turns("T-001", *turns), plan=False)


def test_a_finished_task_is_recognised_before_a_retry_is_spent(yard: Yard) -> None:
    build, tasks = outcome(yard, "finished")
    row = tasks["T-001"]
    assert (build.status, row.task.status) == ("complete", "complete"), (build.detail, row.data.get("failures"))
    assert len(yard.events(build.id, "task.retry")) == 1
    assert len(row.sessions) == 1, "nobody was asked to do it a second time"
    assert row.attempts == 1, "and nothing was spent"


# --- a person ------------------------------------------------------------------------------------------------------


def start_syntax(yard: Yard) -> str:
    check = f"test -f {IGNORED} || python3 -c 'import syntax_error'"
    bad = (
        sh(f"mkdir -p __pycache__ && touch {IGNORED} && echo 'def (:' > syntax_error.py"),
        *(turn for _ in range(3) for turn in (sh(check), DONE)),
    )
    script = asked_with("A person looked at what went wrong", "T-001", *writes("syntax_error.py", check=check))
    return yard.start((task("T-001", "syntax_error.py", check=check),), script + code_turns("T-001", *bad), plan=False)


def test_three_syntax_errors_are_a_persons_matter_and_the_answer_lets_the_build_go_on(yard: Yard) -> None:
    build, tasks = outcome(yard, "syntax")
    row = tasks["T-001"]
    assert (build.status, build.reason) == ("stopped", "escalated"), build.detail
    assert (row.task.status, row.attempts, row.reason) == ("blocked", 3, "syntax")
    with yard.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.build_id == build.id]
    assert [option.label for option in question.options] == ["retry", "skip", "wait"]
    assert "SyntaxError" in question.context
    answer_question(yard.engine, yard.database, question.id, "Plain Python, please.", person="Ann")
    yard.until(lambda: yard.build(build.id).status == "complete", "the build goes on by itself")
    assert yard.tasks(build.id)["T-001"].task.status == "complete"
    assert [event.payload["by"] for event in yard.events(build.id, "build.resume")] == ["answer"]


def start_question(yard: Yard) -> str:
    asks = '{text: "Before I go on: which port should the server listen on, 8080 or 9090?"}'
    script = code_turns("T-001", asks, *writes("question_a.py")) + code_turns("T-002", *writes("question_b.py"))
    return yard.start((task("T-001", "question_a.py"), task("T-002", "question_b.py")), script, plan=False, parallel=1)


def test_a_blocking_question_pauses_its_task_and_the_others_go_on(yard: Yard) -> None:
    id = yard.builds["question"]  # type: ignore[attr-defined]
    yard.until(lambda: yard.tasks(id)["T-001"].state is State.QUESTION, "the task shows the question")
    yard.until(lambda: yard.tasks(id)["T-002"].task.status == "complete", "the other task is done")
    assert yard.tasks(id)["T-001"].state is State.QUESTION
    assert not yard.build(id).ended
    (session,) = yard.tasks(id)["T-001"].sessions
    resume_session(yard.engine, yard.database, session, "8080", by="Ann")
    build = yard.end(id)
    assert build.status == "complete", build.detail
    moves = [(e.payload["before"], e.payload["after"]) for e in yard.events(id, "task.state")]
    assert ("coding", "question") in moves
    assert ("question", "coding") in moves


# --- outages -------------------------------------------------------------------------------------------------------


def start_outage(yard: Yard) -> str:
    here = yard.meeting()
    crash = sh(f"test -e {here}/crashed || {{ touch {here}/crashed; kill -9 $PPID; }}")
    script = code_turns("T-001", "{error: 529, times: 12}", *writes("outage_a.py"))
    script += code_turns("T-002", crash, *writes("outage_b.py"))
    return yard.start((task("T-001", "outage_a.py"), task("T-002", "outage_b.py")), script, plan=False)


def test_a_provider_outage_and_a_crash_of_the_agent_are_no_attempts(yard: Yard) -> None:
    build, tasks = outcome(yard, "outage")
    assert build.status == "complete", build.detail
    assert {name: row.attempts for name, row in tasks.items()} == {"T-001": 1, "T-002": 1}
    for row in tasks.values():
        moves = [e.payload["after"] for e in yard.events(build.id, "task.state") if e.ids.task == row.id]
        assert moves[:3] == ["coding", "suspended", "coding"], row.task.id


# --- ends ----------------------------------------------------------------------------------------------------------


def start_too_many(yard: Yard) -> str:
    failing = tuple(verify(f"T-{n:03}", "false") for n in range(1, 5))
    return yard.start((*failing, verify("T-005", "true", priority=-1)), "", parallel=1)


def start_critical(yard: Yard) -> str:
    tasks = (verify("T-001", "false", phase="database"), verify("T-002", "true", priority=-1))
    return yard.start(tasks, "", parallel=1)


def start_too_long(yard: Yard) -> str:
    return yard.start(tuple(verify(f"T-{n:03}", "sleep 1") for n in range(1, 4)), "", parallel=1, max_seconds=0.5)


def start_dear(yard: Yard) -> str:
    tasks = tuple(task(f"T-{n:03}", f"dear_{n}.py") for n in (1, 2))
    script = "".join(code_turns(t.id, *writes(t.file)) for t in tasks)
    return yard.start(tasks, script, plan=False, parallel=1, tokens=2_000)


@pytest.mark.parametrize(
    ("name", "status", "reason", "words"),
    [
        ("too_many", "failed", "too_many_failed", "4 tasks failed: T-001, T-002, T-003, T-004."),
        ("critical", "failed", "critical_failed", "T-001 failed, and others stand on it."),
        ("too_long", "stopped", "time_limit", "its limit is 0 s"),
        ("dear", "stopped", "budget", "spending limit"),
    ],
)
def test_a_build_stops_with_its_reason(yard: Yard, name: str, status: str, reason: str, words: str) -> None:
    build, tasks = outcome(yard, name)
    assert (build.status, build.reason) == (status, reason), build.detail
    assert words in build.detail
    assert "pending" in statuses(tasks).values(), "the rest was not begun"
    (stopped,) = yard.events(build.id, "build.stopped")
    assert stopped.payload["reason"] == reason


def test_a_build_that_was_too_dear_goes_on_with_a_higher_limit(yard: Yard) -> None:
    from dataclasses import replace

    build, _ = outcome(yard, "dear")
    resume_build(yard.engine, yard.database, build.id, settings=replace(build.settings, tokens=1_000_000))
    yard.until(lambda: yard.build(build.id).status == "complete", "it goes on")
    assert len(yard.events(build.id, "task.completed")) == 2, "what was finished is not done again"


def start_stopped(yard: Yard) -> str:
    here = yard.meeting()
    yard.here = here  # type: ignore[attr-defined]
    slow = (sh("echo begun > stopped_note.txt"), sh(f"touch {here}/begun"), waits_for(here / "go"))
    script = code_turns("T-001", *slow, *writes("stopped_a.py")) + code_turns("T-002", *writes("stopped_b.py"))
    tasks = (task("T-001", "stopped_a.py"), task("T-002", "stopped_b.py", needs=("T-001",)))
    return yard.start(tasks, script, plan=False)


def test_a_stopped_build_ends_its_agents_and_goes_on_where_they_were(yard: Yard) -> None:
    id = yard.builds["stopped"]  # type: ignore[attr-defined]
    here: Path = yard.here  # type: ignore[attr-defined]
    yard.until((here / "begun").exists, "the agent works")
    want(yard.database, id, "stop")
    build = yard.end(id)
    assert (build.status, build.reason) == ("stopped", "stop_requested")
    assert statuses(yard.tasks(id)) == {"T-001": "pending", "T-002": "pending"}
    (here / "go").touch()
    resume_build(yard.engine, yard.database, id)
    yard.until(lambda: yard.build(id).status == "complete", "it goes on")
    row = yard.tasks(id)["T-001"]
    assert (row.attempts, len(row.sessions)) == (1, 1), "the same session, and no attempt more"
    files = yard.git("ls-tree", "-r", "--name-only", "build", at=Path(build.workshop)).splitlines()
    assert {"stopped_note.txt", "stopped_a.py", "stopped_b.py"} <= set(files), "what it had done is kept"


def start_paused(yard: Yard) -> str:
    here = yard.meeting()
    yard.pause = here  # type: ignore[attr-defined]
    script = code_turns("T-001", sh(f"touch {here}/begun"), waits_for(here / "go"), *writes("paused_a.py"))
    script += code_turns("T-002", *writes("paused_b.py"))
    return yard.start((task("T-001", "paused_a.py"), task("T-002", "paused_b.py")), script, plan=False, parallel=1)


def test_a_paused_build_lets_what_runs_end_and_starts_nothing_more(yard: Yard) -> None:
    id = yard.builds["paused"]  # type: ignore[attr-defined]
    here: Path = yard.pause  # type: ignore[attr-defined]
    yard.until((here / "begun").exists, "the agent works")
    want(yard.database, id, "pause")
    (here / "go").touch()
    build = yard.end(id)
    assert (build.status, build.reason) == ("stopped", "paused")
    assert statuses(yard.tasks(id)) == {"T-001": "complete", "T-002": "pending"}
    resume_build(yard.engine, yard.database, id)
    yard.until(lambda: yard.build(id).status == "complete", "it goes on")
    assert len(yard.events(id, "task.completed")) == 2


def start_by_hand(yard: Yard) -> str:
    return yard.start(
        (task("T-001", "by_hand.py"),),
        code_turns("T-001", *writes("by_hand.py")),
        plan=False,
        edit=lambda text: text.replace("## Discoveries\n", "## Discoveries\n\nAnn: mind the *leap years*.\n"),
    )


def test_what_people_wrote_into_tasks_md_is_kept(yard: Yard) -> None:
    build, _ = outcome(yard, "by_hand")
    text = yard.tasks_file(build.id).read_text()
    assert "Ann: mind the *leap years*." in text
    assert "status: complete" in text


MAKERS = {name.removeprefix("start_"): made for name, made in list(globals().items()) if name.startswith("start_")}


def test_the_persons_checkout_was_not_touched_by_any_of_it(yard: Yard) -> None:
    """The last test of the file: all builds have been at work."""
    for name in yard.builds:  # type: ignore[attr-defined]
        assert outcome(yard, name)[0].ended, name
    assert _checkout(yard) == yard.before  # type: ignore[attr-defined]
