"""Tools of editors and MCP servers: tests, diagnostics, browsers, forges. What their answers prove, and what not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.supervision.test_ledger import Did, edit, ledger, sh, turn_of
from tests.supervision.test_recognised import CLAIM, standing, stop_after

from touchline.supervision.ledger import ledger_of
from touchline.supervision.stops import Standing
from touchline.supervision.tool_checks import counts_told
from touchline.supervision.tools import role_of


def tool(name: str, text: str, **args: Any) -> Did:
    return name, args, text, None


@pytest.mark.parametrize("name", ["runTests", "mcp__ide__run_tests", "mcp__XcodeBuildMCP__test_sim", "xcodebuild.test"])
@pytest.mark.parametrize(
    "text",
    [
        "12 passed, 0 failed",
        "✅ Test Succeeded for scheme App",
        '{"passed":12,"failed":0}',
        '{"summary": {"total": 12, "passed": 12, "failed": 0, "skipped": 0}}',
        '{"numTotalTests": 12, "numPassedTests": 12, "numFailedTests": 0, "numPassedTestSuites": 3}',
        "<summary passed=12 failed=0 />",
        "All 12 tests passed",
        "Test Counts:\n  Total: 12\n  Passed: 12\n  Failed: 0\n  Skipped: 0\n",
        '[{"suite": "a", "passed": 5, "failed": 0}, {"suite": "b", "passed": 7, "failed": 0}]',
        '{"tests": 12, "failures": 0, "errors": 0}',
        '{"exitCode": 0, "output": "fine"}',
        "1 failed login was logged\n12 passed, 0 failed",
    ],
)
def test_a_test_tool_that_tells_of_a_pass_is_a_passing_run(name: str, text: str) -> None:
    stop = stop_after(tool(name, text))
    assert (stop.rejected, standing(stop)) == ((), Standing.PROVED)


@pytest.mark.parametrize(
    "text",
    [
        "10 passed, 2 failed",
        "2 failed",
        "❌ Test Failed for scheme App",
        '{"passed":10,"failed":2}',
        '{"success": false, "message": "see the log"}',
        '[{"suite": "a", "passed": 5, "failed": 0}, {"suite": "b", "passed": 7, "failed": 1}]',
        '{"exitCode": 1, "output": "broken"}',
    ],
)
def test_a_test_tool_that_tells_of_a_failure_contradicts(text: str) -> None:
    assert standing(stop_after(tool("runTests", text))) is Standing.CONTRADICTED


def test_an_error_of_a_test_tool_is_a_failing_run_unless_it_never_ran() -> None:
    failed = frozenset({0})
    assert standing(stop_after(tool("run_tests", "AssertionError: 1 != 2"), failed=failed)) is Standing.CONTRADICTED
    for words in ("MCP error -32001: Request timed out", "The user rejected this tool", "Not connected"):
        stop = stop_after(tool("run_tests", words), failed=failed)
        assert (stop.rejected, standing(stop)) == (("unverified_edits",), Standing.UNPROVED)


@pytest.mark.parametrize(
    "text", ["", "done", "No tests found", '{"passed":0,"failed":0}', "0 failed", '{"success": true}', "0 tests passed"]
)
def test_a_test_tool_that_ran_nothing_or_tells_nothing_is_unverified(text: str) -> None:
    stop = stop_after(tool("runTests", text))
    assert (stop.rejected, standing(stop)) == (("unverified_edits",), Standing.UNPROVED)


def test_a_tool_that_only_names_tests_is_no_run() -> None:
    for name in ("list_tests", "get_test_results", "create_test"):
        assert ledger(tool(name, "12 passed, 0 failed")).test_runs == ()


@given(st.text(max_size=300))
def test_any_answer_is_read_without_an_error(text: str) -> None:
    counts_told(text)


ENDLESS = "1" * 5_000


@pytest.mark.parametrize(
    "text",
    [
        f"{ENDLESS} passed",
        f"passed: {ENDLESS}",
        f"{ENDLESS} passed in 1.00s",
        f'{{"exitCode": {ENDLESS}}}',
        f"Exit code {ENDLESS}",
        f"Exit Code: {ENDLESS}",
        "0" * 20_000,
    ],
)
def test_a_number_without_end_counts_nothing(text: str) -> None:
    for did in (tool("mcp__x__run_tests", text), sh("pytest -q", text)):
        assert ledger(edit("a.py"), did).test_runs[-1].passed is None
    assert counts_told(f"{'9' * 9} passed") == counts_told(f"{'9' * 9} passed, 0 failed")


MILD = '{"message": "unused", "severity": "Warning"}'
HERE = "- Page URL: http://localhost:3000/a"
AWAY = "- Page URL: https://docs.python.org/3/"

LOOKED: list[tuple[str, Mapping[str, Any], str]] = [
    ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000/a"}, "### Page state"),
    ("mcp__playwright__browser_click", {"element": "Save"}, f"clicked\n{HERE}"),
    ("mcp__playwright__browser_snapshot", {}, f"### Page state\n{HERE}\n- button"),
    ("mcp__playwright__browser_snapshot", {}, "- Page URL: file:///repo/index.html\n- button: 500 apples"),
    ("mcp__playwright__browser_snapshot", {}, "- Page URL: http://[::1]:3000/\n- Page Title: 0 errors"),
    (
        "mcp__playwright__browser_snapshot",
        {},
        '[{"type": "text", "text": "### Page\\\\n- Page URL: file:///a.html\\\\n"}]',
    ),
    ("mcp__playwright__browser_take_screenshot", {}, f"saved\n{HERE}"),
    ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "[ERROR] 404 @ /favicon.ico:0"),
    ("mcp__puppeteer__puppeteer_navigate", {"url": "file:///repo/index.html"}, "ok"),
    ("mcp__chrome-devtools__navigate_page", {"url": "http://127.0.0.1:8000"}, "ok"),
    ("mcp__ide__getDiagnostics", {}, "[]"),
    ("mcp__ide__getDiagnostics", {}, '[{"uri": "file:///repo/a.py", "diagnostics": []}]'),
    ("mcp__ide__getDiagnostics", {}, '[{"diagnostics": [{"message": "unused", "severity": "Warning"}]}]'),
    ("mcp__jetbrains__get_file_problems", {}, '{"filePath": "a.py", "errors": []}'),
    ("get_errors", {}, "No errors found."),
    ("mcp__ide__getDiagnostics", {}, "No errors, 3 warnings"),
    ("mcp__ide__getDiagnostics", {}, f"[{MILD}, {MILD}]"),
    ("mcp__idea__execute_run_configuration", {"name": "app"}, '{"exitCode": 0, "output": "up"}'),
    ("mcp__supabase__apply_migration", {"name": "a"}, '{"success": true}'),
]


@pytest.mark.parametrize(("name", "args", "text"), LOOKED)
def test_what_ran_or_looked_at_the_work_verifies_an_edit_but_is_no_test(
    name: str, args: Mapping[str, Any], text: str
) -> None:
    did: Did = (name, args, text, None)
    found = ledger(edit("a.py"), did)
    assert (found.verified_after_last_edit, found.test_runs) == (True, ())
    assert stop_after(did, said="I fixed the bug.").rejected == ()
    assert stop_after(did, said=CLAIM).rejected == ("unproved_claim",)


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("mcp__playwright__browser_navigate", {"url": "https://docs.python.org/3/"}, "### Page state"),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "net::ERR_CONNECTION_REFUSED"),
        ("mcp__playwright__browser_close", {}, "closed"),
        ("mcp__playwright__browser_navigate", {"url": "about:blank"}, "ok"),
        ("mcp__playwright__browser_navigate", {"url": "//docs.python.org"}, "ok"),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, AWAY),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "[ERROR] x is not a function"),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "Uncaught TypeError: x"),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "responded with a status of 500 ()"),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "[GET] http://a/ => [503] Down"),
        ("mcp__playwright__browser_navigate", {"url": "http://localhost:3000"}, "502 Bad Gateway"),
        ("mcp__playwright__browser_evaluate", {"function": "() => 1"}, "1"),
        ("mcp__playwright__browser_snapshot", {}, "- button"),
        ("mcp__playwright__browser_snapshot", {}, "- Page URL: about:blank"),
        ("mcp__playwright__browser_snapshot", {}, AWAY),
        ("mcp__ide__getDiagnostics", {}, '[{"diagnostics": [{"message": "x is not defined", "severity": "Error"}]}]'),
        ("mcp__ide__getDiagnostics", {}, '[{"diagnostics": [{"message": "x is not defined", "severity": 1}]}]'),
        ("mcp__ide__getDiagnostics", {}, ""),
        ("mcp__ide__getDiagnostics", {}, "Found 3 errors. no errors in b.py"),
        ("mcp__ide__getDiagnostics", {}, '{"errorCount": 2, "files": []}'),
        (
            "mcp__ide__getDiagnostics",
            {},
            f'[{MILD}, {MILD}, {{"message": "x", "severity": "Error"}}, {{"severity": "hint"}}]',
        ),
        ("mcp__ide__getDiagnostics", {}, f'[{MILD}, {MILD}, {{"text": "x", "severity": 1}}]'),
        ("mcp__sentry__get_errors", {}, "No errors found."),
        ("mcp__datadog-mcp__get_errors", {}, "[]"),
        ("mcp__jetbrains__get_file_problems", {}, '{"errors": [{"severity": "ERROR", "description": "x"}]}'),
        ("mcp__idea__execute_run_configuration", {}, '{"exitCode": 1, "output": "down"}'),
        ("mcp__idea__get_run_configurations", {}, '{"exitCode": 0}'),
        ("mcp__supabase__list_migrations", {}, "[]"),
        ("Read", {"file_path": "a.py"}, "[]"),
    ],
)
def test_what_shows_errors_or_something_else_verifies_nothing(name: str, args: Mapping[str, Any], text: str) -> None:
    found = ledger(edit("a.py"), (name, args, text, None))
    assert not found.verified_after_last_edit


def test_what_a_browser_shows_of_another_site_is_not_the_work() -> None:
    away = tool("mcp__playwright__browser_navigate", "ok", url="https://example.org")
    back = tool("mcp__playwright__browser_navigate", "ok", url="localhost:3000")
    look = tool("mcp__playwright__browser_snapshot", "- button")
    assert not ledger(edit("a.py"), away, look).verified_after_last_edit
    assert ledger(edit("a.py"), away, back, look).verified_after_last_edit


def test_where_a_browser_was_before_the_last_stop_says_nothing() -> None:
    look = tool("mcp__playwright__browser_snapshot", "- button")
    for url in ("https://example.org", "http://localhost:3000"):
        before = ledger(tool("mcp__playwright__browser_navigate", "ok", url=url), edit("a.py"))
        assert not ledger_of(turn_of(look), before).verified_after_last_edit
        shown = tool("mcp__playwright__browser_snapshot", HERE)
        assert ledger_of(turn_of(shown), before).verified_after_last_edit


def test_a_page_that_did_not_open_is_not_looked_at() -> None:
    down = tool("mcp__playwright__browser_navigate", "net::ERR_CONNECTION_REFUSED", url="http://localhost:3000")
    look = tool("mcp__playwright__browser_snapshot", "- button")
    assert not ledger(edit("a.py"), down, look).verified_after_last_edit


SHA = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
FORGE = {"owner": "o", "repo": "r", "branch": "main"}


def test_files_pushed_by_a_forges_tool_are_pushed() -> None:
    answer = f'{{"ref": "refs/heads/main", "object": {{"sha": "{SHA}", "type": "commit"}}}}'
    pushed = tool("mcp__github__push_files", answer, **FORGE)
    found = ledger(pushed)
    assert (found.pushes, [c.hash for c in found.commits]) == ((0,), [SHA])
    stop = stop_after(sh("pytest", "== 1 passed in 0.1s =="), pushed, said="I fixed it and pushed it to main.")
    assert stop.rejected == ()
    assert ledger(tool("mcp__github__push_files", "Error: Not Found", **FORGE)).pushes == ()
    assert ledger(tool("send_push_notification", "ok")).pushes == ()


def test_a_file_put_on_a_forge_is_a_commit_and_no_edit_here() -> None:
    blob = "f" * 40
    answer = f'{{"content": {{"path": "a.py", "sha": "{blob}"}}, "commit": {{"message": "x", "sha": "{SHA}"}}}}'
    found = ledger(tool("mcp__github__create_or_update_file", answer, path="a.py", **FORGE))
    assert ([c.hash for c in found.commits], found.writes) == ([SHA], ())
    here = ledger(tool("create_or_update_file", answer, path="a.py"))
    assert (here.commits, [w.path for w in here.writes]) == ((), ["a.py"])
    assert ledger(tool("mcp__github__create_or_update_file", "ok", path="a.py", **FORGE)).commits == ()
    assert ledger(tool("mcp__github__get_commit", answer, **FORGE)).pushes == ()


def test_a_tool_that_commits_may_say_so_in_its_own_words() -> None:
    told = tool("mcp__git__git_commit", f"Changes committed successfully with hash {SHA}")
    assert [c.hash for c in ledger(told).commits] == [SHA]
    assert ledger(tool("mcp__git__git_commit", "nothing to commit")).commits == ()


def test_the_roles_of_other_tools_stay() -> None:
    assert [role_of(name) for name in ("Bash", "Edit", "mcp__ide__executeCode", "execute_command", "WebFetch")] == [
        "shell",
        "write",
        "code",
        "shell",
        "other",
    ]
