"""The ledger: what the events of turns prove, and what they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.background import BACKGROUND_CHARACTERS, BACKGROUND_KEPT
from touchline.supervision.evidence import Ledger, TestRun
from touchline.supervision.facts import Call, Event, Notice, Result, Text, Turn
from touchline.supervision.ledger import COMMAND_CHARACTERS, ledger_of
from touchline.supervision.snapshot import Snapshot

Did = tuple[str, Mapping[str, Any], str, int | None]
"""A call for a test: tool, arguments, the result's text and its exit code."""

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)


def sh(command: str, text: str = "", code: int | None = 0) -> Did:
    return "Bash", {"command": command}, text, code


def edit(path: str, old: str = "a", new: str = "b") -> Did:
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}, "The file has been updated.", None


def turn_of(*did: Did, failed: frozenset[int] = frozenset(), cwd: str | None = "/repo", cli: str = "opencode") -> Turn:
    events: list[Event] = []
    for at, (tool, args, text, code) in enumerate(did):
        events.append(Call(id=f"c{at}", tool=tool, args=args, at=NOON + timedelta(minutes=at)))
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        bad = at in failed or bool(code)
        events.append(Result(call_id=f"c{at}", text=text, digest=digest, failed=bad, exit_code=code))
    return Turn(cli=cli, events=tuple(events), cwd=cwd)


def ledger(*did: Did, failed: frozenset[int] = frozenset(), cwd: str | None = "/repo") -> Ledger:
    return ledger_of(turn_of(*did, failed=failed, cwd=cwd))


PASS = "===== 4 passed in 0.2s ====="
FAIL = "===== 1 failed, 3 passed in 0.2s ====="
PATCH = """*** Begin Patch
*** Add File: new.py
+x = 1
*** Update File: old.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""


@pytest.mark.parametrize(
    ("tool", "args", "paths"),
    [
        ("Write", {"file_path": "/repo/a.py", "content": "x"}, ["/repo/a.py"]),
        ("Edit", {"file_path": "/repo/a.py", "old_string": "x", "new_string": "y"}, ["/repo/a.py"]),
        ("MultiEdit", {"file_path": "/repo/a.py", "edits": [{"old_string": "x", "new_string": "y"}]}, ["/repo/a.py"]),
        ("NotebookEdit", {"notebook_path": "/repo/a.ipynb", "new_source": "x"}, ["/repo/a.ipynb"]),
        (
            "file_change",
            {"changes": [{"path": "a.py", "kind": "add"}, {"path": "b.py", "kind": "update"}]},
            ["a.py", "b.py"],
        ),
        ("apply_patch", {"input": PATCH}, ["new.py", "old.py", "gone.py"]),
        ("write", {"filePath": "/repo/a.py", "content": "x"}, ["/repo/a.py"]),
        ("edit", {"filePath": "/repo/a.py", "oldString": "x", "newString": "y"}, ["/repo/a.py"]),
        ("patch", {"patchText": PATCH}, ["new.py", "old.py", "gone.py"]),
        ("write_file", {"file_path": "a.py", "content": "x"}, ["a.py"]),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, ["a.py"]),
        ("str_replace_editor", {"command": "create", "path": "/repo/a.py", "file_text": "x"}, ["/repo/a.py"]),
        ("str_replace_editor", {"command": "undo_edit", "path": "/repo/a.py"}, ["/repo/a.py"]),
        ("mcp__files__write_file", {"path": "a.py", "content": "x"}, ["a.py"]),
        ("mcp__files__move_file", {"source": "a.py", "destination": "b.py"}, ["a.py", "b.py"]),
        ("deleteFile", {"path": "a.py"}, ["a.py"]),
        ("Bash", {"command": "echo 1 > a.py"}, ["a.py"]),
        ("shell", {"command": ["bash", "-lc", "sed -i s/a/b/ a.py"]}, ["a.py"]),
        ("exec_command", {"cmd": f"apply_patch <<'P'\n{PATCH}\nP"}, ["new.py", "old.py", "gone.py"]),
        ("command_execution", {"command": "/bin/bash -lc 'touch a.py'"}, ["a.py"]),
        ("run_shell_command", {"command": "rm a.py"}, ["a.py"]),
    ],
)
def test_writes_of_every_tool(tool: str, args: dict[str, Any], paths: list[str]) -> None:
    assert [w.path for w in ledger((tool, args, "", None)).writes] == paths


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Read", {"file_path": "/repo/a.py"}),
        ("str_replace_editor", {"command": "view", "path": "/repo/a.py"}),
        ("Grep", {"pattern": "edit", "path": "/repo"}),
        ("TodoWrite", {"todos": [{"content": "write a.py"}]}),
        ("mcp__forge__create_issue", {"title": "write"}),
        ("mcp__forge__create_or_update_file", {"owner": "o", "repo": "r", "path": "a.py"}),
        ("create_directory", {"path": "a"}),
        ("Bash", {"command": "cat a.py"}),
        ("Bash", {"command": "echo x > /tmp/x"}),
        ("Write", {"file_path": "/tmp/notes.py", "content": "x"}),
    ],
)
def test_calls_that_change_nothing_of_the_work(tool: str, args: dict[str, Any]) -> None:
    assert ledger((tool, args, "ok", None)).writes == ()


def test_a_workspace_below_tmp_is_the_work() -> None:
    assert [w.path for w in ledger(("Write", {"file_path": "/tmp/ws/a.py"}, "", None), cwd="/tmp/ws").writes] == [
        "/tmp/ws/a.py"
    ]


def test_failed_and_unanswered_calls_write_nothing() -> None:
    assert ledger(edit("a.py"), failed=frozenset({0})).writes == ()
    asked = Turn(cli="claude", events=(Call(id="1", tool="Edit", args={"file_path": "a.py"}),))
    assert ledger_of(asked) == Ledger(calls=1)


def test_a_failed_line_keeps_the_writes_before_the_part_that_failed() -> None:
    found = ledger(sh("sed -i s/a/b/ a.py && pytest", FAIL, 1), sh("echo x > b.py", "", 1))
    assert [w.path for w in found.writes] == ["a.py"]


def test_commands_have_kinds_exit_codes_and_a_bounded_text() -> None:
    found = ledger(sh("pytest && git commit -m x", "", 1), sh("ls " + "x" * 1_000))
    assert found.commands[0].kinds == {"test", "commit"}
    assert (found.commands[0].exit_code, found.commands[0].failed) == (1, True)
    assert len(found.commands[1].text) == COMMAND_CHARACTERS


def test_exit_codes_that_stand_in_the_text() -> None:
    claude = ledger_of(turn_of(("Bash", {"command": "pytest"}, f"Exit code 1\n{FAIL}", None), failed=frozenset({0})))
    gemini = ledger(("run_shell_command", {"command": "make"}, "Output: no\nExit Code: 2\n", None))
    said = ledger(("Bash", {"command": "cat log"}, "the server said: Exit code 3", None))
    assert (claude.commands[0].exit_code, claude.test_runs[0].outcome) == (1, "failed")
    assert (gemini.commands[0].exit_code, gemini.commands[0].failed) == (2, True)
    assert (said.commands[0].exit_code, said.commands[0].failed) == (None, False)


@pytest.mark.parametrize(
    ("command", "text", "code", "outcome", "seen"),
    [
        ("pytest", PASS, 0, "passed", 0),
        ("pytest", FAIL, 1, "failed", 1),
        ("pytest | tail -2", PASS, 0, "passed", None),
        ("pytest | tail -2", FAIL, 0, "failed", None),
        ("pytest -q > /dev/null || true", "", 0, "unverified", None),
        ("pytest; ls", "a.py", 0, "unverified", None),
        ("pytest && git push", PASS + "\nfatal: no remote", 1, "passed", None),
        ("pytest && git push", "fatal: no remote", 1, "unverified", None),
        ("pytest", "===== no tests ran in 0.01s =====", 5, "unverified", 5),
        ("go test ./...", "?   \tx\t[no test files]", 0, "unverified", 0),
        ("cargo test", "", 0, "passed", 0),
        ("pytest", PASS, None, "passed", None),
        ("pytest", "", None, "unverified", None),
        ("python tests/test_a.py", "Ran 2 tests in 0.1s\n\nOK", 0, "passed", 0),
    ],
)
def test_test_runs(command: str, text: str, code: int | None, outcome: str, seen: int | None) -> None:
    run = ledger(sh(command, text, code)).last_test_run
    assert run is not None
    assert (run.outcome, run.exit_code) == (outcome, seen)


def test_where_failures_are_flagged_silence_means_zero() -> None:
    quiet, hidden = sh("make test", "", None), sh("make test | tail", "", None)
    assert [r.outcome for r in ledger_of(turn_of(quiet, cli="claude")).test_runs] == ["passed"]
    assert [r.outcome for r in ledger_of(turn_of(quiet, cli="gemini")).test_runs] == ["unverified"]
    assert [r.outcome for r in ledger_of(turn_of(hidden, cli="claude")).test_runs] == ["unverified"]
    stopped = turn_of(sh("make test", "[Request interrupted by user]", None), cli="claude", failed=frozenset({0}))
    assert [r.outcome for r in ledger_of(stopped).test_runs] == ["unverified"]


@pytest.mark.parametrize("command", ["pytest --collect-only", "cat report.txt", "python tests/report.py", "ls tests"])
def test_no_test_run(command: str) -> None:
    assert ledger(sh(command, PASS if "cat" in command else "")).test_runs == ()


def test_a_test_run_in_the_background_proves_nothing() -> None:
    args = {"command": "pytest", "run_in_background": True}
    found = ledger(edit("a.py"), ("Bash", args, "Command running in background with ID: b1", None))
    assert found.last_test_run is not None
    assert found.last_test_run.outcome == "unverified"
    assert not found.verified_after_last_edit


OUTPUT = "/tmp/claude/tasks/b1.output"


def background(command: str) -> Did:
    return "Bash", {"command": command, "run_in_background": True}, "Command running in background with ID: b1.", None


def read(text: str, path: str = OUTPUT, **more: int) -> Did:
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), 1))
    return "Read", {"file_path": path, **more}, numbered, None


def ended(ledger: Ledger, code: int, *then: Did, call: str = "c0") -> Ledger:
    """A later turn, in which the end of a command is told, and what was done afterwards."""
    after = turn_of(*then)
    calls = {event.id: f"later-{event.id}" for event in after.events if isinstance(event, Call)}
    events = tuple(
        replace(e, id=calls[e.id]) if isinstance(e, Call) else replace(e, call_id=calls[e.call_id])
        for e in after.events
        if isinstance(e, Call | Result)
    )
    told = Notice(call_id=call, exit_code=code, output=OUTPUT)
    return ledger_of(replace(after, events=(told, *events)), ledger)


def last(ledger: Ledger) -> TestRun:
    assert ledger.last_test_run is not None
    return ledger.last_test_run


@pytest.mark.parametrize(
    ("command", "code", "outcome"),
    [
        ("pytest", 0, "passed"),
        ("cd app && pytest -q", 0, "passed"),
        ("sleep 1; pytest", 1, "failed"),
        ("pytest", 5, "unverified"),
        ("pytest | tail -5", 0, "unverified"),
        ("pytest; true", 0, "unverified"),
        ("pytest && echo done", 1, "unverified"),
        (f"pytest; echo {'x' * COMMAND_CHARACTERS}", 0, "unverified"),
        (f"echo {'x' * BACKGROUND_CHARACTERS}; pytest", 0, "unverified"),
    ],
)
def test_the_end_of_a_command_in_the_background_is_that_of_its_call(command: str, code: int, outcome: str) -> None:
    begun = ledger(edit("a.py"), background(command))
    assert (last(begun).outcome, last(begun).exit_code) == ("unverified", None)
    assert not begun.verified_after_last_edit
    found = ended(begun, code, call="c1")
    assert (last(found).outcome, last(found).call) == (outcome, 1)
    assert found.verified_after_last_edit is (outcome == "passed")
    assert [(c.call, c.open, c.failed) for c in found.commands] == [
        (1, len(command) > BACKGROUND_CHARACTERS, code != 0)
    ]


def test_what_runs_in_the_background_is_as_old_as_its_beginning() -> None:
    found = ended(ledger(edit("a.py"), background("pytest"), edit("a.py")), 0, call="c1")
    assert last(found).outcome == "passed"
    assert not found.verified_after_last_edit
    later = ended(ledger(background("pytest"), sh("pytest", FAIL, 1)), 0)
    assert last(later).call == 1, "a run that began later is the last, whichever ended first"


def test_an_end_is_told_once_and_only_of_what_runs_in_the_background() -> None:
    begun = ledger(background("pytest"), sh("make test", "", 1))
    assert last(ended(ended(begun, 1), 0)).call == 1
    assert [r.outcome for r in ended(ended(begun, 1), 0).test_runs] == ["failed", "failed"]
    assert ended(begun, 0, call="c1").test_runs == begun.test_runs, "a command in the foreground has its result"
    assert ended(begun, 0, call="c7").test_runs == begun.test_runs
    refused = ("Bash", {"command": "pytest", "run_in_background": True}, "Permission denied", None)
    assert not ledger_of(turn_of(refused, failed=frozenset({0}))).background


def test_a_check_in_the_background_is_open_until_its_end_is_told() -> None:
    begun = ledger(edit("a.py"), background("mypy ."))
    assert not begun.verified_after_last_edit
    assert ended(begun, 0, call="c1").verified_after_last_edit
    assert not ended(begun, 1, call="c1").verified_after_last_edit
    pushing = ledger(background("git push"), sh("git push"))
    assert pushing.pushes == (1,)
    assert ended(pushing, 0).pushes == (0, 1)
    assert ended(pushing, 1).pushes == (1,)


EXITED = "\n\n[exited with code {}]\n"


@pytest.mark.parametrize(
    ("command", "code", "text", "expected"),
    [
        ("pytest", 0, PASS, ("passed", 4)),
        ("pytest", 1, FAIL, ("failed", 3)),
        ("pytest", 0, "===== no tests ran in 0.1s =====", ("unverified", 0)),
        ("pytest", 1, "No module named pytest", ("failed", None)),
        ("pytest | tail -5", 0, PASS, ("unverified", None)),
        ("pytest | tail -5", 0, FAIL, ("failed", 3)),
    ],
)
def test_what_it_printed_tells_more_but_nothing_better(
    command: str, code: int, text: str, expected: tuple[str, int | None]
) -> None:
    """Its output is a file, which the agent could have written as well."""
    found = ended(ledger(background(command)), code, read(text + EXITED.format(code)))
    assert (last(found).outcome, last(found).passed) == expected
    assert len(found.test_runs) == 1
    assert found.commands[0].failed is (expected[0] == "failed")


@pytest.mark.parametrize(
    "did",
    [
        read(FAIL + EXITED.format(0), "/tmp/claude/tasks/b2.output"),
        read(FAIL),
        read(FAIL + EXITED.format(1)),
        read(FAIL + EXITED.format(0), limit=20),
        sh("echo", FAIL + EXITED.format(0)),
    ],
    ids=["another file", "not to its end", "of another end", "a part", "printed"],
)
def test_what_is_not_its_whole_output_tells_nothing(did: Did) -> None:
    found = ended(ledger(background("pytest")), 0, did)
    assert (last(found).outcome, last(found).passed) == ("passed", None)


def test_output_that_is_read_before_the_end_tells_nothing() -> None:
    found = ended(ledger(background("pytest"), read(PASS + EXITED.format(0))), 0)
    assert (last(found).outcome, last(found).passed) == ("passed", None)


def test_few_commands_in_the_background_are_remembered() -> None:
    found = ledger(*(background("pytest") for _ in range(BACKGROUND_KEPT + 5)))
    assert [each.call for each in found.background] == list(range(5, BACKGROUND_KEPT + 5))


def test_two_runners_in_one_line_are_two_runs() -> None:
    found = ledger(sh("pytest && npx jest", f"{PASS}\nTests:       2 passed, 2 total\n"))
    assert [(r.runner, r.passed) for r in found.test_runs] == [("pytest", 4), ("jest", 2)]


def test_a_tool_that_runs_tests() -> None:
    found = ledger(edit("a.py"), ("mcp__ide__run_tests", {}, FAIL, None), ("runTests", {"files": []}, PASS, None))
    assert [r.outcome for r in found.test_runs] == ["failed", "passed"]
    assert found.verified_after_last_edit
    assert ledger(("list_tests", {}, PASS, None)).test_runs == ()


@pytest.mark.parametrize(
    ("did", "verified"),
    [
        ([edit("a.py"), sh("pytest", PASS)], True),
        ([edit("a.py"), sh("pytest", FAIL, 1)], False),
        ([edit("a.py"), sh("pytest | tail -1", FAIL)], False),
        ([sh("pytest", PASS), edit("a.py")], False),
        ([edit("a.py"), sh("cat a.py")], False),
        ([edit("a.py"), sh("git commit -m x", "[main abc1234] x")], False),
        ([edit("a.py"), sh("python a.py")], True),
        ([edit("a.py"), sh("pytest > /dev/null || true")], False),
        ([edit("a.py"), sh("go test ./...", "?   \tx\t[no test files]")], False),
        ([sh("sed -i s/a/b/ a.py && pytest", PASS)], True),
        ([sh("pytest && sed -i s/a/b/ a.py", PASS)], False),
        ([sh("cat > a.py <<'E'\nprint(1)\nE\npython a.py", "1")], True),
        ([edit("a.py"), sh("pytest > report.txt; cat report.txt", PASS)], True),
        ([edit("a.py"), sh("pytest", PASS), sh("echo x > /tmp/x")], True),
        ([edit("a.py"), sh("pytest", PASS), sh("echo x > b.py")], False),
    ],
)
def test_was_the_work_run_after_the_last_edit(did: list[Did], verified: bool) -> None:
    assert ledger(*did).verified_after_last_edit is verified


def test_tidying_up_own_files_and_build_results_is_no_edit() -> None:
    made = ("Write", {"file_path": "/repo/repro.py", "content": "x"}, "File created successfully", None)
    tidy = ledger(made, edit("a.py"), sh("pytest", PASS), sh("rm repro.py && rm -rf build __pycache__"))
    cut = ledger(edit("a.py"), sh("pytest", PASS), sh("rm src/engine.py"))
    assert tidy.verified_after_last_edit
    assert not cut.verified_after_last_edit


@pytest.mark.parametrize(
    ("did", "hashes"),
    [
        ([sh("git commit -m x", "[main 1a2b3c4] x\n 1 file changed")], ["1a2b3c4"]),
        ([sh("git commit -m x", "[main (root-commit) 1a2b3c4] x")], ["1a2b3c4"]),
        ([sh("git add . && git commit -m x && git push", "[main 1a2b3c4] x\nfatal: no remote", 128)], ["1a2b3c4"]),
        ([sh("git commit -qm x && git rev-parse HEAD", "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d\n")],
         ["1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"]),
        ([sh("git commit -qm x"), sh("git log --oneline -1", "1a2b3c4 x\n")], ["1a2b3c4"]),
        ([sh("git commit -m x", "nothing to commit, working tree clean", 1)], []),
        ([sh("git commit -qm x | cat", "nothing to commit"), sh("git log --oneline -1", "1a2b3c4 old\n")], []),
        ([sh("git commit -qm x", "", 1), sh("git log --oneline -1", "1a2b3c4 old\n")], []),
        ([sh("git log --oneline -1", "1a2b3c4 old\n")], []),
        ([sh("cat notes", "[main 1a2b3c4] x")], []),
    ],
)  # fmt: skip
def test_commits(did: list[Did], hashes: list[str]) -> None:
    assert [c.hash for c in ledger(*did).commits] == hashes


def test_pushes() -> None:
    went = "To github.com:o/r.git\n   1a2b3c4..5d6e7f8  main -> main\n"
    refused = (
        "To github.com:o/r.git\n ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs\n"
    )
    assert ledger(sh("git push", went)).pushes == (0,)
    assert ledger(sh("git push 2>&1 | tail -3", went)).pushes == (0,)
    assert ledger(sh("git push 2>&1 | tail -3", refused)).pushes == ()
    assert ledger(sh("git push", refused, 1)).pushes == ()
    assert ledger(sh("git push --dry-run", went)).pushes == ()


def test_pull_requests() -> None:
    url = "https://github.com/o/r/pull/12"
    merge = "https://gitlab.example.org/g/p/-/merge_requests/7"
    assert ledger(sh("gh pr create --fill", f"Creating pull request\n{url}\n")).pull_requests == (url,)
    assert ledger(sh("glab mr create --fill", merge)).pull_requests == (merge,)
    assert ledger(("mcp__github__create_pull_request", {}, f'{{"html_url": "{url}"}}', None)).pull_requests == (url,)
    assert ledger(sh("gh pr create", f"already exists: {url}", 1)).pull_requests == ()
    assert ledger(sh("gh pr view 12", url)).pull_requests == ()
    assert ledger(sh("git push", "visit:\n https://github.com/o/r/pull/new/fix")).pull_requests == ()


TEN = "===== 10 passed in 1.0s ====="


@pytest.mark.parametrize(
    ("did", "why"),
    [
        ([sh("rm tests/test_a.py")], "test_deleted"),
        ([sh("git rm -q src/app.spec.ts")], "test_deleted"),
        ([("file_change", {"changes": [{"path": "pkg/a_test.go", "kind": "delete"}]}, "", None)], "test_deleted"),
        ([sh("mv tests/test_a.py tests/test_a.py.bak")], "test_deleted"),
        ([edit("tests/test_a.py", "def test_x():", "@pytest.mark.skip\ndef test_x():")], "test_skipped"),
        ([edit("a.test.ts", "it('adds', f)", "it.skip('adds', f)")], "test_skipped"),
        (
            [edit("src/a_test.go", "func TestA(t *testing.T) {", "func TestA(t *testing.T) {\n\tt.Skip()")],
            "test_skipped",
        ),
        ([edit("tests/it.rs", "#[test]", "#[test]\n#[ignore]")], "test_skipped"),
        ([edit("src/test/java/ATest.java", "@Test", "@Disabled\n@Test")], "test_skipped"),
        ([sh("sed -i 's/^def test_x/@pytest.mark.xfail\\ndef test_x/' tests/test_a.py")], "test_skipped"),
        (
            [("apply_patch", {"input": "*** Update File: tests/test_a.py\n+@unittest.skip('later')\n"}, "", None)],
            "test_skipped",
        ),
        ([sh("pytest", TEN), sh("pytest", PASS)], "count_fell"),
        ([sh("pytest", TEN), sh("pytest", "=== 7 passed, 3 skipped in 1s ===")], "count_fell"),
        ([sh("pytest", "=== 2 failed, 8 passed in 1s ===", 1), sh("pytest", "=== 8 passed in 1s ===")], "count_fell"),
    ],
)
def test_tests_made_easier(did: list[Did], why: str) -> None:
    weakened = ledger(*did).weakened
    assert weakened is not None
    assert weakened.why == why
    assert weakened.call == len(did) - 1


@pytest.mark.parametrize(
    "did",
    [
        [sh("pytest", TEN), sh("pytest tests/test_a.py", PASS)],
        [sh("pytest", PASS), sh("pytest", TEN)],
        [sh("pytest", TEN), sh("pytest", "=== 1 error in 0.1s ===", 2)],
        [sh("pytest", TEN), sh("pytest", PASS), sh("pytest", TEN)],
        [sh("pytest", "=== 2 failed, 8 passed in 1s ===", 1), sh("pytest", TEN)],
        [edit("tests/test_a.py", "@pytest.mark.skip\ndef test_x():", "def test_x():")],
        [edit("tests/test_a.py", "@pytest.mark.skip('a')", "@pytest.mark.skip('b')")],
        [edit("tests/test_a.py", "x = 1", "x = 2\ndef test_y(): ...")],
        [edit("src/queue.py", "a", "it.skip(b)")],
        [("Write", {"file_path": "/repo/test_new.py", "content": "x"}, "File created", None), sh("rm test_new.py")],
        [("Write", {"file_path": "tests/test_n.py", "content": "@pytest.mark.skip"}, "File created", None)],
        [sh("mv tests/test_a.py tests/unit/test_a.py")],
        [sh("rm -rf tests/__pycache__ tests/data.json")],
        [sh("rm src/contest.py")],
        [sh("rm tests/test_a.py", "No such file", 1)],
    ],
)
def test_tests_not_made_easier(did: list[Did]) -> None:
    assert ledger(*did).weakened is None


def test_a_snapshot_shows_what_a_script_wrote() -> None:
    snapshot = Snapshot(
        before={"a.py": (3, "h1"), "b.py": (1, "h2"), "old.py": (1, "h")},
        after={"a.py": (4, "h3"), "b.py": (1, "h2"), "new.py": (2, "h4"), "__pycache__/a.pyc": (9, "h5")},
    )
    turn = turn_of(edit("/repo/a.py"), sh("python make_new.py"), sh("pytest", PASS))
    found = ledger_of(turn, snapshot=snapshot)
    assert [(w.path, w.how, w.change, w.call) for w in found.writes] == [
        ("/repo/a.py", "tool", "changed", 0),
        ("new.py", "snapshot", "created", 1),
        ("old.py", "snapshot", "deleted", 1),
    ]
    assert found.verified_after_last_edit
    unchanged = ledger_of(turn, snapshot=Snapshot(before=snapshot.before, after=snapshot.before))
    assert unchanged == replace(ledger_of(turn), watched=True)


def test_a_ledger_is_watched_when_every_turn_was() -> None:
    nothing = Snapshot(before={}, after={})
    first = ledger_of(turn_of(sh("ls")), snapshot=nothing)
    assert first.watched
    assert ledger_of(turn_of(sh("ls")), first, snapshot=nothing).changed_nothing
    assert not ledger_of(turn_of(sh("ls")), first).watched
    assert not ledger_of(turn_of(sh("ls")), ledger_of(turn_of(sh("ls"))), snapshot=nothing).watched
    assert not ledger_of(turn_of(sh("pip install rich", "Successfully installed")), snapshot=nothing).changed_nothing


def test_a_snapshot_with_times_finds_the_call() -> None:
    turn = turn_of(sh("python one.py"), sh("python two.py"), sh("pytest", PASS))
    stamp = (NOON + timedelta(seconds=30)).timestamp()
    found = ledger_of(turn, snapshot=Snapshot(before={}, after={"made.py": (1, stamp)}))
    assert [w.call for w in found.writes] == [0]


DID = st.sampled_from(
    [
        edit("a.py"),
        edit("tests/test_a.py", "x", "@pytest.mark.skip"),
        ("Write", {"file_path": "repro.py", "content": "x"}, "File created", None),
        sh("rm repro.py"),
        sh("rm tests/test_a.py"),
        sh("pytest", PASS),
        sh("pytest", TEN),
        sh("pytest", FAIL, 1),
        sh("pytest | tail", FAIL),
        sh("git commit -qm x"),
        sh("git log --oneline -1", "1a2b3c4 x"),
        sh("git commit -m x && git push", "[main 5d6e7f8] x"),
        sh("gh pr create", "https://github.com/o/r/pull/3"),
        sh("cat > gen.py <<'E'\n1\nE\npython gen.py"),
    ]
)
TURNS = st.lists(st.lists(DID, max_size=5).map(lambda did: turn_of(*did)), max_size=3)


@given(TURNS, TURNS)
def test_a_ledger_goes_on_where_another_ended(one: list[Turn], two: list[Turn]) -> None:
    assert ledger_of(one + two) == ledger_of(two, before=ledger_of(one))


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["command", "cmd", "path", "file_path", "changes", "edits", "input", "new_string", "old_string", "code"]
)
TOOLS = st.sampled_from(
    ["Bash", "Edit", "Write", "apply_patch", "file_change", "run_tests", "git_commit", "x__create_pr", ""]
)


@given(TOOLS, st.dictionaries(KEYS, JSONISH, max_size=4), st.text(max_size=50), st.sampled_from([None, 0, 1]))
def test_any_arguments_are_read_without_an_error(tool: str, args: dict[str, Any], text: str, code: int | None) -> None:
    assert ledger((tool, args, text, code)).calls == 1


def test_words_of_the_agent_prove_nothing() -> None:
    said = Turn(cli="claude", events=(Text(text=f"I ran pytest: {PASS}. Committed [main 1a2b3c4] x."),))
    assert ledger_of(said) == Ledger()


def timed(turn: Turn, seconds: float = 10) -> Turn:
    """The same, with results so long after their calls."""
    begun = {event.id: event.at for event in turn.events if isinstance(event, Call)}
    events = [
        replace(e, at=(begun[e.call_id] or NOON) + timedelta(seconds=seconds)) if isinstance(e, Result) else e
        for e in turn.events
    ]
    return replace(turn, events=tuple(events))


def at_minute(minute: float) -> float:
    return (NOON + timedelta(minutes=minute)).timestamp()


def seen(path: str, minute: float, *, before: bool = True) -> Snapshot:
    return Snapshot(
        before={path: (1, at_minute(-9))} if before else {}, after={path: (2, at_minute(minute))}, root="/repo"
    )


@pytest.mark.parametrize("path", ["/repo/a.py", "a.py", "./a.py"])
def test_a_file_that_changed_after_its_own_call_was_edited_again(path: str) -> None:
    turn = timed(turn_of(edit(path), sh("pytest", PASS), sh("python gen.py")))
    found = ledger_of(turn, snapshot=seen("a.py", 2.1))
    assert [(w.call, w.how) for w in found.writes] == [(0, "tool"), (2, "snapshot")]
    assert not found.verified_after_last_edit
    own = ledger_of(turn, snapshot=seen("a.py", 0.1))
    assert own.verified_after_last_edit, "the call's own write is no second one"
    assert len(own.writes) == 1


@pytest.mark.parametrize(
    "after",
    ["pytest", "ruff format .", "npx prettier --write .", "chmod +x a.py", "git commit -qm x", "mypy ."],
)
def test_what_checks_and_formatters_touch_is_no_new_edit(after: str) -> None:
    turn = timed(turn_of(edit("/repo/a.py"), sh("pytest", PASS), sh(after, PASS)))
    assert ledger_of(turn, snapshot=seen("a.py", 2.1)).verified_after_last_edit
    assert ledger_of(turn, snapshot=seen("report.xml", 2.1, before=False)).verified_after_last_edit


@pytest.mark.parametrize("after", ["python gen.py", "./gen.sh", "git merge other", "tar xf new.tar", "node gen.js"])
def test_what_can_bring_other_contents_is_one(after: str) -> None:
    turn = timed(turn_of(edit("/repo/a.py"), sh("pytest", PASS), sh(after)))
    assert not ledger_of(turn, snapshot=seen("a.py", 2.1)).verified_after_last_edit


def test_a_line_that_checks_what_its_script_made_proves_it() -> None:
    turn = timed(turn_of(edit("/repo/a.py"), sh("python gen.py && pytest", PASS)))
    assert ledger_of(turn, snapshot=seen("a.py", 1.1)).verified_after_last_edit
    turn = timed(turn_of(edit("/repo/a.py"), sh("pytest && python gen.py", PASS)))
    assert not ledger_of(turn, snapshot=seen("a.py", 1.1)).verified_after_last_edit


def test_a_file_of_an_earlier_turn_that_no_call_of_this_one_names_was_changed_by_a_script() -> None:
    first = ledger_of(timed(turn_of(edit("/repo/a.py"), sh("pytest", PASS))), snapshot=seen("a.py", 0.1))
    second = ledger_of(timed(turn_of(sh("python gen.py"))), first, snapshot=seen("a.py", 0.1))
    assert [(w.call, w.how) for w in second.writes] == [(0, "tool"), (2, "snapshot")]


def test_a_file_of_the_same_name_in_another_folder_is_another_file() -> None:
    turn = timed(turn_of(edit("/repo/src/a.py"), sh("pytest", PASS), sh("python gen.py")))
    assert [w.path for w in ledger_of(turn, snapshot=seen("a.py", 2.1)).writes] == ["/repo/src/a.py", "a.py"]


def test_of_calls_made_at_once_each_keeps_what_it_told() -> None:
    turn = turn_of(edit("/repo/a.py"), sh("pytest", PASS))
    events = [replace(e, at=NOON) if isinstance(e, Call) else e for e in turn.events]
    ends = iter((NOON + timedelta(seconds=1), NOON + timedelta(seconds=20)))
    events = [replace(e, at=next(ends)) if isinstance(e, Result) else e for e in events]
    found = ledger_of(replace(turn, events=tuple(events)), snapshot=seen("a.py", 0.01))
    assert [w.call for w in found.writes] == [0]
    assert found.verified_after_last_edit


@pytest.mark.parametrize(
    ("path", "can_be_wrong"),
    [
        ("README", False),
        ("README.de.md", False),
        ("LICENSE-MIT", False),
        ("CODEOWNERS", False),
        ("docs/notes.txt", False),
        ("guide.markdown", False),
        (".gitignore", False),
        ("logo.svg", False),
        ("readme_parser.py", True),
        ("bin/todo", True),
        ("bin/license-check", True),
        ("docs/requirements.txt", True),
        ("app/docs/templates/mail.txt", True),
        ("src/todo.py", True),
        ("history.js", True),
        ("requirements.txt", True),
        ("CMakeLists.txt", True),
        ("docs/conf.py", True),
    ],
)
def test_what_no_run_can_prove_wrong_calls_for_none(path: str, can_be_wrong: bool) -> None:
    assert (ledger(edit(path)).last_edit is not None) is can_be_wrong


@pytest.mark.parametrize(("tool", "outcome"), [("Bash", "passed"), ("mcp__shell__execute_command", "unverified")])
def test_only_a_clis_own_shell_says_by_silence_that_a_command_went_well(tool: str, outcome: str) -> None:
    (run,) = ledger_of(turn_of((tool, {"command": "pytest -q"}, "ok", None), cli="claude")).test_runs
    assert run.outcome == outcome
