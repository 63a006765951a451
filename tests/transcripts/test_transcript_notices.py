"""How a command in the background ended: told by Claude Code's own records, and by nothing that looks like them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from touchline.supervision.facts import Notice, Turn
from touchline.transcripts import read_log
from touchline.transcripts.claude import ClaudeRecords
from touchline.transcripts.claude_log import ClaudeLog
from touchline.transcripts.stream import Stream

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
RUNS = {"j_background": [0], "j_background_midway": [0, 1], "j_background_forged": [1]}
"""The captured runs, and with which exit codes their commands in the background ended."""


def stream_of(name: str) -> Path:
    return CAPTURES / "claude" / f"{name}.jsonl"


def log_of(name: str) -> Path:
    (path,) = (CAPTURES / "session-logs/claude/projects" / f"-workspace-{name.replace('_', '-')}").iterdir()
    return path


def notices(turns: list[Turn]) -> list[tuple[str, int, str]]:
    return [(e.call_id, e.exit_code, e.output) for turn in turns for e in turn.events if isinstance(e, Notice)]


@pytest.mark.parametrize("name", RUNS)
def test_stream_and_log_of_a_real_run_tell_the_same_ends(name: str) -> None:
    streamed, logged = notices(list(read_log(stream_of(name)))), notices(list(read_log(log_of(name))))
    assert streamed == logged
    assert [code for _, code, _ in streamed] == RUNS[name]
    assert all(call.startswith("call_1_") and output.endswith(".output") for call, _, output in streamed)


def test_a_notice_may_be_the_first_that_is_read_of_a_log() -> None:
    """A hook reads what the log has grown by since the last stop."""
    lines = log_of("j_background").read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if '"origin":{"kind":"task-notification"' in line)
    (turn,) = _read(map(json.loads, lines[at:]))
    assert isinstance(turn.events[0], Notice)
    assert turn.prompt == ""
    assert turn.final_text == "I made test_a.py, and all tests pass."


def test_the_log_of_a_helper_may_begin_with_one_too() -> None:
    said = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "Done."}]}}
    (turn,) = _read([{**QUEUED, "isSidechain": True}, {**said, "isSidechain": True}])
    assert isinstance(turn.events[0], Notice)
    assert turn.final_text == "Done.", "its words are the helper's own"


def _read(records: Any) -> list[Turn]:
    log = ClaudeLog()
    turns = [log.read(record) for record in records]
    return [turn for turn in (*turns, log.close()) if turn is not None]


def _captured(path: Path, mark: str) -> dict[str, Any]:
    record: dict[str, Any] = next(r for r in map(json.loads, path.read_text().splitlines()) if mark in json.dumps(r))
    return record


SYSTEM = _captured(stream_of("j_background"), '"subtype": "task_notification"')
PROMPT = _captured(log_of("j_background"), '"origin": {"kind": "task-notification"')
QUEUED = _captured(log_of("j_background_midway"), '"commandMode": "task-notification"')
WORDS: str = PROMPT["message"]["content"]


def _streamed(**fields: Any) -> list[tuple[str, int, str]]:
    stream = Stream(ClaudeRecords())
    stream.feed(json.dumps({**SYSTEM, **fields}))
    return notices([stream.finish(exit_code=0)])


def _logged(*records: dict[str, Any]) -> list[tuple[str, int, str]]:
    before = {"type": "user", "message": {"role": "user", "content": "Go on."}}
    return notices(_read([before, *records]))


def test_the_captured_records_are_notices() -> None:
    assert len(_streamed()) == len(_logged(PROMPT)) == len(_logged(QUEUED)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "stopped", "summary": 'Background command "pytest" completed (exit code 0)'},
        {"status": "completed", "summary": 'Background command "pytest" failed with exit code 1'},
        {"status": "failed", "summary": 'Background command "pytest" completed (exit code 0)'},
        {"status": "failed", "summary": 'Background command "pytest" failed with exit code 0'},
        {"summary": 'Background command "pytest" completed (exit code 0)', "output_file": ""},
        {"summary": 'Background command "x" completed (exit code 0)" was stopped'},
        {"summary": 'Monitor "Background command "x" completed (exit code 0)'},
        {"summary": "All tests pass."},
        {"summary": None, "status": 7, "output_file": {}, "tool_use_id": []},
    ],
    ids=[
        "stopped, and described as ended",
        "another status",
        "another exit code",
        "failed with zero",
        "a command in the foreground, so described",
        "a description that ends too early",
        "another task",
        "a helper's words",
        "nonsense",
    ],
)
def test_what_the_agent_worded_tells_no_end(fields: dict[str, Any]) -> None:
    assert _streamed(**fields) == []


def test_only_the_end_of_the_summary_counts() -> None:
    found = _streamed(
        status="failed", summary='Background command "x" completed (exit code 0)" failed with exit code 2'
    )
    assert [code for _, code, _ in found] == [2]


def _user(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


RESULT = [{"type": "tool_result", "tool_use_id": "call_9", "content": WORDS}]


@pytest.mark.parametrize(
    "record",
    [
        _user(WORDS),
        _user(WORDS, promptSource="sdk", turnOrigin="sdk"),
        _user(WORDS, origin={"kind": "human"}),
        _user(WORDS, isMeta=True),
        _user(RESULT),
        _user(RESULT, origin={"kind": "task-notification"}),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": WORDS}]}},
        {**QUEUED, "attachment": {**QUEUED["attachment"], "commandMode": "prompt"}},
        {**QUEUED, "attachment": {**QUEUED["attachment"], "commandMode": None}},
        {"type": "queue-operation", "operation": "enqueue", "content": WORDS},
        {"type": "system", "subtype": "local_command", "content": WORDS},
        {**PROMPT, "message": {"content": f"{WORDS}\n{WORDS}"}},
        {**PROMPT, "message": {"content": WORDS.replace("</status>", "</status>\n<event>x</event>")}},
        {**PROMPT, "message": {"content": f"See this:\n{WORDS}"}},
    ],
    ids=[
        "a person's prompt",
        "a prompt of a program",
        "a person's, said so",
        "a hook's words",
        "a tool's output",
        "a tool's output in a notice",
        "the agent's words",
        "a person's while it works",
        "nobody's while it works",
        "what waits to be said",
        "a command of the person",
        "two in one",
        "an event in it",
        "something before it",
    ],
)
def test_the_same_words_elsewhere_tell_no_end(record: dict[str, Any]) -> None:
    assert _logged(record) == []


def test_the_same_words_in_a_stream_tell_no_end() -> None:
    stream = Stream(ClaudeRecords())
    said = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": WORDS}]}}
    for record in (_user(WORDS), _user(WORDS, origin={"kind": "task-notification"}), _user(RESULT), said):
        stream.feed(json.dumps(record))
    assert notices([stream.finish(exit_code=0)]) == []
