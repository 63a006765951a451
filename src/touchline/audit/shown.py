"""What does the ledger show, in words? A few lines a person can check against the log."""

from __future__ import annotations

from touchline.audit.figures import count
from touchline.audit.visible import one_line
from touchline.supervision.evidence import Command, Ledger, TestRun

_FILES = 3
_TEXT_CHARS = 90


def evidence_shown(ledger: Ledger, *, first_call: int = 0) -> tuple[str, ...]:
    """What the ledger shows at the end of a turn whose calls are numbered from `first_call`."""
    lines: list[str] = []
    edit = ledger.last_edit
    if edit is not None and edit >= first_call:
        written = list(dict.fromkeys(write.path for write in ledger.writes if write.call >= first_call))
        names = ", ".join(one_line(path, _TEXT_CHARS) for path in written[:_FILES])
        more = f" and {len(written) - _FILES} more" if len(written) > _FILES else ""
        lines.append(f"{count(len(written), 'file')} written in this turn: {names}{more}.")
        ran = ledger.after_last_edit
        lines.append(
            f"After the last edit (call {edit}), {_ran(ran[-1])}."
            if ran
            else f"Nothing was run after the last edit (call {edit})."
        )
    run = ledger.last_test_run
    if run is not None:
        lines.append(f"Last test run: {_tests(run)}.")
    elif ledger.calls:
        lines.append("No test run in this session so far.")
    if ledger.weakened is not None:
        lines.append(f"Tests were made easier (call {ledger.weakened.call}): {one_line(ledger.weakened.detail)}.")
    if any(commit.call >= first_call for commit in ledger.commits):
        lines.append(f"Commits: {', '.join(c.hash[:10] for c in ledger.commits if c.call >= first_call)}.")
    return tuple(lines)


def _ran(command: Command) -> str:
    if command.exit_code is not None:
        outcome = f"ended with exit code {command.exit_code}"
    else:
        outcome = "failed" if command.failed else "did not fail"
    return f"call {command.call}, `{one_line(command.text, _TEXT_CHARS)}`, {outcome}"


def _tests(run: TestRun) -> str:
    counts = [
        f"{number} {name}"
        for number, name in ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped"))
        if number is not None
    ]
    code = f", exit code {run.exit_code}" if run.exit_code is not None else ""
    return f"{run.runner} at call {run.call}, {', '.join(counts) or run.outcome}{code}"
