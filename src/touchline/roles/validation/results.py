"""What did a check show? Passed only by exit code 0 and something really checked; all else says what it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from touchline.roles.validation.levels import CheckKind
from touchline.supervision.commands import plan_of
from touchline.supervision.testruns import Counts, counts_of, outcome_of


class Outcome(StrEnum):
    """How a check came out."""

    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    """It proves nothing: no command, no test collected, the time was over."""
    ERROR = "error"
    """It could not be run: the program is missing, it was ended, its output could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check that was run, or could not be."""

    name: str
    """The kind of check, or the task's id."""
    command: str
    outcome: Outcome
    why: str
    exit_code: int | None = None
    seconds: float = 0.0
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    collected: int | None = None
    output_path: str = ""
    tail: str = ""
    """The end of its output, for people and for the agent."""


TAIL = 4_000


def judged(
    *,
    name: str,
    command: str,
    how: Literal["exited", "timed_out", "stopped"],
    exit_code: int,
    output: str,
    seconds: float,
    expected: str = "",
    kind: CheckKind | None = None,
    output_path: str = "",
) -> CheckResult:
    """The result of a command that was run."""
    parts = plan_of(command).parts
    tests = any("test" in part.kinds for part in parts) or kind in ("unit", "integration")
    runner = next((part.runner for part in parts if part.runner), "")
    counts = counts_of(output, runner) if tests else None
    if how == "exited" and exit_code == 0 and runner and counts is None:
        # A runner whose summary we know and that printed none may have run nothing.
        outcome, why = Outcome.UNVERIFIED, f"Exit code 0, but {runner} says nowhere how many tests it ran."
    else:
        outcome, why = _outcome(how, exit_code, output, counts, expected=expected, tests=tests, seconds=seconds)
    return CheckResult(
        name=name,
        command=command,
        outcome=outcome,
        why=why,
        exit_code=exit_code,
        seconds=seconds,
        passed=counts.passed if counts else None,
        failed=counts.failed if counts else None,
        skipped=counts.skipped if counts else None,
        collected=counts.collected if counts else None,
        output_path=output_path,
        tail=output[-TAIL:],
    )


def not_run(name: str, why: str, *, command: str = "", outcome: Outcome = Outcome.UNVERIFIED) -> CheckResult:
    """A check that did not take place."""
    return CheckResult(name=name, command=command, outcome=outcome, why=why)


def _outcome(
    how: str, exit_code: int, output: str, counts: Counts | None, *, expected: str, tests: bool, seconds: float
) -> tuple[Outcome, str]:
    if how == "timed_out":
        return Outcome.UNVERIFIED, f"It was ended after {seconds:.0f} s, its time limit."
    if how == "stopped":
        return Outcome.UNVERIFIED, "It was stopped before its end."
    if exit_code in (126, 127):
        return Outcome.ERROR, "The program is not there or cannot be started."
    if exit_code < 0 or exit_code in (137, 143):
        return Outcome.ERROR, "It was ended by a signal."
    if tests:
        told = outcome_of(counts, exit_code, failed=exit_code != 0, text=output)
        if told == "unverified":
            return Outcome.UNVERIFIED, "No test was run." if exit_code in (
                0,
                5,
            ) else f"Exit code {exit_code}, no result."
        if told == "failed" or exit_code != 0:
            number = f"{counts.failed} failed" if counts and counts.failed else f"Exit code {exit_code}"
            return Outcome.FAILED, f"{number}."
    elif exit_code != 0:
        return Outcome.FAILED, f"Exit code {exit_code}."
    if expected and expected not in output:
        return Outcome.FAILED, f"Exit code 0, but the output does not contain {expected!r}."
    return Outcome.PASSED, f"{counts.passed} passed." if counts and counts.passed else "Exit code 0."
