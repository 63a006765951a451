"""`touchline build` as a person types it: start, status, follow, pause, stop, resume, apply; and the demo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import environment, started, touchline
from tests.cli.projects import Project
from tests.cli.test_doctor import program
from tests.sessions.house import repository

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_from_start_to_apply_in_lines_and_json(project: Project) -> None:
    (project.folder / "go").touch()
    done = project.run(*project.start(), "--json")
    *events, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["type"] for event in events} >= {"build.started", "task.started", "agent.called", "task.completed"}
    assert (last["schema"], last["status"]) == ("touchline.build/1", "complete")
    assert [task["status"] for task in last["tasks"]] == ["complete", "complete"]
    assert last["cost"]["work"]["tokens"] > 0
    shown = project.said("build", "status")
    assert shown["id"] == last["id"]
    assert shown["cost"]["supervision"] == {"tokens": 0, "usd": 0.0, "untold": 0, "estimated": False}
    words = project.run("build", "status").stdout
    assert f"touchline apply {last['id']}" in words
    assert "T-002" in words
    again = project.run(*project.start(), code=2).stderr
    assert f"The build {last['id']} has finished T-001, T-002, and your branch does not have that work." in again
    assert again.splitlines()[-1].endswith("--finished anew")
    assert "'no' is not known" in project.run(*project.start(), "--finished", "no", code=2).stderr
    applied = project.run("apply", last["id"], "--yes").stdout
    assert "Applied to main" in applied
    log = subprocess.run(["git", "log", "--format=%s"], cwd=project.repo, capture_output=True, text=True, check=True)
    assert log.stdout.splitlines() == ["T-002: The second", "T-001: The first", "Begin"]
    refused = project.run("build", "resume", code=2)
    assert "is complete" in refused.stderr
    Path(last["workshop"]).parent.rename(project.folder / "away")
    assert "is gone" in project.run("apply", last["id"], "--yes", code=2).stderr


def test_ctrl_c_once_pauses_and_twice_stops_and_both_go_on(project: Project) -> None:
    running = started(*project.start(), **project.env)
    try:
        project.until(project.folder / "begun")
        running.send_signal(signal.SIGINT)
        assert running.stderr is not None
        _until_said(running, "Pausing")
        assert project.said("build", "status")["wanted"] == "pause"
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=90)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 130, errors
    assert "stopped (stop requested)" in out
    (project.folder / "go").touch()
    done = project.run("build", "resume")
    assert "complete" in done.stdout
    assert "T-001" in done.stderr, "plain lines where nobody watches"
    assert project.said("build", "status")["runs"] == 2


def test_started_by_one_and_stopped_by_another(project: Project) -> None:
    handed = project.run(*project.start(), "--no-wait")
    id = handed.stdout.strip()
    assert "Nothing runs it yet" in handed.stderr
    running = started("build", "follow", **project.env)
    try:
        project.until(project.folder / "begun")
        beside = touchline("build", "pause", **project.env)
        assert "No further task is started" in beside.stderr
        stopped = project.said("build", "stop")
        assert (stopped["id"], stopped["status"], stopped["reason"]) == (id, "stopped", "stop_requested")
        running.communicate(timeout=90)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 1
    assert [task["status"] for task in stopped["tasks"]] == ["pending", "pending"]


def test_wrong_input_is_told_before_anything_starts(project: Project) -> None:
    for options, words in (
        (("--parallel", "0"), "--parallel: 0 is no limit"),
        (("--level", "deep"), "'deep' is no level"),
        (("--sandbox", "steel"), "'steel' is no level"),
        (("--judge", "claude"), "'claude' is no model"),
        (("--judge", "cli:nobody"), "cli:nobody: "),
        (("--judge", "scripted:nowhere.yaml"), "nowhere.yaml cannot be read"),
        (("nowhere",), "there is no specification 'nowhere'"),
    ):
        assert words in project.run(*project.start(), *options, code=2).stderr
    assert "There is no build yet" in project.run("build", "status", code=2).stderr
    model = ("--model", f"scripted:{project.folder / 'answers.yaml'}")
    where = ("--repository", project.repo, "--folder", project.folder / "second")
    project.run("spec", "new", project.folder / "brief.md", *model, *where)
    refused = project.run(*project.start(), code=2).stderr
    assert "is waiting, not approved" in refused
    assert "touchline spec approve" in refused


def test_the_next_command_of_a_refusal_names_the_database_that_was_named(project: Project) -> None:
    id = project.run(*project.start(), "--no-wait").stdout.strip()
    named = ("--database", project.folder / "app.db")
    for arguments, step in (
        (("build", "resume"), f"touchline build follow {id}"),
        (("build", "status", "build_nowhere"), "touchline build start"),
        (("apply", id), f"See: touchline build status {id}"),
        (("inbox", "show", "nobody"), "See: touchline inbox list"),
        (("sessions", "show", "nobody"), "See: touchline sessions list"),
        (("spec", "revise", "", " "), "touchline spec revise"),
    ):
        last = project.run(*arguments, *named, code=2).stderr.splitlines()[-1]
        assert last.startswith(step)
        assert last.endswith(f" --database {project.folder / 'app.db'}"), last
        assert "--database" not in project.run(*arguments, code=2).stderr, "found again without being named"


def test_a_wrong_judge_can_be_corrected_at_the_resumption(project: Project) -> None:
    project.run(*project.start(), "--no-wait")
    project.run("build", "stop")
    project.run("build", "follow", code=1)
    assert "'claude' is no model" in project.run("build", "resume", "--judge", "claude", code=2).stderr
    judge = f"scripted:{project.folder / 'answers.yaml'}"
    project.run("build", "resume", "--judge", judge, "--model", "big", "--may-install", "--no-wait")
    settings = project.said("build", "status")["settings"]
    assert (settings["judge"], settings["model"], settings["may_install"]) == (judge, "big", True)
    assert settings["agent"] == "scripted"


def test_checks_that_nothing_would_confine_are_refused_before_anything_starts(project: Project) -> None:
    program(project.folder / "bin", "claude", "echo 2.1.325")
    project.env["PATH"] = f"{project.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    start = ("build", "start", "--agent", "claude", "--sandbox", "own", "--repository", project.repo)
    for options in ((), ("--no-plan",)):
        refused = project.run(*start, *options, code=2).stderr
        assert "The check would run unconfined" in refused
        assert "`--sandbox none`" in refused
    assert "There is no build yet" in project.run("build", "status", code=2).stderr


def test_a_build_that_nothing_has_verified_as_a_whole_is_no_success(project: Project) -> None:
    git = ["git", "-C", str(project.repo), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for command in (["rm", "-q", "test_sample.py"], ["commit", "-q", "-m", "No tests"]):
        subprocess.run([*git, *command], check=True)
    (project.folder / "go").touch()
    shown = project.run(*project.start(), code=1).stdout
    assert "complete (unverified)" in shown
    assert "2 of 2 tasks complete" in shown


def test_what_was_edited_after_its_approval_is_looked_at_again(project: Project) -> None:
    path = project.folder / "spec" / "tasks.md"
    text = path.read_text()
    command = next(line for line in text.splitlines() if line.strip().startswith("command:"))
    path.write_text(text.replace(command, command.partition(":")[0] + ": ''", 1))
    try:
        refused = project.run(*project.start(), code=2).stderr
    finally:
        path.write_text(text)
    assert "it is not ready" in refused
    assert "It has no check" in refused
    assert "There is no build yet" in project.run("build", "status", code=2).stderr


def test_the_newest_specification_is_not_built_in_another_repository(project: Project) -> None:
    other = repository(project.folder / "other")
    options = ("--script", project.folder / "script.yaml", "--sandbox", "none", "--repository", other)
    refused = project.run("build", "start", *options, code=2).stderr
    assert "is for the repository 'repo', and this is 'other'" in refused
    assert "There is no build yet" in project.run("build", "status", code=2).stderr
    named = project.said("build", "start", project.folder / "other" / ".." / "spec", *options, "--no-wait")
    assert named["repository"] == str(other), "named, it is what was meant"


@pytest.mark.timeout(180)
def test_the_demo_goes_from_a_brief_to_a_tested_program(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = touchline("demo", "--build", "--keep", kept)
    assert done.returncode == 0, done.stdout + done.stderr
    said_there = " ".join(done.stdout.split())
    for words in (
        "two agents work at the same time",
        "You are PLANNING",
        "review: needs changes. `git fetch` cannot work here",
        "it does not pass: exit code 1",
        "python3 -m unittest discover -s tests -t .: 6 passed",
        "commit",
        "your own branch and files are untouched",
    ):
        assert words in said_there, words
    url = f"sqlite:///{kept / 'demo.db'}"
    assert touchline("apply", "build", "--yes", "--database", url).returncode == 0
    ran = subprocess.run(
        ["python3", "-m", "split", "100.00", "Ann", "Bob", "Cyd"],
        cwd=kept / "split",
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "Ann 33.34\nBob 33.33\nCyd 33.33\n"


def _until_said(running: subprocess.Popen[str], words: str) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if words in line:
            return
    raise AssertionError(f"never said: {words}")
