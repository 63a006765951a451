"""Which test runs does this call prove?

Joins what the command is for, whose exit code is seen, and what the output counts. The exit code of `pytest | tail` is
that of `tail`: such a run stands on its counts alone.
"""

from __future__ import annotations

from touchline.supervision.commands import Part, Plan
from touchline.supervision.evidence import TestRun
from touchline.supervision.facts import Result
from touchline.supervision.prepared import shape
from touchline.supervision.testruns import Counts, Outcome, counts_of, outcome_of
from touchline.supervision.weakening import is_test_path

_ALL = 1_000
"""More summaries than a line prints."""


def exit_code_of(result: Result) -> int | None:
    """The code the reader found, or the one that Claude Code and Gemini CLI write at a fixed place of the text."""
    if result.exit_code is not None:
        return result.exit_code
    if result.text.startswith(("Exit code ", "Error: Exit code ", "Exit code: ")):
        found = shape(r"(?:Error: )?Exit code:? (-?\d{1,9})\b").match(result.text)
    elif "Exit Code: " in result.text[-400:]:
        found = shape(r"(?m)^Exit Code: (-?\d{1,9})\s*$").search(result.text[-400:])
    else:
        return None
    return int(found[1]) if found else None


def runs_of_line(
    call: int, plan: Plan, result: Result, *, background: bool = False, flags_failures: bool = False
) -> tuple[TestRun, ...]:
    """The test runs of a shell line, one per runner.

    `flags_failures` where the CLI marks every non-zero exit as an error: then no mark means zero. Of a line that was
    only begun, in the `background`, nothing is known yet.
    """
    code = None if background else exit_code_of(result)
    if code is None and flags_failures and not (background or result.failed):
        code = 0
    if "test" not in plan.kinds:
        return _runs_of_script(call, plan, result, code)
    runners: dict[str, list[int]] = {}
    for at, part in enumerate(plan.parts):
        if "test" in part.kinds:
            runners.setdefault(part.runner, []).append(at)
    runs: list[TestRun] = []
    for runner, places in runners.items():
        seen = {plan.parts[at].exit for at in places}
        own = None if "hidden" in seen or (code != 0 and "own" not in seen) else code
        if any("--if-present" in plan.parts[at].words for at in places) and shows_nothing(result.text):
            own = own or None  # there may be no such script at all
        counts = None if background or not result.text else _counted(plan, places, result.text, runner)
        unsure = background or (result.failed and code is None)
        outcome = outcome_of(counts, own, failed=unsure, text=result.text)
        runs.append(_run(call, runner, counts, own, outcome))
    return tuple(runs)


def shows_nothing(text: str) -> bool:
    """Nothing was printed. Claude Code says so in words of its own."""
    return not text.strip() or text.strip() in ("(Bash completed with no output)", "(no output)")


def _counted(plan: Plan, places: list[int], text: str, runner: str) -> Counts | None:
    """The counts that these parts of the line printed themselves."""
    if len(plan.parts) == 1 and not plan.parts[0].out and not plan.parts[0].err:
        return counts_of(text, runner)
    from .printed import printed_by  # only for lines of several parts: hooks count milliseconds

    printed = printed_by(plan.parts, places, text)
    if printed is None or (printed.doubtful and printed.partly):
        return None
    found = counts_of(printed.text, runner, printed.runs)
    if found is None or not printed.doubtful or found.failed:
        return found
    everything = counts_of(printed.text, runner, _ALL)
    return None if everything is not None and everything.failed else found


def _runs_of_script(call: int, plan: Plan, result: Result, code: int | None) -> tuple[TestRun, ...]:
    """A test file run as a script, or the project's `ci`, is a test run when its output holds a summary, else a run."""
    named = [at for at, part in enumerate(plan.parts) if "run" in part.kinds and _names_tests(part)]
    counts = _counted(plan, named[-1:], result.text, "unittest") if named else None
    if counts is None or counts.verdict:
        return ()
    own = code if plan.parts[named[-1]].exit == "own" else None
    outcome = outcome_of(counts, own, failed=result.failed and code is None, text=result.text)
    return (_run(call, counts.runner, counts, own, outcome),)


def _names_tests(part: Part) -> bool:
    """Whether it is given a file of tests, or the project's `ci`. A program on the line itself may say anything."""
    return any(_may_test(word) for word in part.words[:4] if word != part.code)


def _may_test(word: str) -> bool:
    if word.rsplit("/", 1)[-1] in ("ci", "ci.sh", "ci.bash", "ci.py", "ci.js", "ci.ts", "ci.rb"):
        return True
    return ("test" in word or "spec" in word) and is_test_path(word)


def run_of_tool(call: int, tool: str, result: Result) -> TestRun:
    """The run of a tool that tests by its name, such as an editor's `runTests`."""
    from .tool_checks import code_told, counts_told, outcome_told  # few sessions have such a tool

    counts, code = counts_told(result.text), exit_code_of(result)
    code = code_told(result.text) if code is None else code
    return _run(call, tool, counts, code, outcome_told(counts, code, result))


def _run(call: int, runner: str, counts: Counts | None, code: int | None, outcome: Outcome) -> TestRun:
    if counts is None:
        return TestRun(runner=runner, call=call, exit_code=code, outcome=outcome)
    return TestRun(
        runner=counts.runner or runner,
        call=call,
        passed=counts.passed,
        failed=counts.failed,
        skipped=counts.skipped,
        collected=counts.collected,
        exit_code=code,
        outcome=outcome,
    )
