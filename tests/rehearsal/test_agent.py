"""The scripted agent as a process: it speaks as Claude Code does, does what the script says, and can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import touchline.rehearsal
from touchline.rehearsal.script_copies import write_copy
from touchline.supervision.facts import Ended, Unread
from touchline.transcripts import read_turn

START = Path(touchline.rehearsal.__file__).with_name("agent_start.py")


class Stage:
    """A folder to work in, a script, and the agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.running: list[subprocess.Popen[bytes]] = []

    def play(self, script: str) -> None:
        (self.folder / "play.yaml").write_text(script)

    def argv(self, *flags: str) -> list[str]:
        copy = write_copy(self.folder / "play.yaml", self.folder / "copies")
        return [sys.executable, "-I", "-S", str(START), "--script", str(copy), "--folder", str(self.folder), *flags]

    def run(self, prompt: str, *flags: str, code: int = 0) -> list[dict[str, Any]]:
        done = subprocess.run(
            self.argv("-p", prompt, *flags), cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr.decode()
        return [json.loads(line) for line in done.stdout.splitlines()]

    def start(self, *flags: str) -> subprocess.Popen[bytes]:
        """Start it; it takes its prompts on standard input."""
        process = subprocess.Popen(
            self.argv("--replay-user-messages", *flags),
            cwd=self.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.running.append(process)
        return process


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    for process in made.running:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def say(process: subprocess.Popen[bytes], words: str, message_id: str = "") -> None:
    message = {"role": "user", "content": [{"type": "text", "text": words}]}
    write(process, {"type": "user", "uuid": message_id, "message": message})


def write(process: subprocess.Popen[bytes], record: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(record).encode() + b"\n")
    process.stdin.flush()


def until(process: subprocess.Popen[bytes], kind: str) -> list[dict[str, Any]]:
    """Records up to the next of a kind: a record's type, or the type of a message's block."""
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        record = json.loads(line)
        found.append(record)
        blocks = record.get("message", {}).get("content", [])
        if record["type"] == kind or any(block["type"] == kind for block in blocks):
            return found
    raise AssertionError(f"no {kind} in {found}")


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended (one that nobody has waited for yet has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def results_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    blocks = [block for record in records if record["type"] == "user" for block in record["message"]["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]


def test_files_are_written_and_commands_run(stage: Stage) -> None:
    stage.play(
        """
        turns:
          - text: I begin.
            calls:
              - {write: a/b.txt, content: "one\\n"}
              - {edit: a/b.txt, old: one, new: two}
              - {read: a/b.txt}
              - {shell: 'cat a/b.txt; exit 3'}
              - {edit: a/b.txt, old: one, new: three}
              - {raw: Fly, args: {}}
          - text: Done in ${workspace}.
        """
    )
    records = stage.run("Go.", "--session-id", "s-1", "--model", "m-1")
    assert (stage.work / "a/b.txt").read_text() == "two\n"
    results = results_of(records)
    assert [result["is_error"] for result in results] == [False, False, False, True, True, True]
    assert [results[2]["content"], results[3]["content"]] == ["1\ttwo", "Exit code 3\ntwo"]
    first, last = records[0], records[-1]
    assert (first["subtype"], first["session_id"], first["model"], first["cwd"]) == (
        "init",
        "s-1",
        "m-1",
        str(stage.work),
    )
    assert (last["result"], last["num_turns"], last["usage"]["input_tokens"]) == (f"Done in {stage.work}.", 2, 2000)
    turn = read_turn([json.dumps(record) for record in records], cli="claude")
    assert turn.ended is Ended.FINISHED
    assert not [event for event in turn.events if isinstance(event, Unread)]
    assert (turn.usage.input, turn.usage.cache_read, turn.usage.output) == (2000, 400, 100)
    assert turn.cost_usd == pytest.approx(0.00762)


def test_a_message_is_heard_at_the_next_tool_boundary(stage: Stage) -> None:
    stage.play(
        """
        turns:
          - calls: [{shell: 'echo begun > begun; until [ -e go ]; do sleep 0.02; done'}]
          - {heard: slow down, text: 'You said: ${heard}', else: {text: I heard nothing.}}
        """
    )
    process = stage.start()
    say(process, "Go.", "id-1")
    until(process, "tool_use")
    say(process, "Please slow down.", "id-2")
    write(process, {"type": "control_request", "request_id": 7, "request": {"subtype": "set_model"}})
    until(process, "control_response")  # what is written before it was read before it
    (stage.work / "go").touch()
    records = until(process, "result")
    assert [record["type"] for record in records] == ["user", "user", "assistant", "result"]
    assert (records[1]["isReplay"], records[1]["uuid"]) == (True, "id-2")
    assert records[-1]["result"] == "You said: Please slow down."
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait() == 0


def test_an_interrupt_kills_the_command_and_the_session_goes_on(stage: Stage) -> None:
    stage.play(
        """
        turns:
          - calls: [{shell: 'sleep 600 & echo $! > child; wait'}, {shell: touch never}]
          - text: Another way.
        """
    )
    process = stage.start()
    say(process, "Go.")
    until(process, "tool_use")
    while not (stage.work / "child").exists() or not (stage.work / "child").read_text().strip():
        time.sleep(0.01)
    write(process, {"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})
    records = until(process, "result")
    kinds = [record["type"] for record in records]
    assert "control_response" in kinds
    assert [result["is_error"] for result in results_of(records)] == [True, True]
    assert (records[-1]["subtype"], records[-1]["terminal_reason"]) == ("error_during_execution", "aborted_tools")
    assert not (stage.work / "never").exists()
    while alive(int((stage.work / "child").read_text())):
        time.sleep(0.01)
    say(process, "Go on.")
    assert until(process, "result")[-1]["result"] == "Another way."


def test_it_goes_on_after_it_was_killed_in_a_command(stage: Stage) -> None:
    stage.play(
        """
        turns:
          - {text: First., calls: [{shell: echo one >> log}]}
          - calls: [{shell: 'echo $$ > pid; sleep 600'}]
          - {saw: cut off, text: 'I was killed; the log has:', calls: [{shell: cat log}]}
          - text: Done.
        """
    )
    process = stage.start("--session-id", "s-1")
    say(process, "Go.")
    while not (stage.work / "pid").exists() or not (stage.work / "pid").read_text().strip():
        time.sleep(0.01)
    process.kill()
    process.wait()
    os.kill(int((stage.work / "pid").read_text()), signal.SIGKILL)  # a tool outlives its agent, as with real CLIs
    with (stage.folder / "sessions" / "s-1.jsonl").open("ab") as file:
        file.write(b'{"user": "torn')
    records = stage.run("Go on.", "--resume", "s-1")
    assert [result["content"] for result in results_of(records)] == ["one"]
    last = records[-1]
    assert last["result"] == "Done."
    assert (last["usage"]["input_tokens"], last["total_cost_usd"]) == (2000, pytest.approx(4 * 0.00381))


def test_provider_errors_are_repeated_and_then_reported(stage: Stage) -> None:
    stage.play("turns: [{error: 529, times: 2}, {text: Fine.}, {error: 401}, {drop: true, text: x, times: 5}]")
    records = stage.run("Go.", "--session-id", "s-1")
    assert [(r["error_status"], r["error"]) for r in records if r.get("subtype") == "api_retry"] == [
        (529, "overloaded"),
        (529, "overloaded"),
    ]
    assert records[-1]["result"] == "Fine."
    login = stage.run("More.", "--resume", "s-1", code=1)
    assert (login[-1]["is_error"], login[-1]["subtype"], login[-1]["api_error_status"]) == (True, "success", 401)
    assert read_turn([json.dumps(record) for record in login], cli="claude").ended is Ended.API_ERROR
    cut = stage.run("More.", "--resume", "s-1", code=1)
    assert [r["error"] for r in cut if r.get("subtype") == "api_retry"] == ["unknown", "unknown"]
    assert cut[-1]["api_error_status"] is None


def test_a_prompt_that_is_too_long_is_told_as_such(stage: Stage) -> None:
    stage.play("turns: [{error: prompt_too_long, times: always}]")
    assert stage.run("Go.", code=1)[-1]["terminal_reason"] == "prompt_too_long"


def test_the_number_of_requests_can_be_limited(stage: Stage) -> None:
    stage.play("turns: [{calls: [{shell: echo again}], times: always}]")
    records = stage.run("Go.", "--max-turns", "3", code=1)
    assert len(results_of(records)) == 3
    assert (records[-1]["subtype"], records[-1]["num_turns"]) == ("error_max_turns", 4)


def test_a_structured_answer(stage: Stage) -> None:
    stage.play("turns: [{json: {verdict: good}}]")
    records = stage.run("Judge.", "--json-schema", "{}")
    assert records[-1]["structured_output"] == {"verdict": "good"}
    assert json.loads(stage.run("Judge.")[-1]["result"]) == {"verdict": "good"}


def test_read_only_writes_nothing(stage: Stage) -> None:
    stage.play("turns: [{calls: [{write: a, content: b}, {shell: touch c}, {read: d}]}, {text: Seen.}]")
    (stage.work / "d").write_text("e\n")
    results = results_of(stage.run("Look.", "--read-only"))
    assert [result["is_error"] for result in results] == [True, True, False]
    assert "read-only" in results[0]["content"]
    assert os.listdir(stage.work) == ["d"]
    results = results_of(stage.run("Look.", "--read-only", "--confined"))
    assert [result["is_error"] for result in results] == [True, False, False]


def test_unknown_and_taken_sessions_are_refused(stage: Stage) -> None:
    stage.play("turns: [{text: Hi.}]")
    unknown = stage.run("Go.", "--resume", "s-9", code=1)
    assert unknown[-1]["errors"] == ["No conversation found with session ID: s-9"]
    stage.run("Go.", "--session-id", "s-1")
    assert "already in use" in stage.run("Go.", "--session-id", "s-1", code=1)[-1]["errors"][0]
    stage.run("Go.", "--resume", "../s-1", code=1)


def test_signals_end_it(stage: Stage) -> None:
    stage.play("turns: [{calls: [{shell: 'sleep 600'}]}]")
    process = stage.start()
    say(process, "Go.")
    until(process, "tool_use")
    process.send_signal(signal.SIGINT)
    assert until(process, "result")[-1]["subtype"] == "error_during_execution"
    assert process.wait() == 0
    process = stage.start()
    say(process, "Go.")
    until(process, "tool_use")
    process.terminate()
    assert process.wait() == 143


def test_a_script_that_needs_yaml_can_be_read_without_a_copy(stage: Stage) -> None:
    stage.play("turns: [{text: Hi.}]")
    program = ["--script", str(stage.folder / "play.yaml"), "--folder", str(stage.folder), "-p", "Go."]
    for start in (["-I", "-S", str(START)], ["-m", "touchline.rehearsal.agent"]):
        done = subprocess.run([sys.executable, *start, *program], capture_output=True, check=True)
        assert json.loads(done.stdout.splitlines()[-1])["result"] == "Hi."
    stage.play("turns: [{txt: Hi.}]")
    done = subprocess.run([sys.executable, *start, *program], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"play.yaml:1: turns[1].txt" in done.stderr
