"""One hook event, one process: what it answers, what it remembers, and that no fault of it reaches the agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.agent import Agent

from touchline.hooks import entry_path
from touchline.hooks.memory import DAYS_KEPT, LOG_BYTES, note

pytestmark = pytest.mark.timeout(60)


def test_only_documents_are_written_while_planning(agent: Agent) -> None:
    def refused(path: str, **fields: Any) -> bool:
        said = agent.tell("PreToolUse", tool_name="Write", tool_input={"file_path": path}, **fields)
        return said is not None and said["hookSpecificOutput"]["permissionDecision"] == "deny"

    assert not refused("/w/a.py")
    assert refused("/w/a.py", permission_mode="plan")
    assert not refused("/w/plan.md", permission_mode="plan")
    agent.tell("UserPromptSubmit", prompt="/do-plan the parser")
    assert refused("/w/a.py")
    assert refused("/w/a.py", agent_id="helper-1"), "a helper is bound by what the person asked for, too"
    assert not refused("/w/plan.md", agent_id="helper-1")


def test_plan_mode_reminds_a_failing_planner_once(agent: Agent) -> None:
    call = {"tool_name": "Bash", "permission_mode": "plan", "error": "Exit code 128\nread-only"}
    first = agent.tell("PostToolUseFailure", tool_input={"command": "git fetch"}, **call)
    assert "You are PLANNING" in first["hookSpecificOutput"]["additionalContext"]
    again = agent.tell("PostToolUseFailure", tool_input={"command": "git pull"}, **call)
    assert again is None


def test_an_interrupted_call_is_no_failure(agent: Agent) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "interrupted", "is_interrupt": True}
    assert [agent.tell("PostToolUseFailure", **call) for _ in range(4)] == [None] * 4


def test_what_a_person_says_allows_the_same_call_again(agent: Agent) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    for _ in range(3):
        agent.tell("PostToolUseFailure", **call, error="Exit code 2\nno rule")
    refused = agent.tell("PreToolUse", **call)["hookSpecificOutput"]
    assert refused["permissionDecision"] == "deny"
    assert "no rule" in refused["permissionDecisionReason"]
    agent.tell("UserPromptSubmit", prompt="I added the rule, try again")
    assert agent.tell("PreToolUse", **call) is None


@pytest.mark.parametrize(
    ("tool", "args", "answers"),
    [
        ("Bash", {"command": "sleep 30; gh pr checks 12"}, ["build pending"] * 4),
        ("Bash", {"command": "./bench"}, ["0 ms", "1 ms", "2 ms", "3 ms"]),
        ("mcp__playwright__browser_press_key", {"key": "ArrowDown"}, ["ok"] * 4),
    ],
    ids=["waiting", "measuring", "pressing"],
)
def test_who_waits_measures_or_presses_is_left_alone(
    agent: Agent, tool: str, args: dict[str, str], answers: list[str]
) -> None:
    call = {"tool_name": tool, "tool_input": args}
    for each in answers:
        assert agent.tell("PreToolUse", **call) is None
        assert agent.tell("PostToolUse", **call, tool_response={"stdout": each, "stderr": ""}) is None


def test_after_two_refusals_the_person_is_asked(agent: Agent) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    for _ in range(3):
        agent.tell("PostToolUseFailure", **call, error="Exit code 2\nno rule")
    decisions = [agent.tell("PreToolUse", **call)["hookSpecificOutput"]["permissionDecision"] for _ in range(3)]
    assert decisions == ["deny", "deny", "ask"]


def test_a_call_that_two_levels_of_settings_tell_of_counts_once(agent: Agent) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_response": "ok"}
    for number in range(2):
        for _ in range(2):
            assert agent.tell("PostToolUse", tool_use_id=f"call-{number}", **call) is None
    assert json.loads(next(agent.state.rglob("state.json")).read_text())["calls"] == 2


def test_calls_that_end_at_the_same_time_are_all_counted(agent: Agent) -> None:
    def one(number: int) -> None:
        agent.tell(
            "PostToolUse", tool_name="Read", tool_input={"file_path": f"/w/long-name-{number}"}, tool_response="x"
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(24)))
    state = json.loads(next(agent.state.rglob("state.json")).read_text())
    assert state["calls"] == 24


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"[]", b"null", b'"words"', b"\xff\xfe", b"{}", b"[" * 100_000),
        b'{"hook_event_name": "Stop"}',
        b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_input": 1}',
        b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_input": []}',
        b'{"session_id": ["s"], "hook_event_name": {"a": 1}, "prompt": 7}',
        b'{"session_id": "../../etc", "hook_event_name": "UserPromptSubmit", "prompt": "x"}',
        b'{"session_id": "s", "hook_event_name": "Brand new event"}',
    ],
)
def test_whatever_comes_in_nothing_comes_out(agent: Agent, raw: bytes) -> None:
    done = agent.send(raw)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_unknown_agent_is_noted(agent: Agent) -> None:
    assert agent.send(b"{}", "somebody").returncode == 0
    assert "unknown input" in agent.log


@pytest.mark.parametrize("rubbish", ["", "{", "[]", '{"last": 5, "known": [], "calls": "x", "work": 3}'])
def test_a_memory_that_was_garbled_harms_nobody(agent: Agent, rubbish: str) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    agent.tell("PostToolUseFailure", **call, error="Exit code 2")
    agent.prompted("A word")
    agent.stop("The answer is 4.")
    for path in next(agent.state.rglob("state.json")).parent.iterdir():
        path.write_text(rubbish)
    for _ in range(2):
        agent.tell("PostToolUseFailure", **call, error="Exit code 2")
        agent.tell("PreToolUse", **call)
    agent.stop("The answer is 4.")
    assert agent.log == "", "it begins anew"


def test_a_folder_that_cannot_be_written_harms_nobody(agent: Agent) -> None:
    said = json.dumps({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}})
    done = agent.send(said.encode(), "claude", XDG_STATE_HOME="/proc/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_that_hangs_gives_up_by_itself(agent: Agent) -> None:
    """Nobody ends the input, as when an agent breaks in the middle of a hook."""
    program = (
        "import sys; import touchline.hooks.quick as quick; quick.SECONDS = 0.3; "
        "quick.main(['claude'], {'HOME': sys.argv[1]})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(agent.home)],
        stdin=subprocess.PIPE,
        env={"HOME": str(agent.home), "PATH": os.environ["PATH"]},
    ) as hanging:
        assert hanging.wait(30) == 0
    assert "not done within 0.3 s" in agent.log


def test_the_log_is_turned_over(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    for _ in range(LOG_BYTES // 1_000 + 20):
        note(env, "x" * 1_000)
    sizes = sorted(path.stat().st_size for path in (tmp_path / "touchline").iterdir())
    assert len(sizes) == 2
    assert max(sizes) < LOG_BYTES + 3_000


def test_lessons_are_told_newest_first_and_bounded(agent: Agent) -> None:
    assert agent.tell("SessionStart", source="startup") is None
    lessons = agent.folder / ".touchline" / "lessons"
    lessons.mkdir(parents=True)
    for number in range(12):
        (lessons / f"{number}.md").write_text(f"Lesson {number}. " + "word " * 100)
        os.utime(lessons / f"{number}.md", (number, number))
    (lessons / "notes.txt").write_text("no lesson")
    told = agent.tell("SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]
    assert told.index("Lesson 11.") < told.index("Lesson 10.")
    assert len(told) < 4_500
    assert "no lesson" not in told


def test_a_lesson_that_is_a_link_is_not_told(agent: Agent) -> None:
    secret = agent.folder / "secret.md"
    secret.write_text("the key is 42")
    lessons = agent.folder / ".touchline" / "lessons"
    lessons.mkdir(parents=True)
    (lessons / "a.md").symlink_to(secret)
    assert agent.tell("SessionStart", source="startup") is None
    (lessons / "b.md").write_text("Use tabs.")
    told = agent.tell("SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]
    assert "Use tabs." in told
    assert "42" not in told
    elsewhere = agent.folder / "elsewhere"
    elsewhere.mkdir()
    secret.rename(elsewhere / "secret.md")
    shutil.rmtree(lessons)
    lessons.symlink_to(elsewhere)
    assert agent.tell("SessionStart", source="startup") is None


def test_sessions_long_over_are_forgotten_and_others_kept(agent: Agent) -> None:
    for session in ("old", "young"):
        agent.tell("UserPromptSubmit", prompt="x", session_id=session)
    folder = agent.state / "hooks"
    for path, days in ((folder / "claude-old", DAYS_KEPT + 1), (folder / "claude-young", DAYS_KEPT - 1)):
        long_ago = time.time() - days * 86_400
        os.utime(path, (long_ago, long_ago))
    agent.tell("SessionStart", source="startup")
    assert {path.name for path in folder.iterdir()} == {"claude-young", "claude-s-1"}


def test_a_fault_of_loading_a_hook_is_noted_too(agent: Agent, tmp_path: Path) -> None:
    """From a copy with a module that does not load, as in the middle of an update."""
    home = tmp_path / "packages"
    shutil.copytree(Path(entry_path()).parents[1], home / "touchline", ignore=shutil.ignore_patterns("__pycache__"))
    entry = home / "touchline" / "hooks" / "entry.py"
    for broken in (entry.with_name("begin.py"), home / "touchline" / "kept_file.py"):
        whole = broken.read_text()
        broken.write_text("this is no Python\n")
        done = _sent(agent, entry)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert f"{broken.name}" in agent.log
        broken.write_text(whole)
        (agent.state / "hooks.log").unlink()


def test_a_hook_runs_from_a_folder_whose_name_is_no_text(agent: Agent, tmp_path: Path) -> None:
    home = tmp_path / os.fsdecode(b"odd \xff folder")
    shutil.copytree(Path(entry_path()).parents[1], home / "touchline", ignore=shutil.ignore_patterns("__pycache__"))
    for _ in range(2):
        done = _sent(agent, home / "touchline" / "hooks" / "entry.py", hook_event_name="PostToolUse", tool_name="Read")
        assert (done.returncode, done.stderr) == (0, b"")
    assert agent.log == ""
    assert len(list(agent.state.rglob("calls.jsonl"))) == 1


def _sent(agent: Agent, entry: Path, **fields: str) -> subprocess.CompletedProcess[bytes]:
    said = {"session_id": "s-1", "hook_event_name": "SessionStart", "cwd": str(agent.folder), **fields}
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(entry), "claude"]
    env = {"HOME": str(agent.home), "PATH": os.environ["PATH"]}
    return subprocess.run(command, input=json.dumps(said).encode(), env=env, capture_output=True, check=False)


@pytest.mark.parametrize("place", ["pipe", "other", "nowhere"])
def test_whatever_stands_in_the_place_of_a_kept_file_a_stop_is_judged(agent: Agent, place: str) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    hedged = "I have implemented the parser. It should work now."
    assert agent.stop(hedged) is not None
    cache = agent.home / ".cache" / "touchline"
    (hooks,), (rules,) = cache.glob("hooks-*.bin"), cache.glob("rules-*.bin")
    if place == "pipe":
        for file in (hooks, rules):
            file.unlink()
            os.mkfifo(file)
    elif place == "other":
        shutil.copyfile(hooks, rules)
    env = {"XDG_CACHE_HOME": "/proc/nothing"} if place == "nowhere" else {}
    agent.said(hedged)
    told = {"session_id": "s-2", "transcript_path": str(agent.transcript), "hook_event_name": "Stop"}
    done = agent.send(json.dumps({**told, "last_assistant_message": hedged}).encode(), **env)
    assert b'"block"' in done.stdout
    assert agent.log == ""
