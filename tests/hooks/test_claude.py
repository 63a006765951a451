"""The coach inside the real Claude Code, which talks to a scripted model."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clis import CliHome
from tests.hooks.running import log_of, played, state_of, told

from touchline.hooks.agents_known import HOMES, Level, settings_file
from touchline.hooks.install import standing
from touchline.rehearsal.pointing import Cli

pytestmark = pytest.mark.timeout(90)

EDIT_AND_HEDGE = """
turns:
  - text: I change it.
    calls: [{write: "${workspace}/hello.py", content: "print('hello')\\n"}]
  - text: I have implemented hello.py. It should work now.
"""


def test_a_hedged_completion_is_sent_back_and_proof_passes(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    home.play(
        EDIT_AND_HEDGE
        + """
  - text: I run it now.
    calls: [{shell: "python3 hello.py"}]
  - text: I implemented hello.py; running it prints the greeting.
"""
    )
    ran = home.run("Create hello.py")
    requests = played(home)
    coached = requests[2].heard
    assert "[System Coach]" in coached
    assert "hello.py" in coached, "the coaching names what lacks proof"
    assert "should work" in coached
    assert len(requests) == 4, "the proved completion is let through"
    assert ran.all("result")[-1]["result"] == "I implemented hello.py; running it prints the greeting."
    assert log_of(home) == ""


def test_proof_counts_in_any_language(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    home.play(
        """
turns:
  - calls: [{write: "${workspace}/hello.py", content: "print('hello')\\n"}]
  - calls: [{shell: "python3 hello.py"}]
  - text: 已修复错误,程序运行正常。
"""
    )
    home.run("修复 hello.py")
    assert len(played(home)) == 3
    (kept,) = state_of(home).rglob("evidence.json")
    assert len(json.loads(kept.read_text())["ledger"]["commands"]["call"]) == 1, "the transcript was read to its end"


def test_the_cap_holds_over_the_session(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    claims = [
        "I have implemented hello.py. It should work now.",
        "I have implemented hello.py. All tests pass.",
        "Fixed hello.py, probably.",
        "I pushed it and it should be done.",
        "Done.",
    ]
    turns = "".join(f"  - text: {claim}\n" for claim in claims)
    home.play(EDIT_AND_HEDGE.rsplit("  - text", 1)[0] + turns)
    ran = home.run("Create hello.py")
    requests = played(home)
    sent_back = [one for one in requests if "[System Coach]" in one.heard]
    assert len(sent_back) == 3
    assert len(requests) == 5, "then it may stop"
    assert ran.all("result")[-1]["result"] == claims[3]
    assert any("Still open after 3 continuations" in str(line.get("content")) for line in ran.all("system")), (
        "and the person is told what is open"
    )


def test_tests_that_run_in_the_background_are_waited_for(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    home.play(
        """
turns:
  - calls: [{write: "${workspace}/hello.py", content: "print('hello')\\n"}]
  - calls: [{raw: Bash, args: {command: "sleep 2; python3 -m unittest -q", run_in_background: true}}]
  - text: I fixed hello.py and started the tests in the background.
  - text: Nothing was found to run, so hello.py is not tested.
"""
    )
    home.run("Create hello.py")
    heard = [one.heard for one in played(home)]
    assert len(heard) == 4
    assert "[System Coach]" not in "".join(heard)
    assert "<task-notification>" in heard[3], "the end of the task woke the agent, not the coach"


IN_THE_BACKGROUND = """
turns:
  - calls: [{{write: "${{workspace}}/test_sum.py", content: "{test}"}}]
  - calls: [{{raw: Bash, args: {{command: "{line}", run_in_background: true}}}}]
  - text: I wrote test_sum.py, and the tests run in the background.
  - text: I wrote test_sum.py, and all tests pass.
  - text: I cannot make them pass. Shall I leave it at that?
"""
A_TEST = "import unittest\\nclass A(unittest.TestCase):\\n  def test_a(self): self.assertEqual(2, 1 + {})\\n"


@pytest.mark.parametrize(
    ("sum", "line", "why"),
    [
        (1, "sleep 2; python3 -m unittest -q", ""),
        (2, "sleep 2; python3 -m unittest -q", "call 1 ran unittest: failed (exit code 1)"),
        (1, "sleep 2; python3 -m unittest -q | tail -3", "ended with exit code 0"),
    ],
    ids=["they passed", "they failed", "the end was another's"],
)
def test_how_tests_in_the_background_ended_counts(
    with_hooks: Callable[[Cli], CliHome], sum: int, line: str, why: str
) -> None:
    home = with_hooks("claude")
    home.play(IN_THE_BACKGROUND.format(test=A_TEST.format(sum), line=line))
    home.run("Write a test")
    heard = [one.heard for one in played(home)]
    assert "[System Coach]" not in heard[3], "the end of the task woke the agent, not the coach"
    coached = "".join(heard[4:])
    assert ("[System Coach]" in coached) is bool(why)
    assert why in coached
    assert log_of(home) == ""


def test_a_question_and_an_honest_answer_are_left_alone(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    home.play("turns: [{text: The parser is in src/parser.py. It splits the text at commas.}]")
    home.run("Where is the parser?")
    assert len(played(home)) == 1
    home.play("turns: [{text: Should I keep the old signature or change all callers?}]")
    home.run("Rename the function")
    assert len(played(home)) == 1


def test_a_loop_is_reminded_of_and_the_identical_call_refused(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    failing = '  - {text: I try., calls: [{shell: "cat nowhere.txt"}]}\n'
    home.play("turns:\n" + failing * 4 + "  - text: I cannot find nowhere.txt. Where is it?\n")
    home.run("Read nowhere.txt")
    results = told(home)
    assert "[System Coach]" not in results[1]
    assert "failed twice in a row" in results[2], "the reminder comes with the second failure"
    assert "This call was not run" in results[4]
    assert "No such file" in results[4], "with the first line of the last error"


def test_planning_refuses_to_write_code(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    home.play(
        """
turns:
  - calls: [{write: "${workspace}/code.py", content: "x = 1"}]
  - calls: [{write: "${workspace}/plan.md", content: "# Plan"}]
  - text: The plan is in plan.md. Shall I build it?
"""
    )
    home.run("Please /do-plan the parser")
    assert "You are PLANNING" in told(home)[1]
    assert not (home.workspace / "code.py").exists()
    assert (home.workspace / "plan.md").exists()


def test_lessons_are_told_when_a_session_starts(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("claude")
    lessons = home.workspace / ".touchline" / "lessons"
    lessons.mkdir(parents=True)
    (lessons / "tests.md").write_text("Run the tests with `make check`, never with pytest alone.\n")
    home.play("turns: [{text: The answer is 4.}]")
    home.run("What is 2 + 2?")
    assert "never with pytest alone" in played(home)[0].heard


@pytest.mark.parametrize(
    ("said", "off"),
    [({"user": True}, True), ({"local": True}, True), ({"user": True, "project": False}, False)],
    ids=["for all projects", "for this person", "on again nearer"],
)
def test_the_switch_that_status_sees_is_the_one_that_counts(
    with_hooks: Callable[[Cli], CliHome], said: dict[Level, bool], off: bool
) -> None:
    home = with_hooks("claude")
    for level, value in said.items():
        path = settings_file(HOMES["claude"], level, folder=home.workspace, env=home.env)
        assert path is not None
        settings = json.loads(path.read_text()) if path.exists() else {}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**settings, "disableAllHooks": value}))
    found = standing("claude", "project", folder=home.workspace, env=home.env)
    assert found is not None
    assert (found.result == "off") is off
    home.play(EDIT_AND_HEDGE + "  - text: I cannot check it here.\n")
    home.run("Create hello.py")
    assert ("[System Coach]" not in "".join(one.heard for one in played(home))) is off


def kill_program(home: CliHome) -> None:
    """Every hook is killed the hard way, before it answers however fast it is: what it is told never ends."""
    endless = home.workspace.parent / "endless"
    os.mkfifo(endless)
    _replace_command(home, f"timeout <>{endless} -s KILL 0.1 {_command(home)}")


def remove_program(home: CliHome) -> None:
    """Touchline was removed: Python leaves with the code that agents take for an order to stop."""
    _replace_command(home, _command(home).replace("/hooks/entry.py", "/gone/entry.py"))


def garble_input(home: CliHome) -> None:
    _replace_command(home, f"head -c 40 | {_command(home)}")


def hide_transcript(home: CliHome) -> None:
    _replace_command(home, f"sed 's/\\.jsonl/.gone/' | {_command(home)}")


def no_disk(home: CliHome) -> None:
    """Nothing can be written where hooks keep what they remember: a file stands in the folder's place."""
    shutil.rmtree(state_of(home))
    state_of(home).write_text("in the way")


def read_only_disk(home: CliHome) -> None:
    """The file system that hooks keep their memory on is mounted read-only, for root too."""
    folder = state_of(home)
    folder.mkdir(parents=True, exist_ok=True)
    mounted = f"mount -t tmpfs none {folder} && mount -o remount,ro {folder}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mounted], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount in a namespace of their own")
    _replace_command(home, f"unshare -rm sh -c {shlex.quote(f'{mounted} && {_command(home)}')}")


def _settings(home: CliHome) -> Path:
    return home.workspace / ".claude" / "settings.json"


def _command(home: CliHome) -> str:
    command: str = json.loads(_settings(home).read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    return command


def _replace_command(home: CliHome, command: str) -> None:
    settings = json.loads(_settings(home).read_text())
    for groups in settings["hooks"].values():
        groups[0]["hooks"][0]["command"] = command
    _settings(home).write_text(json.dumps(settings))


@pytest.mark.parametrize(
    "fault", [kill_program, remove_program, garble_input, hide_transcript, no_disk, read_only_disk]
)
def test_a_hook_that_breaks_changes_nothing(
    with_hooks: Callable[[Cli], CliHome], fault: Callable[[CliHome], None]
) -> None:
    """The very run that hooks send back, with broken hooks: as if there were none."""
    home = with_hooks("claude")
    fault(home)
    home.play(EDIT_AND_HEDGE)
    ran = home.run("Create hello.py")
    assert ran.code == 0
    assert len(played(home)) == 2
    result = ran.all("result")[-1]
    assert result["result"] == "I have implemented hello.py. It should work now."
    assert not result["is_error"]
    assert (home.workspace / "hello.py").exists()
    if fault in (garble_input, hide_transcript):
        assert "let the agent go on" in log_of(home)
