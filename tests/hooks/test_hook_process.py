"""One hook event, one process: what it answers, what it remembers, and that no fault of it reaches the agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from touchline.hooks import entry_path
from touchline.hooks.memory import LOG_BYTES, note

pytestmark = pytest.mark.timeout(60)
HEDGED = "I have implemented the parser. It should work now."


class Agent:
    """Sends events as Claude Code does, and keeps a transcript."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.transcript = folder / "transcript.jsonl"
        self.transcript.touch()
        self.number = 0

    def send(self, raw: bytes, *arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-I", "-S", entry_path(), *(arguments or ("claude",))],
            input=raw,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], **env},
            capture_output=True,
            check=False,
        )

    def tell(self, event: str, **fields: Any) -> Any:
        """The answer to an event, or None."""
        said = {
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            "cwd": str(self.folder),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        done = self.send(json.dumps(said).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    def stop(self, words: str, **fields: Any) -> str | None:
        """Why the agent is sent back, or None."""
        answer = self.tell("Stop", last_assistant_message=words, stop_hook_active=False, background_tasks=[], **fields)
        return answer["reason"] if answer and answer.get("decision") == "block" else None

    def record(self, who: str, block: dict[str, Any]) -> None:
        self.number += 1
        message = {"role": who, "id": f"m{self.number}", "content": [block], "stop_reason": None}
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": who, "cwd": str(self.folder), "message": message}) + "\n")

    def prompted(self, words: str) -> None:
        self.record("user", {"type": "text", "text": words})

    def called(self, tool: str, args: dict[str, Any], result: str, *, failed: bool = False) -> None:
        name = f"call_{self.number}"
        self.record("assistant", {"type": "tool_use", "id": name, "name": tool, "input": args})
        self.record("user", {"type": "tool_result", "tool_use_id": name, "content": result, "is_error": failed})

    def edited(self) -> None:
        path = str(self.folder / "parser.py")
        self.called("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "The file has been updated.")

    @property
    def state(self) -> Path:
        return self.home / ".local" / "state" / "touchline"

    @property
    def log(self) -> str:
        path = self.state / "hooks.log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def test_an_unproved_completion_is_sent_back_and_a_proved_one_is_not(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    reason = agent.stop(HEDGED)
    assert reason is not None
    assert "parser.py" in reason
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    assert agent.stop("I implemented the parser; 7 tests pass.") is None
    assert agent.log == ""


def test_an_agent_that_touchline_runs_has_its_coach_already(agent: Agent) -> None:
    from touchline.processes.ending import TOKEN

    agent.prompted("Write the parser")
    agent.edited()
    said = {"session_id": "s-1", "transcript_path": str(agent.transcript), "cwd": str(agent.folder)}
    stop = json.dumps({**said, "hook_event_name": "Stop", "last_assistant_message": HEDGED}).encode()
    assert agent.send(stop, **{TOKEN: "given by a run"}).stdout == b""
    assert b"block" in agent.send(stop).stdout


def test_a_claim_against_the_record_is_named(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "Exit code 1\n3 failed, 4 passed in 0.1s", failed=True)
    reason = agent.stop("All tests pass now.")
    assert reason is not None
    assert "3 failed" in reason


def test_only_what_the_transcript_grew_by_is_read(agent: Agent) -> None:
    """What was read is overwritten; the ledger still has it."""
    agent.prompted("Write the parser")
    agent.edited()
    assert agent.stop(HEDGED) is not None
    read = agent.transcript.stat().st_size
    agent.transcript.write_bytes(b" " * (read - 1) + b"\n")
    agent.called("Bash", {"command": "ls"}, "parser.py")
    reason = agent.stop("I have implemented the parser, as asked.")
    assert reason is not None
    assert "parser.py" in reason
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    assert agent.stop("I implemented the parser; 7 tests pass.") is None


def test_a_line_that_is_still_being_written_waits_for_the_next_stop(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    whole = agent.transcript.read_bytes()
    agent.transcript.write_bytes(whole[:-20])
    agent.stop("I read the file.")
    agent.transcript.write_bytes(whole)
    reason = agent.stop(HEDGED)
    assert reason is not None
    assert "Files were changed" in reason


def test_the_cap_counts_until_a_person_speaks_whatever_the_agents_own_guard_says(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    claims = ["It should work now.", "I fixed it.", "All tests pass.", "I pushed it.", "Done.", "Finished now."]
    told = [agent.stop(f"I have implemented the parser. {claim}") for claim in claims]
    assert [words is not None for words in told] == [True, True, True, False, False, False]
    agent.tell("UserPromptSubmit", prompt="<task-notification>a task ended</task-notification>", source="system")
    assert agent.stop(HEDGED) is None
    agent.tell("UserPromptSubmit", prompt="Go on, please", source="user")
    assert agent.stop(HEDGED) is not None


def test_a_report_is_not_continued_while_a_background_task_runs(agent: Agent) -> None:
    agent.prompted("Run the tests")
    agent.called("Bash", {"command": "make test", "run_in_background": True}, "Command running in background")
    waiting = {"last_assistant_message": "I'll now wait for the tests.", "stop_hook_active": False}
    running = [{"id": "1", "type": "shell", "status": "running", "description": "make test"}]
    assert agent.tell("Stop", **waiting, background_tasks=running) is None
    assert agent.tell("Stop", **waiting, background_tasks=[])["decision"] == "block"


@pytest.mark.parametrize(
    "words",
    [
        "The parser is in src/parser.py; it splits at commas.",
        "Hello! How can I help you?",
        "Should I keep the old signature?",
        "Noted. I'll use tabs from now on.",
        "I could not find the file: it is not in the repository. Where is it?",
    ],
)
def test_conversation_is_left_alone(agent: Agent, words: str) -> None:
    agent.prompted("A word")
    assert agent.stop(words) is None


def test_a_helper_has_a_count_and_a_transcript_of_its_own(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    fields = {
        "last_assistant_message": HEDGED,
        "stop_hook_active": False,
        "agent_transcript_path": str(agent.transcript),
    }
    assert agent.tell("SubagentStop", agent_id="a1", **fields)["decision"] == "block"
    counted = [path.parent.name for path in agent.state.rglob("state.json")]
    assert counted == ["a1"]


def test_the_phase_of_the_prompt_asks_for_its_evidence(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Please /do-build the parser")
    agent.prompted("Please /do-build the parser")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    reason = agent.stop("I implemented the parser; 7 tests pass.")
    assert reason is not None
    assert "commit" in reason
    agent.tell("UserPromptSubmit", prompt="Leave it at that, thank you")
    assert agent.stop("I implemented the parser; 7 tests pass.") is None


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


def test_after_two_refusals_the_person_is_asked(agent: Agent) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    for _ in range(3):
        agent.tell("PostToolUseFailure", **call, error="Exit code 2\nno rule")
    decisions = [agent.tell("PreToolUse", **call)["hookSpecificOutput"]["permissionDecision"] for _ in range(3)]
    assert decisions == ["deny", "deny", "ask"]


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


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"not JSON\n" * 50, b"null\n", b'{"type":"user","message":5}\n'])
def test_a_transcript_that_says_nothing_usable_harms_nobody(agent: Agent, content: bytes) -> None:
    agent.transcript.write_bytes(content)
    assert agent.stop("The answer is 4.") is None
    assert agent.log == ""


def test_a_missing_transcript_is_noted_and_the_agent_goes_on(agent: Agent) -> None:
    agent.transcript.unlink()
    assert agent.stop(HEDGED) is None
    assert "let the agent go on" in agent.log
    assert "transcript.jsonl" in agent.log


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
    program = "import touchline.hooks.quick as quick; quick.SECONDS = 0.3; quick.main(['claude'])"
    with subprocess.Popen(
        [sys.executable, "-c", program],
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
