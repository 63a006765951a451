"""The session logs that real CLIs left on disk, and what their readers make of odd ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from touchline.supervision.facts import Call, Ended, Prompt, Result, Text, Turn, Unread, Usage, steps_of
from touchline.transcripts import LogFormat, read_log, sniff

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
LOGS = CAPTURES / "session-logs"
CREATE, APPEND = "Create hello.py and run it.", "Append a second line and run it again."
NO_END = (Ended.UNKNOWN, "no end recorded")
OVERTAKEN = (Ended.INTERRUPTED, "a new prompt came before the turn had ended")
STOP, END_TURN = (Ended.FINISHED, "stop"), (Ended.FINISHED, "end_turn")
TASK_DONE = (Ended.FINISHED, "task_complete")
SPOKEN = (Ended.FINISHED, "the last message called no tool")
BY_A_PERSON = (Ended.INTERRUPTED, "interrupted by a person")
Row = tuple[tuple[Ended, str], int, float | None, int, int, int, str]


def log(pattern: str) -> Path:
    (found,) = LOGS.glob(pattern)
    return found


def row(turn: Turn) -> Row:
    steps = steps_of(turn)
    requests = turn.usage.input // 1000
    assert turn.usage == Usage(input=1000 * requests, output=50 * requests, cache_read=200 * requests)
    cost = None if turn.cost_usd is None else round(turn.cost_usd, 6)
    failed = sum(step.failed for step in steps)
    unanswered = sum(step.result is None for step in steps)
    return (turn.ended, turn.end_detail), requests, cost, len(steps), failed, unanswered, turn.prompt


# how it ended, requests, cost, calls, failed, without result, prompt
TABLE: dict[str, list[Row]] = {
    "claude/**/59d26d0f*": [(END_TURN, 3, 0.01143, 2, 0, 0, CREATE), (END_TURN, 2, 0.00762, 1, 0, 0, APPEND)],
    "claude/**/a80b6876*": [(END_TURN, 5, 0.01905, 4, 4, 0, "Make the tests pass.")],
    "claude/**/dcb4fbed*": [((Ended.API_ERROR, "api 500"), 0, 0.0, 0, 0, 0, CREATE)],
    "claude/**/5545333b*": [((Ended.API_ERROR, "api 500"), 1, 0.00381, 1, 0, 0, CREATE)],
    "claude/**/19cc064a*": [(BY_A_PERSON, 1, 0.00381, 1, 1, 0, CREATE)],
    "claude/**/2449a78b*": [(NO_END, 1, None, 1, 0, 1, CREATE)],
    "claude/**/5a2e81d2*": [(NO_END, 3, 0.01143, 3, 0, 0, CREATE)],
    "claude/**/d4f10130*": [(END_TURN, 5, 0.01905, 3, 0, 0, CREATE)],
    "claude/**/2d97b476*": [
        (BY_A_PERSON, 1, None, 1, 1, 0, "Do the long job."),
        (END_TURN, 1, 0.00762, 0, 0, 0, "COACH: do it another way."),
    ],
    "claude/**/3bddd1a0*": [(END_TURN, 3, 0.01143, 2, 0, 0, "Do the long job.")],
    "claude/**/61c8ab44*": [
        ((Ended.CRASHED, "the session ended during a call"), 1, None, 1, 1, 0, "Do a long job."),
        (END_TURN, 1, 0.00381, 0, 0, 0, "Go on."),
    ],
    "claude/**/e4f9be06*": [(END_TURN, 5, 0.01905, 3, 0, 0, "Write a test and run it.")],
    "claude/**/0b8fad45*": [(END_TURN, 5, 0.01905, 5, 0, 0, "Write a test and run it.")],
    "claude/**/68056f06*": [(END_TURN, 5, 0.01905, 4, 0, 0, "Write a test and run it.")],
    "codex/**/*1c4f-*": [(TASK_DONE, 1, None, 0, 0, 0, CREATE)],
    "codex/**/*2365-*": [(TASK_DONE, 2, None, 1, 0, 0, APPEND)],
    "codex/**/*2858-*": [(TASK_DONE, 3, None, 2, 2, 0, CREATE)],
    "codex/**/*30bc-*": [((Ended.API_ERROR, "internal_server_error"), 0, None, 0, 0, 0, CREATE)],
    "codex/**/*97d8-*": [(TASK_DONE, 3, None, 2, 0, 0, CREATE)],
    "codex/**/*4669-*": [(NO_END, 1, None, 1, 0, 1, CREATE)],
    "codex/**/*7e79-*": [(OVERTAKEN, 1, None, 1, 0, 1, "Do a long job."), (TASK_DONE, 1, None, 0, 0, 0, "Go on.")],
    "gemini/**/*5ce1e592*": [(SPOKEN, 1, None, 0, 0, 0, CREATE)],
    "gemini/**/*9c7e95de*": [
        (SPOKEN, 3, None, 2, 0, 0, CREATE),
        (SPOKEN, 2, None, 1, 0, 0, APPEND),
        (SPOKEN, 2, None, 1, 0, 0, APPEND),
    ],
    "gemini/**/*d6f792b5*": [(SPOKEN, 5, None, 4, 0, 0, "Make the tests pass.")],
    "gemini/**/*63417168*": [(NO_END, 0, None, 0, 0, 0, CREATE)],
    "gemini/**/*d9a9b5b1*": [(NO_END, 1, None, 1, 0, 0, CREATE)],
    # Killed in its first call, which Gemini notes only afterwards: nothing in the log tells it from a finished turn.
    "gemini/**/*0a3cfc3f*": [(SPOKEN, 1, None, 0, 0, 0, CREATE)],
    "opencode/opencode.db": [
        (STOP, 1, 0.00381, 0, 0, 0, f'"{CREATE}"'),
        (STOP, 3, 0.01143, 2, 0, 0, f'"{CREATE}"'),
        (STOP, 2, 0.00762, 1, 0, 0, f'"{APPEND}"'),
        (STOP, 5, 0.01905, 4, 4, 0, '"Make the tests pass."'),
        ((Ended.API_ERROR, "api 401"), 0, None, 0, 0, 0, f'"{CREATE}"'),
        (NO_END, 0, None, 1, 0, 1, f'"{CREATE}"'),
        (STOP, 9, 0.03429, 8, 0, 0, f'"{CREATE}"'),
    ],
}


@pytest.mark.parametrize("pattern", TABLE)
def test_a_real_log_is_read_turn_by_turn(pattern: str) -> None:
    path = log(pattern)
    turns = list(read_log(path))
    assert [row(turn) for turn in turns] == TABLE[pattern]
    cli = pattern.partition("/")[0]
    assert {turn.cli for turn in turns} == {cli}
    assert {turn.cwd for turn in turns} == {"/workspace/repo"}
    assert all(turn.session_id for turn in turns)
    for turn in turns:
        assert turn.started_at is not None
        assert turn.ended_at is not None
        assert turn.started_at.tzinfo is UTC
        assert turn.started_at <= turn.ended_at
        assert not [event for event in turn.events if isinstance(event, Unread)]


def test_every_log_is_in_the_table() -> None:
    assert sum(1 for path in LOGS.rglob("*") if path.is_file()) == len(TABLE)


@pytest.mark.parametrize(
    ("pattern", "stream"), [("claude/**/59d26d0f*", "claude/b_tools"), ("gemini/**/*9c7e95de*", "gemini/b_tools")]
)
def test_log_and_stream_of_the_same_run_agree(pattern: str, stream: str) -> None:
    logged = next(iter(read_log(log(pattern))))
    (streamed,) = read_log(CAPTURES / f"{stream}.jsonl")
    assert logged.session_id == streamed.session_id
    assert logged.final_text == streamed.final_text
    assert logged.usage == streamed.usage
    assert [(s.call.id, s.call.tool, s.call.args) for s in steps_of(logged)] == [
        (s.call.id, s.call.tool, s.call.args) for s in steps_of(streamed)
    ]


def test_codex_results_lose_their_times_and_numbers() -> None:
    (turn,) = read_log(log("codex/**/*2858-*"))
    results = [event for event in turn.events if isinstance(event, Result)]
    assert results[1].exit_code == 2
    assert results[1].failed
    assert not results[1].text.startswith("Chunk ID")
    assert "can't open file" in results[1].text


def test_a_message_sent_while_the_agent_works_stays_in_the_turn() -> None:
    (turn,) = read_log(log("claude/**/3bddd1a0*"))
    prompts = [(event.text, event.synthetic) for event in turn.events if isinstance(event, Prompt)]
    assert prompts[0] == ("Do the long job.", False)
    assert ("COACH: stop using sleep, please.", False) in prompts


def test_hook_feedback_begins_no_turn() -> None:
    (turn,) = read_log(log("claude/**/d4f10130*"))
    assert [event.synthetic for event in turn.events if isinstance(event, Prompt)] == [False, True]
    assert turn.final_text == "Tests pass, really done."


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def said(text: str, reason: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    message = {"id": text, "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": reason}
    return {"type": "assistant", "sessionId": "s", "message": message, **more}


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}, **more}


def called(call_id: str, reason: str | None = "tool_use", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}
    message = {"id": f"m{call_id}", "model": "m", "content": [block], "stop_reason": reason}
    return {"type": "assistant", "sessionId": "s", "message": message, **more}


def test_sidechains_add_calls_but_no_words(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        asked("do it"),
        asked("helper, look", isSidechain=True),
        called("t1", isSidechain=True),
        said("helper is done", isSidechain=True),
        said("main is done"),
    )
    (turn,) = read_log(path)
    assert [event.subagent for event in turn.events if isinstance(event, Call)] == [True]
    assert [event.text for event in turn.events if isinstance(event, Text)] == ["main is done"]


def test_a_helpers_own_log_is_one_turn(tmp_path: Path) -> None:
    path = write(
        tmp_path / "agent-1.jsonl",
        asked("helper, look", isSidechain=True),
        called("t1", isSidechain=True),
        said("found it", isSidechain=True),
    )
    (turn,) = read_log(path)
    assert (turn.ended, turn.final_text, turn.prompt) == (Ended.FINISHED, "found it", "")
    assert [event.subagent for event in turn.events if isinstance(event, Call)] == [True]


@pytest.mark.parametrize("echo", ["<local-command-stdout>ok</local-command-stdout>", "<task-notification>x"])
def test_echoes_of_the_cli_begin_no_turn(tmp_path: Path, echo: str) -> None:
    path = write(tmp_path / "a.jsonl", asked("do it"), asked(echo), said("done"))
    assert len(list(read_log(path))) == 1


def test_a_slash_command_without_answer_is_no_turn(tmp_path: Path) -> None:
    command = "<command-name>/model</command-name>"
    path = write(tmp_path / "a.jsonl", asked(command), asked("<local-command-stdout>set"), asked("do it"), said("done"))
    assert [turn.prompt for turn in read_log(path)] == ["do it"]
    path = write(tmp_path / "b.jsonl", asked("<command-name>/do-build</command-name>"), said("built"))
    assert [turn.final_text for turn in read_log(path)] == ["built"]


def test_a_missing_stop_reason_counts_only_where_the_log_tells_them(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", asked("a"), called("t", None), said("done", None))
    assert [turn.ended for turn in read_log(old)] == [Ended.FINISHED]
    new = write(tmp_path / "new.jsonl", asked("a"), called("t"), said("writing", None))
    assert [turn.ended for turn in read_log(new)] == [Ended.UNKNOWN]


def test_tokens_of_a_message_are_counted_once_with_the_largest_output(tmp_path: Path) -> None:
    def block(output: int) -> dict[str, Any]:
        record = called(f"t{output}")
        record["message"] |= {"id": "same", "usage": {"input_tokens": 7, "output_tokens": output}}
        return record

    path = write(tmp_path / "a.jsonl", asked("a"), block(1), block(1), block(40), block(40))
    (turn,) = read_log(path)
    assert turn.usage == Usage(input=7, output=40)
    assert turn.usage_by_model == {"m": Usage(input=7, output=40)}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}


def codex_message(role: str, text: str) -> dict[str, Any]:
    return codex("response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])


def test_codex_logs_without_task_marks(tmp_path: Path) -> None:
    def total(tokens: int) -> dict[str, Any]:
        used = {"input_tokens": tokens, "cached_input_tokens": tokens // 2, "output_tokens": 1}
        return codex("event_msg", type="token_count", info={"total_token_usage": used, "last_token_usage": used})

    old_output = json.dumps({"output": "boom", "metadata": {"exit_code": 3}})
    path = write(
        tmp_path / "rollout-x.jsonl",
        codex("session_meta", id="thread", cwd="/workspace/repo"),
        codex_message("user", "<environment_context>x</environment_context>"),
        codex_message("user", "first"),
        codex("response_item", type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        codex("response_item", type="function_call_output", call_id="c1", output=old_output),
        total(100),
        codex_message("assistant", "failed, sorry"),
        codex_message("user", "second"),
        total(300),
        codex("event_msg", type="turn_aborted", reason="interrupted"),
    )
    first, second = read_log(path)
    assert (first.prompt, first.ended, first.session_id) == ("first", Ended.FINISHED, "thread")
    (step,) = steps_of(first)
    assert step.result is not None
    assert (step.result.text, step.result.exit_code, step.failed) == ("boom", 3, True)
    assert step.call.args == {"command": ["ls"]}
    assert first.usage == Usage(input=50, output=1, cache_read=50)
    assert (second.prompt, second.ended) == ("second", Ended.INTERRUPTED)
    assert second.usage == Usage(input=100, cache_read=100)
    assert first.started_at == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)


def test_what_differs_in_every_run_does_not_make_results_differ(tmp_path: Path) -> None:
    def output(number: int) -> dict[str, Any]:
        words = f"Chunk ID: {number}\nWall time: {number}.1 seconds\nProcess exited with code 1\nOutput:\nsame"
        return codex("response_item", type="function_call_output", call_id=f"c{number}", output=words)

    def returned(number: int) -> dict[str, Any]:
        words = f"<untrusted_context>\nOutput: same\nProcess Group PGID: {number}\n</untrusted_context>"
        part = {"functionResponse": {"id": f"c{number}", "response": {"output": words}}}
        return {"id": str(number), "type": "gemini", "toolCalls": [{"id": f"c{number}", "name": "x", "result": [part]}]}

    head = {"sessionId": "s", "projectHash": "h"}
    prompt = {"id": "p", "type": "user", "content": "go"}
    logs = [
        write(tmp_path / "codex.jsonl", codex_message("user", "go"), output(1), output(2)),
        write(tmp_path / "gemini.jsonl", head, prompt, returned(1), returned(2)),
    ]
    for path in logs:
        (turn,) = read_log(path)
        first, second = (event for event in turn.events if isinstance(event, Result))
        assert first.digest == second.digest
        assert first.text.endswith("same")


def test_gemini_logs_of_one_document(tmp_path: Path) -> None:
    call = {"id": "c", "name": "read_file", "args": {"p": 1}, "status": "error", "result": []}
    document = {
        "sessionId": "s",
        "projectHash": "h",
        "messages": [
            {"id": "1", "type": "user", "content": "look"},
            {"id": "2", "type": "gemini", "content": "reading", "toolCalls": [call]},
            {
                "id": "3",
                "type": "gemini",
                "content": "read",
                "tokens": {"input": 10, "cached": 4, "output": 2, "thoughts": 3},
            },
        ],
    }
    folder = tmp_path / "tmp" / "my-project" / "chats"
    folder.mkdir(parents=True)
    for name, indent in (("a.json", 2), ("b.json", None)):
        path = folder / name
        path.write_text(json.dumps(document, indent=indent), "utf-8")
        assert sniff(path) is LogFormat.GEMINI_JSON
        (turn,) = read_log(path)
        assert (turn.ended, turn.final_text, turn.cwd, turn.prompt) == (Ended.FINISHED, "read", "my-project", "look")
        assert [step.failed for step in steps_of(turn)] == [True]
        assert turn.usage == Usage(input=6, output=5, cache_read=4)


def test_a_saved_claude_stream_of_two_prompts_is_two_turns() -> None:
    first, second = read_log(CAPTURES / "claude" / "i_stream_two_turns.jsonl")
    assert (first.prompt, second.prompt) == (CREATE, "Second message: anything else?")
    assert [first.cost_usd, second.cost_usd] == pytest.approx([0.01143, 0.00381])
    assert first.session_id == second.session_id
    first, second = read_log(CAPTURES / "claude" / "i_stream_interrupt.jsonl")
    assert (first.ended, second.ended) == (Ended.INTERRUPTED, Ended.FINISHED)
