"""`touchline run`, started as a person starts it, with the scripted agent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runs import ASKS, HAPPY, HEDGES, LONG, Desk, desk
from tests.cli.test_doctor import program

from touchline.cli.run_asked import Given, asked_of
from touchline.errors import InputError, TouchlineError

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """For tests that leave no session running."""
    return desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def own(tmp_path: Path) -> Desk:
    """For tests that need a database of their own."""
    return desk(tmp_path)


def test_a_task_is_done_checked_and_shown_with_the_next_command(shared: Desk) -> None:
    (shared.repo / "notes.txt").write_text("mine")
    done = shared.done(*shared.task(HAPPY, "--check", "python3 -m unittest -q"))
    (shared.repo / "notes.txt").unlink()
    for words in (
        "Accepted",
        "check `python3 -m unittest -q`: passed",
        "app.py",
        "sandbox none (asked for",
        "1 turn, 2.50k tokens",
        "notes.txt (untracked)",
        "Next: touchline apply ",
    ):
        assert words in " ".join(done.stdout.split()), done.stdout
    assert "$ python3 -m unittest -q" in done.stderr, "progress goes to standard error"
    assert "Write app.py" in done.stderr, "paths are told from the workspace"
    assert "\x1b" not in done.stdout + done.stderr
    name = done.stdout.split("touchline apply ")[1].split()[0]
    assert not (shared.repo / "app.py").exists()
    shared.done("apply", name, "--yes")
    assert (shared.repo / "app.py").read_text() == "x = 1"
    subprocess.run(["git", "reset", "-q", "--hard", "HEAD~1"], cwd=shared.repo, check=True)


def test_a_hedged_completion_is_coached_and_the_person_sees_it_happen(shared: Desk) -> None:
    done = shared.done(*shared.task(HEDGES))
    assert "coached   [System Coach]" in done.stderr
    assert "nothing was run after the last change" in done.stderr
    assert "on the way coached once" in " ".join(done.stdout.split())


def test_json_is_events_and_then_the_result(shared: Desk) -> None:
    *events, result = shared.lines(*shared.task(HEDGES, "--max-turns", "4", "--budget-usd", "2"))
    assert {each["schema"] for each in events} == {"touchline.event/1"}
    assert [each["seq"] for each in events] == sorted({each["seq"] for each in events})
    assert {each["session"] for each in events} == {result["session"]}
    assert {"session.asked", "coaching.sent", "session.ended"} <= {each["type"] for each in events}
    assert (result["schema"], result["accepted"], result["exit_code"]) == ("touchline.run/1", True, 0)
    assert result["measures"] == {"coached": 1, "steered": 0, "nudged": 0}
    assert [run["passed"] for run in result["test_runs"]] == [1]
    assert result["next"].startswith("touchline apply")
    shown = shared.told("sessions", "show", result["session"])
    assert (shown["asked"]["turns"], shown["asked"]["usd"]) == (4, 2.0)


def test_what_is_not_accepted_leaves_with_1_and_says_what_is_missing(shared: Desk) -> None:
    script = "turns:\n  - {calls: [{write: '${workspace}/a.py', content: x}]}\n" + "  - {text: It is done.}\n" * 5
    done = shared.done(*shared.task(script, "--check", "false", "--max-turns", "2"), code=1)
    assert "Not accepted" in done.stdout
    assert "budget exhausted" in done.stdout
    assert "check `false`: no pass" in done.stdout


def test_a_question_waits_and_goes_on_with_the_answer(shared: Desk) -> None:
    done = shared.done(*shared.task(ASKS), code=5)
    assert "Waits for your answer" in done.stdout
    assert "decimal module or plain floats" in done.stdout
    command = done.stdout.split("Next: touchline ")[1].split("\n")[0]
    name = command.split()[2]
    assert command == f'sessions resume {name} "your answer" --database {shared.database}'
    assert "waits for an answer" in shared.done("sessions", "resume", name, code=2).stderr
    done = shared.done("sessions", "resume", name, "use decimal, please")
    assert "Accepted" in done.stdout
    assert "answered  use decimal, please" in done.stderr


def test_ctrl_c_stops_kindly_and_the_session_goes_on_later(own: Desk) -> None:
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        run.interrupt()
        assert run.code() == 130
        assert "Stopped" in run.said()
        assert "touchline sessions resume" in run.said()
        assert "Ctrl-C again ends it at once" in run.said()
    assert own.alive() == []
    (session,) = own.sessions()
    assert session["status"] == "stopped"
    done = own.done("sessions", "resume", session["session"][:24])
    assert "Accepted" in done.stdout
    assert "turn 2    goes on" in done.stderr


def test_sigterm_is_as_kind(own: Desk) -> None:
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        run.interrupt(signal.SIGTERM)
        assert run.code() == 143
    assert own.sessions()[0]["status"] == "stopped"


STUBBORN = """
turns:
  - {text: I begin., calls: [{shell: "trap '' INT TERM; sleep 600"}], stall: 0}
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
"""


def test_ctrl_c_twice_ends_at_once_and_loses_nothing(own: Desk) -> None:
    with own.running(*own.task(STUBBORN)) as run:
        run.until("sleep 600")
        run.interrupt()
        run.interrupt()
        assert run.code() == 130
        told = re.search(r"touchline (sessions) (resume) (\S+)", run.said())
    assert own.alive() == []
    assert told, "it says how to go on"
    done = own.done(*told.groups())
    assert "Accepted" in done.stdout


def test_a_killed_run_can_be_resumed_with_a_word(own: Desk) -> None:
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        run.process.kill()
        run.process.wait()
    (session,) = own.sessions()
    done = own.done("sessions", "resume", session["session"], "Please be quick.")
    assert "Accepted" in done.stdout
    assert own.alive() == []


def test_what_another_process_runs_is_not_resumed_beside_it(own: Desk) -> None:
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        (session,) = own.sessions()
        assert "is running" in own.done("sessions", "resume", session["session"], code=2).stderr
        run.interrupt()
        assert run.code() == 130


def test_a_killed_run_goes_on_where_it_was(own: Desk) -> None:
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        run.process.kill()
        run.process.wait()
    (session,) = own.sessions()
    assert session["status"] == "running"
    done = own.done("sessions", "follow", session["session"])
    assert "Accepted" in done.stdout
    assert "cut off by a crash of Touchline" in done.stderr
    assert own.alive() == []


def test_two_runs_on_one_database_the_second_follows_and_takes_over(own: Desk) -> None:
    with own.running(*own.task(LONG, task="The first task.")) as first:
        first.until("$ sleep 600")
        with own.running(*own.task(LONG, task="The second task.")) as second:
            second.until("Another process runs the work of this database")
            second.until("$ sleep 600")
            first.interrupt()
            first.until("1 other session of this database runs in this process")
            assert second.process.poll() is None
            first.interrupt()
            assert first.code() == 130
            second.until("this one goes on with it")
            assert second.code() == 0
            assert "Accepted" in second.said()
    assert own.alive() == []
    assert sorted(each["status"] for each in own.sessions()) == ["delivered", "stopped"]


def test_no_wait_says_whether_anything_runs_it_and_a_worker_does(own: Desk) -> None:
    done = own.done(*own.task(HAPPY, "--no-wait"))
    assert "Nothing runs it yet" in done.stderr
    id = done.stdout.strip()
    assert own.sessions()[0]["session"] == id
    with own.running("worker") as worker:
        worker.until("is at work")
        done = own.done(*own.task(HAPPY, "--no-wait"))
        assert "Another process runs it" in done.stderr
        done = own.done("sessions", "follow", done.stdout.strip())
        assert "Accepted" in done.stdout
        assert "Accepted" in own.done("sessions", "follow", id).stdout
        worker.interrupt()
        assert worker.code() == 0


def refused(at: Desk, *arguments: str | Path, **env: str) -> str:
    done = at.done(*arguments, code=2, **env)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_without_any_agent_it_says_how_to_get_one(shared: Desk, tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to(_git())
    words = refused(shared, "run", "Do it", PATH=str(tmp_path))
    assert "No agent CLI is on the PATH" in words
    assert "@anthropic-ai/claude-code" in words
    assert "make demo" in words
    assert "not installed" in refused(shared, "run", "Do it", "--agent", "codex", PATH=str(tmp_path))


def _git() -> str:
    import shutil

    found = shutil.which("git")
    assert found is not None
    return found


def test_where_no_agent_was_started_none_is_said_to_have_claimed_nothing(own: Desk) -> None:
    (own.folder / "workspaces").write_text("no folder, so no clone")
    failed = own.done(*own.task(HAPPY, "--check", "true"), code=1).stdout
    assert "Failed" in failed
    assert "check `true`: not run, no agent was started" in failed
    (own.folder / "workspaces").unlink()
    silent = "turns:\n  - text: I have looked at the sources. Next I will write the function.\n"
    done = own.done(*own.task(silent, "--check", "true", "--max-turns", "1"), code=1).stdout
    assert "check `true`: not run, the agent claimed no completion" in done


def test_a_check_that_nothing_would_confine_is_refused_before_anything_starts(shared: Desk, tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to(_git())
    program(tmp_path, "claude", "echo 2.1.325")
    asked = ("run", "Do it unconfined", "--agent", "claude", "--check", "true")
    without = refused(shared, *asked, PATH=str(tmp_path))  # no bubblewrap: the agent's own sandbox is the best there is
    assert "The check would run unconfined" in without
    assert "`--sandbox none`" in without
    assert "apt install bubblewrap" in without
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert "The check would run unconfined" in refused(shared, *asked, "--sandbox", "own", PATH=path)
    assert [each for each in shared.sessions() if each["task"] == "Do it unconfined"] == []


def test_wrong_input_is_refused_before_anything_starts(shared: Desk) -> None:
    script = shared.script(HAPPY)
    assert "There is no agent 'nobody'" in refused(shared, "run", "Do it", "--agent", "nobody")
    words = refused(shared, "run", "Do it", "--script", script, "--budget-usd", "-1", "--sandbox", "none")
    assert "--budget-usd: -1 is no limit" in words
    assert [each for each in shared.sessions() if each["task"] == "Do it"] == []


NOWHERE = Path("nowhere")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"agent": "nobody", "script": None}, "There is no agent 'nobody'"),
        ({"agent": "scripted", "script": None}, "needs a script"),
        ({"script": NOWHERE}, "nowhere"),
        ({"agent": "claude"}, "--script is for the scripted agent"),
        ({"budget_usd": -1.0}, "--budget-usd: -1 is no limit"),
        ({"budget_usd": float("nan")}, "--budget-usd: nan is no limit"),
        ({"max_turns": 0}, "--max-turns: 0 is no limit"),
        ({"max_seconds": float("inf")}, "--max-seconds: inf is no limit"),
        ({"plan": NOWHERE}, "--plan: there is no file nowhere"),
        ({"phase": "dreaming"}, "'dreaming' is not known"),
        ({"sandbox": "jail"}, "'jail' is not known"),
        ({"sandbox": "own"}, "no sandbox of its own"),
        ({"folders": (NOWHERE,)}, "--folder: there is no folder nowhere"),
        ({"contract": Path("broken.json")}, "broken.json is no JSON"),
        ({"contract": Path("empty.json")}, "asks for nothing"),
        ({"contract": Path("list.json")}, "must be an object"),
        ({"contract": NOWHERE}, "nowhere cannot be read"),
        ({"repository": NOWHERE}, "there is no folder nowhere"),
        ({"repository": Path("/")}, "is not in a git repository"),
        ({"task": "  "}, "There is no task"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_wrong_option_is_named_with_its_value(
    shared: Desk, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(shared.repo)
    for name, content in (("broken", "{"), ("empty", "{}"), ("list", "[1]")):
        (shared.repo / f"{name}.json").write_text(content)
    asked: dict[str, Any] = {"task": "Do it", "script": shared.script(HAPPY), "sandbox": "none", **given}
    with pytest.raises(TouchlineError) as refusal:
        asked_of(Given(**asked), shared.env)
    assert words in refusal.value.message
    assert refusal.value.hint


def test_a_plan_in_the_repository_is_named_as_the_agent_finds_it(shared: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared.repo)
    given: dict[str, Any] = {"task": "Do it", "script": shared.script(HAPPY), "sandbox": "none"}
    assert asked_of(Given(**given, plan=Path("README.md")), shared.env).plan == "README.md"
    (shared.repo / "new.md").write_text("# Plan")
    assert asked_of(Given(**given, plan=Path("new.md")), shared.env).plan == str(shared.repo / "new.md")


def test_a_repository_without_a_commit_is_refused(shared: Desk, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "new")], check=True)
    words = refused(shared, "run", "Do it", "--script", shared.script(HAPPY), "--repository", tmp_path / "new")
    assert "has no commit yet" in words


def test_a_contract_and_a_plan_reach_the_agent(shared: Desk) -> None:
    (shared.folder / "plan.md").write_text("# Plan\n\n## Success criteria\n\n- the sum is right\n")
    (shared.folder / "contract.json").write_text(json.dumps({"tokens": [{"name": "report", "type": "path"}]}))
    script = """
find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}
turns:
  - {calls: [{write: "${workspace}/report.md", content: "# It"}, {shell: python3 -m unittest -q}]}
  - {text: "The report is written and the tests pass: 1 test, OK."}
  - {heard: Reply with these lines only, text: "report = ${workspace}/report.md\\n${marker}"}
"""
    more = ("--contract", shared.folder / "contract.json", "--plan", shared.folder / "plan.md")
    *_, result = shared.lines(*shared.task(script, *more, "--phase", "document", task="Write a report."), code=0)
    assert (result["recovered_by"], result["measures"]["nudged"]) == ("nudge", 1)
    assert result["values"]["report"].endswith("/report.md")


@pytest.mark.skipif(sys.platform != "linux", reason="terminals are opened as Linux does it")
def test_on_a_terminal_the_question_is_asked_right_there(own: Desk) -> None:
    from tests.cli.screens import Screen

    with Screen(own.command(*own.task(ASKS)), cwd=own.repo, env={**own.env, "TERM": "xterm-256color"}) as screen:
        screen.until("Your answer")
        screen.write("use decimal\n")
        screen.until("Accepted")
        assert screen.code() == 0
    with Screen(own.command(*own.task(ASKS)), cwd=own.repo, env={**own.env, "TERM": "xterm-256color"}) as screen:
        screen.until("Your answer")
        screen.write("\n")
        screen.until("Waits for your answer")
        assert screen.code() == 5


@pytest.mark.skipif(sys.platform != "linux", reason="terminals are opened as Linux does it")
def test_on_a_terminal_the_work_is_shown_and_ctrl_c_is_obeyed(own: Desk) -> None:
    from tests.cli.screens import Screen

    with Screen(own.command(*own.task(LONG)), cwd=own.repo, env={**own.env, "TERM": "xterm-256color"}) as screen:
        screen.until("› $ sleep 600")
        screen.until("turn 1 · 1.20k tokens")
        screen.write("\x03")
        screen.until("Stopped  session")
        assert screen.code() == 130
    assert own.alive() == []


@pytest.mark.parametrize("agent", ["opencode", "gemini"])
def test_what_the_agent_cannot_do_is_told_before_anything_starts(own: Desk, tmp_path: Path, agent: str) -> None:
    contract = tmp_path / "contract.json"
    contract.write_text('{"schema": {"type": "object"}}')
    program(tmp_path / "bin", agent, "echo 9.9")
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    given = Given(task="Do it.", agent=agent, repository=own.repo, sandbox="none")
    asked_of(given, env)
    with pytest.raises(InputError, match="JSON schema"):
        asked_of(replace(given, contract=contract), env)
    with pytest.raises(InputError, match="one of its skills"):
        asked_of(replace(given, skill="review"), env)
