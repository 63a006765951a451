"""Every recorded stream, read with the exit code the process really had."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from touchline.supervision.facts import Ended, Spent, Turn, Unread, Usage, steps_of
from touchline.transcripts import read_turn, reader_for

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
FINISHED, LIMIT, API_ERROR, CRASHED = Ended.FINISHED, Ended.LIMIT, Ended.API_ERROR, Ended.CRASHED
KILLED, INTERRUPTED = Ended.KILLED, Ended.INTERRUPTED
DONE, PLAIN, GAVE_UP = "Done: hello.py exists", "The task is complete.", "I give up: the tests fail"


NOTHING = Usage()


def spent(requests: int) -> Usage:
    """What the scripted model counts for so many requests."""
    return Usage(input=1000 * requests, output=50 * requests, cache_read=200 * requests)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    exit: int
    ended: Ended
    detail: str
    usage: Usage = NOTHING
    cost: float | None = None
    calls: int = 0
    failed: int = 0
    unanswered: int = 0
    fault: str | None = None
    status: int | None = None
    final: str = ""


def ok(
    name: str, requests: int, cost: float | None, final: str, calls: int = 0, failed: int = 0, **more: object
) -> Case:
    facts = {"exit": 0, "ended": FINISHED, "detail": "completed", "usage": spent(requests), **more}
    return Case(name=name, cost=cost, calls=calls, failed=failed, final=final, **facts)  # type: ignore[arg-type]


def broke(name: str, exit_code: int, detail: str, fault: str, status: int | None = None, **more: object) -> Case:
    facts = {"ended": API_ERROR, **more}
    return Case(name=name, exit=exit_code, detail=detail, fault=fault, status=status, **facts)  # type: ignore[arg-type]


UNKNOWN_SESSION = "No conversation found with session ID: 00000000-0000-4000-8000-000000000000"
ONE, TWO, THREE, FIVE = 0.00381, 0.00762, 0.01143, 0.01905
PLACEHOLDER = Usage(input=1000, output=1, cache_read=200)

CLAUDE = [
    ok("claude/a_plain", 1, ONE, PLAIN),
    ok("claude/a_plain_json", 1, ONE, PLAIN),
    ok("claude/a_plain_partial", 1, ONE, PLAIN),
    ok("claude/b_tools", 3, THREE, DONE, 2),
    ok("claude/b_tools_json", 3, THREE, DONE),
    ok("claude/b_default_perm", 3, THREE, DONE, 2, 2),
    ok("claude/c_failing", 5, FIVE, GAVE_UP, 4, 4),
    ok("claude/d_recover", 1, ONE, "Recovered after two overload errors."),
    ok("claude/d_drop", 0, 0.006885, "Recovered after a cut", usage=Usage(input=2000, output=51, cache_read=400)),
    ok("claude/e_resume", 2, TWO, "Second prompt handled", 1),
    ok("claude/h_hooks_stop_block", 5, FIVE, "Tests pass, really done.", 3),
    ok("claude/i_stream_interrupt", 2, TWO, "New direction taken.", 1, 1),
    Case(
        name="claude/i_stream_interrupt_early",
        exit=0,
        ended=Ended.INTERRUPTED,
        detail="aborted_streaming",
        usage=spent(1),
        cost=ONE,
        calls=1,
        failed=1,
        final="I wait.",
    ),
    ok("claude/i_stream_two_turns", 4, 0.01524, "Second message answered.", 2),
    ok("claude/j_background", 5, FIVE, "I made test_a.py, and all tests pass.", 3),
    ok("claude/j_background_midway", 5, FIVE, "I made test_a.py, and all tests pass.", 5),
    ok("claude/j_background_forged", 5, FIVE, "I made test_a.py, and all tests pass.", 4),
    Case(name="claude/b_skip_perm_root_nosandbox", exit=1, ended=CRASHED, detail="exit 1, no final record"),
    broke("claude/d_badrequest", 1, "api 400", "bad_request", 400, cost=0.0),
    broke("claude/d_http400", 1, "prompt_too_long", "context", 400, cost=0.0),
    broke("claude/d_http401", 1, "api 401", "auth", 401, cost=0.0),
    broke("claude/d_http429", 1, "api 429", "rate_limit", 429, cost=0.0),
    broke("claude/d_http500", 1, "api 500", "server", 500, cost=0.0),
    broke("claude/d_http500_json", 1, "api 500", "server", 500, cost=0.0),
    broke("claude/d_http529", 1, "api 529", "overloaded", 529, cost=0.0),
    broke(
        "claude/d_midway500", 1, "api 500", "server", 500, cost=ONE, usage=spent(1), calls=1, final="First a command."
    ),
    broke("claude/e_resume_unknown", 1, UNKNOWN_SESSION, "other", ended=CRASHED, cost=0.0),
    Case(
        name="claude/f_sigint_tool",
        exit=0,
        ended=INTERRUPTED,
        detail="aborted_tools",
        usage=spent(1),
        cost=ONE,
        calls=1,
        failed=1,
        final="A long command.",
    ),
    Case(
        name="claude/f_sigkill_tool",
        exit=-9,
        ended=KILLED,
        detail="SIGKILL",
        usage=PLACEHOLDER,
        calls=1,
        unanswered=1,
        final="A long command.",
    ),
    Case(
        name="claude/f_sigterm_tool",
        exit=143,
        ended=KILLED,
        detail="SIGTERM",
        usage=PLACEHOLDER,
        calls=1,
        failed=1,
        final="A long command.",
    ),
    Case(
        name="claude/g_maxbudget",
        exit=1,
        ended=LIMIT,
        detail="max_budget_usd",
        cost=THREE,
        calls=3,
        unanswered=1,
        usage=Usage(input=3000, output=100, cache_read=600),
        final="Step 3.",
    ),
    Case(
        name="claude/g_maxturns",
        exit=1,
        ended=LIMIT,
        detail="max_turns",
        usage=spent(3),
        cost=THREE,
        calls=3,
        final="Step 3.",
    ),
    Case(name="claude/g_maxturns_json", exit=1, ended=LIMIT, detail="max_turns", usage=spent(3), cost=THREE),
    ok("claude197/a_plain", 1, ONE, PLAIN),
    ok("claude197/b_tools_json", 3, THREE, DONE),
    ok("claude197/b_default_perm", 3, THREE, DONE, 2, 2),
    ok("claude197/d_drop", 1, ONE, "Recovered after a cut"),
    ok("claude197/e_resume", 2, TWO, "Second prompt handled", 1),
    broke("claude197/d_http500", 1, "api 500", "server", 500, cost=0.0),
    Case(
        name="claude197/f_sigint_tool",
        exit=1,
        ended=INTERRUPTED,
        detail="aborted_tools",
        usage=spent(1),
        cost=ONE,
        calls=1,
        failed=1,
        final="A long command.",
    ),
    Case(
        name="claude197/g_maxbudget",
        exit=1,
        ended=LIMIT,
        detail="max_budget_usd",
        cost=THREE,
        calls=3,
        unanswered=1,
        usage=Usage(input=3000, output=100, cache_read=600),
        final="Step 3.",
    ),
]
CODEX = [
    ok("codex/a_plain", 1, None, PLAIN),
    ok("codex/a_plain_unknown_model", 1, None, PLAIN),
    ok("codex/b_tools", 3, None, DONE, 2),
    ok("codex/b_sandbox_default", 3, None, DONE),
    ok("codex/c_failing", 5, None, GAVE_UP, 4, 4),
    ok("codex/d_drop", 1, None, "Recovered after a cut"),
    ok("codex/e_resume", 5, None, "Second prompt handled", 1),
    Case(name="codex/e_resume_unknown", exit=1, ended=CRASHED, detail="exit 1, no final record"),
    broke("codex/d_badrequest", 1, "turn failed", "bad_request"),
    broke("codex/d_http400", 1, "prompt_too_long", "context"),
    broke("codex/d_http401", 1, "api 401", "auth", 401),
    broke("codex/d_http429", 1, "api 429", "rate_limit", 429),
    broke("codex/d_http500", 1, "turn failed", "server"),
    broke("codex/d_http529", 1, "api 529", "overloaded", 529),
    broke("codex/d_midway500", 1, "turn failed", "server", calls=1, final="First a command."),
    Case(
        name="codex/f_sigint_tool",
        exit=1,
        ended=CRASHED,
        detail="exit 1, no final record",
        calls=1,
        unanswered=1,
        final="A long command.",
    ),
    Case(
        name="codex/f_sigkill_tool",
        exit=-9,
        ended=KILLED,
        detail="SIGKILL",
        calls=1,
        unanswered=1,
        final="A long command.",
    ),
    Case(
        name="codex/f_sigterm_tool",
        exit=-15,
        ended=KILLED,
        detail="SIGTERM",
        calls=1,
        unanswered=1,
        final="A long command.",
    ),
]
OPENCODE = [
    ok("opencode/a_plain", 1, ONE, PLAIN, detail="stop"),
    ok("opencode/b_tools", 3, THREE, DONE, 2, detail="stop"),
    ok("opencode/c_failing", 5, FIVE, GAVE_UP, 4, 4, detail="stop"),
    ok("opencode/d_drop", 1, ONE, "Recovered after a cut", detail="stop"),
    ok("opencode/e_resume", 2, TWO, "Second prompt handled", 1, detail="stop"),
    ok("opencode/g_maxturns", 9, 0.03429, "All steps done.", 8, detail="stop"),
    broke(
        "opencode/b_perm_ask",
        0,
        "permission rejected",
        "permission",
        ended=INTERRUPTED,
        usage=spent(1),
        cost=ONE,
        calls=1,
        failed=1,
        final="I will create hello.py.",
    ),
    broke("opencode/d_badrequest", 1, "api 400", "bad_request", 400),
    broke("opencode/d_http401", 1, "api 401", "auth", 401),
    broke("opencode/d_http429", 1, "api 429", "rate_limit", 429),
    broke("opencode/d_http500", 1, "api 500", "server", 500),
    Case(name="opencode/e_resume_unknown", exit=1, ended=CRASHED, detail="exit 1, no final record"),
    Case(name="opencode/f_sigint_tool", exit=-2, ended=INTERRUPTED, detail="SIGINT", final="A long command."),
    Case(name="opencode/f_sigkill_tool", exit=-9, ended=KILLED, detail="SIGKILL", final="A long command."),
    Case(name="opencode/f_sigterm_tool", exit=-15, ended=KILLED, detail="SIGTERM", final="A long command."),
]
GEMINI = [
    ok("gemini/a_plain", 1, None, PLAIN, detail="success"),
    ok("gemini/a_plain_json", 1, None, PLAIN, detail="success"),
    ok("gemini/a_plain_auto_model", 2, None, PLAIN, detail="success"),
    ok("gemini/b_tools", 3, None, DONE, 2, detail="success"),
    ok("gemini/b_default_perm", 3, None, DONE, 2, 2, detail="success"),
    ok("gemini/c_failing", 5, None, GAVE_UP, 4, 0, detail="success"),
    ok("gemini/e_resume", 2, None, "Second prompt handled", 1, detail="success"),
    Case(name="gemini/b_untrusted", exit=55, ended=CRASHED, detail="untrusted folder"),
    Case(name="gemini/e_resume_unknown", exit=42, ended=CRASHED, detail="bad input"),
    broke("gemini/d_badrequest", 144, "api 400", "bad_request", 400),
    broke("gemini/d_drop", 1, "api_error", "network", final="Here is what I found"),
    broke("gemini/d_http400", 144, "prompt_too_long", "context", 400),
    broke("gemini/d_http401", 145, "api 401", "auth", 401),
    broke("gemini/d_http429", 173, "api 429", "rate_limit", 429),
    broke("gemini/d_http500", 244, "api 500", "server", 500),
    broke("gemini/d_http500_json", 244, "api 500", "server", 500),
    broke("gemini/d_midway500", 244, "api 500", "server", 500, usage=spent(1), calls=1, final="First a command."),
    Case(
        name="gemini/f_sigkill_tool",
        exit=-9,
        ended=KILLED,
        detail="SIGKILL",
        calls=1,
        unanswered=1,
        final="A long command.",
    ),
    Case(
        name="gemini/f_sigterm_tool_norelaunch",
        exit=0,
        ended=CRASHED,
        detail="exit 0, no final record",
        calls=1,
        unanswered=1,
        final="A long command.",
    ),
    Case(name="gemini/g_maxturns", exit=53, ended=LIMIT, detail="max_turns", usage=spent(3), calls=3, final="Step 3."),
]
CASES = CLAUDE + CODEX + OPENCODE + GEMINI


def capture(name: str) -> Path:
    return next(path for path in (CAPTURES / f"{name}.jsonl", CAPTURES / f"{name}.json") if path.exists())


def cli_of(name: str) -> str:
    return "claude" if name.startswith("claude") else name.partition("/")[0]


def turn_of(name: str, **process: object) -> Turn:
    with capture(name).open("rb") as lines:
        return read_turn(lines, cli=cli_of(name), **process)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_recorded_run_is_read_as_it_was(case: Case) -> None:
    turn = turn_of(case.name, exit_code=case.exit)
    steps = steps_of(turn)
    assert (turn.ended, turn.end_detail, turn.exit_code) == (case.ended, case.detail, case.exit)
    assert turn.usage == case.usage
    assert turn.cost_usd == pytest.approx(case.cost)
    assert len(steps) == case.calls
    assert sum(step.failed for step in steps) == case.failed
    assert sum(step.result is None for step in steps) == case.unanswered
    assert turn.final_text.startswith(case.final)
    assert bool(turn.final_text) == bool(case.final)
    fault = turn.fault
    assert (fault and fault.kind, fault and fault.status) == (case.fault, case.status)
    assert not [event for event in turn.events if isinstance(event, Unread)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_spent_events_add_up_to_the_usage(case: Case) -> None:
    turn = turn_of(case.name)
    total = sum((event.usage for event in turn.events if isinstance(event, Spent)), Usage())
    assert total == turn.usage


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_feeding_line_by_line_tells_the_same_events(case: Case) -> None:
    reader = reader_for(cli_of(case.name))
    told = [event for line in capture(case.name).read_text("utf-8").splitlines() for event in reader.feed(line)]
    turn = reader.finish(exit_code=case.exit)
    assert list(turn.events[: len(told)]) == told
    assert turn == turn_of(case.name, exit_code=case.exit)


def test_every_capture_is_in_the_table() -> None:
    files = {p.relative_to(CAPTURES).with_suffix("").as_posix() for p in CAPTURES.glob("*/*.json*")}
    assert files == {case.name for case in CASES}
