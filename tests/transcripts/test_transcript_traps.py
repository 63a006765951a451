"""The traps of each CLI's stream: who ended it, what counts as the end, whose words they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.errors import InputError
from touchline.supervision.facts import Call, Ended, Fault, Prompt, Result, Text, Turn, Unread, Usage, steps_of
from touchline.transcripts import read_turn

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
FINISHED, LIMIT, CRASHED = Ended.FINISHED, Ended.LIMIT, Ended.CRASHED
PLAIN = "The task is complete."


def capture(name: str) -> Path:
    return next(path for path in (CAPTURES / f"{name}.jsonl", CAPTURES / f"{name}.json") if path.exists())


def turn_of(name: str, **process: object) -> Turn:
    with capture(name).open("rb") as lines:
        return read_turn(lines, cli=name.partition("/")[0], **process)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "session", "model", "cwd"),
    [
        ("claude/b_tools", "59d26d0f-a345-463b-a3ff-6c5b51fbcc48", "claude-sonnet-4-5", "/workspace/repo"),
        ("claude/b_tools_json", "ad89c2db-8017-4348-9542-914b9c457cb5", None, None),
        ("codex/b_tools", "01a1e183-af10-7953-8315-07d6abbbf4e0", None, None),
        ("opencode/b_tools", "ses_e1eb0a489fferBPOOGh018ghqj", None, None),
        ("gemini/b_tools", "9c7e95de-c35d-4708-95ed-672458ebfa63", "gemini-2.5-pro", None),
        ("gemini/a_plain_json", "59f93225-fcce-4bdd-a494-cf5edcf7f893", "gemini-2.5-pro", None),
    ],
)
def test_session_model_and_folder(name: str, session: str, model: str | None, cwd: str | None) -> None:
    turn = turn_of(name)
    assert (turn.session_id, turn.model, turn.cwd) == (session, model, cwd)


def test_calls_and_results_of_each_cli() -> None:
    commands = {}
    for cli in ("claude", "codex", "opencode", "gemini"):
        step = steps_of(turn_of(f"{cli}/b_tools"))[1]
        assert step.result is not None
        assert step.result.text.strip() == "hello from the agent\n?? hello.py"
        commands[cli] = (step.call.tool, step.call.args["command"], step.result.exit_code)
    command = "python3 hello.py && git status --short"
    assert commands == {
        "claude": ("Bash", command, None),
        "codex": ("command_execution", command, 0),
        "opencode": ("bash", command, 0),
        "gemini": ("run_shell_command", command, None),
    }


@pytest.mark.parametrize("cli", ["claude", "codex", "opencode"])
def test_a_failing_command_tells_its_exit_code(cli: str) -> None:
    results = [event for event in turn_of(f"{cli}/c_failing").events if isinstance(event, Result)]
    assert [result.exit_code for result in results] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("ended_by", "ended"), [("timeout", Ended.TIMED_OUT), ("us", Ended.KILLED), ("user", Ended.INTERRUPTED)]
)
@pytest.mark.parametrize(
    "name",
    ["claude/f_sigint_tool", "codex/f_sigint_tool", "opencode/f_sigterm_tool", "gemini/f_sigterm_tool_norelaunch"],
)
def test_who_ended_it_is_believed(name: str, ended_by: str, ended: Ended) -> None:
    assert turn_of(name, exit_code=0, ended_by=ended_by).ended is ended


@pytest.mark.parametrize("cli", ["claude", "codex", "opencode", "gemini"])
def test_a_turn_that_was_over_stays_finished_when_its_process_is_stopped(cli: str) -> None:
    assert turn_of(f"{cli}/a_plain", exit_code=-15, ended_by="us").ended is FINISHED
    assert turn_of(f"{cli}/a_plain").ended is FINISHED


@pytest.mark.parametrize("cli", ["claude", "codex", "opencode", "gemini"])
def test_a_failing_exit_is_no_success_whatever_the_last_record_says(cli: str) -> None:
    assert turn_of(f"{cli}/a_plain", exit_code=1).ended is CRASHED


@pytest.mark.parametrize(
    "name", ["claude/f_sigkill_tool", "codex/f_sigkill_tool", "opencode/f_sigkill_tool", "gemini/f_sigkill_tool"]
)
def test_without_end_and_exit_code_nothing_is_known(name: str) -> None:
    turn = turn_of(name)
    assert (turn.ended, turn.end_detail) == (Ended.UNKNOWN, "no end recorded")


@pytest.mark.parametrize("exit_code", [0, 1, 2, 70])
def test_a_crash_with_an_apologetic_last_message_is_a_crash(exit_code: int) -> None:
    sorry = "Sorry, everything is done now and all tests pass."
    streams = {
        "claude": f'{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{sorry}"}}]}}}}',
        "codex": f'{{"type":"item.completed","item":{{"id":"item_0","type":"agent_message","text":"{sorry}"}}}}',
        "opencode": f'{{"type":"text","sessionID":"s","part":{{"type":"text","text":"{sorry}"}}}}',
        "gemini": f'{{"type":"message","role":"assistant","content":"{sorry}","delta":true}}',
    }
    for cli, line in streams.items():
        turn = read_turn([line], cli=cli, exit_code=exit_code)
        assert turn.final_text == sorry
        assert turn.ended is CRASHED, cli


def test_the_loop_stop_of_gemini_is_a_limit() -> None:
    lines = capture("gemini/a_plain").read_text("utf-8").splitlines()
    warning = '{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}'
    turn = read_turn([*lines[:-1], warning, lines[-1]], cli="gemini", exit_code=0)
    assert (turn.ended, turn.end_detail) == (LIMIT, "loop detected by the CLI")


def test_deltas_of_gemini_are_one_text() -> None:
    pieces = [
        f'{{"type":"message","role":"assistant","content":"{piece}","delta":true}}' for piece in ("Hel", "lo ", "you")
    ]
    assert read_turn(pieces, cli="gemini").final_text == "Hello you"


def test_hook_feedback_is_a_synthetic_prompt_and_a_replayed_prompt_is_not() -> None:
    feedback = [e for e in turn_of("claude/h_hooks_stop_block").events if isinstance(e, Prompt)]
    assert [e.synthetic for e in feedback] == [True]
    assert turn_of("claude/i_stream_two_turns").prompt == "Create hello.py and run it."


def test_words_of_the_cli_are_not_the_agents() -> None:
    turn = turn_of("claude/d_http500", exit_code=1)
    assert not [event for event in turn.events if isinstance(event, Text)]
    retries = [event for event in turn.events if isinstance(event, Fault) and not event.fatal]
    assert [(event.kind, event.status) for event in retries] == [("server", 500), ("server", 500)]


def test_a_helpers_calls_are_marked_and_its_words_left_out() -> None:
    lines = [
        '{"type":"assistant","session_id":"s","parent_tool_use_id":"t0","message":{"id":"h","content":['
        '{"type":"text","text":"helper"},{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}',
        '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m","content":['
        '{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}',
    ]
    events = read_turn(lines, cli="claude").events
    assert [(e.id, e.subagent) for e in events if isinstance(e, Call)] == [("t1", True), ("t2", False)]
    assert not [e for e in events if isinstance(e, Text)]


def test_a_resumed_codex_thread_counts_its_own_tokens_when_told_the_earlier_ones() -> None:
    earlier = turn_of("codex/b_tools").usage
    assert turn_of("codex/e_resume", thread_usage=earlier).usage == Usage(input=2000, output=100, cache_read=400)


def test_whole_documents_may_be_given_as_text_or_spread_over_lines() -> None:
    pretty = capture("gemini/a_plain_json").read_text("utf-8")
    assert "\n" in pretty
    assert read_turn(pretty, cli="gemini", exit_code=0).final_text.startswith(PLAIN)
    noisy = ["Loading extension x", *pretty.splitlines()]
    turn = read_turn(noisy, cli="gemini", exit_code=0)
    assert turn.ended is FINISHED
    assert [e.why for e in turn.events if isinstance(e, Unread)] == ["noise"]
    array = "[" + ",".join(capture("claude/b_tools").read_text("utf-8").splitlines()) + "]"
    assert read_turn([array], cli="claude", exit_code=0) == turn_of("claude/b_tools", exit_code=0)


def test_an_unknown_cli_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="claude, codex, opencode, gemini"):
        read_turn([], cli="cursor")
