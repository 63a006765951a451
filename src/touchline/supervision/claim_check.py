"""Does the ledger bear a claim out?

Each claim becomes proved, contradicted or unproved, with what the ledger shows and the call that shows it. What
the record does not hold is unproved, never contradicted: only a failure that was seen contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from touchline.supervision.evidence import Command, CommandKind, Ledger, TestRun
from touchline.supervision.stops import Claim, Standing

_COUNT = re.compile(r"\b(\d[\d,]*)(?:\s?/\s?(\d[\d,]*))?\b(?!\.\d)")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_PATH = re.compile(r"`([^`\n]{1,400})`")
_ADMITS = re.compile(r"\bfail(?:s|ed|ing|ures?)?\b|\bbroken\b|\bred\b", re.IGNORECASE)

_CHECKS: tuple[tuple[re.Pattern[str], frozenset[CommandKind]], ...] = (
    (re.compile(r"type.?check|mypy|pyright|tsc|typescript|type errors?", re.IGNORECASE), frozenset({"typecheck"})),
    (re.compile(r"lint|ruff|biome|flake8|clippy|prettier", re.IGNORECASE), frozenset({"lint"})),
    (re.compile(r"build|built|compil", re.IGNORECASE), frozenset({"build", "typecheck"})),
)
_ANY_CHECK: frozenset[CommandKind] = frozenset({"typecheck", "lint", "build", "test"})
_CI = re.compile(r"\bci\b|pipeline|workflow", re.IGNORECASE)
_CI_COMMAND = re.compile(r"\bgh\s+(?:pr\s+(?:checks|view|status)|run)\b|\bglab\s+ci\b")


def check_claims(claims: Sequence[Claim], ledger: Ledger, *, text: str) -> tuple[Claim, ...]:
    """Each claim with its standing. `text` is the message: a failure it admits is not hidden."""
    admits = bool(_ADMITS.search(text))
    return tuple(_check(claim, ledger, text, admits=admits) for claim in claims)


def _check(claim: Claim, ledger: Ledger, text: str, *, admits: bool) -> Claim:
    match claim.what:
        case "tests_pass":
            return _tests(claim, ledger)
        case "checks_pass":
            return _checks(claim, ledger)
        case "fixed" | "implemented":
            return _work(claim, ledger, admits=admits)
        case "verified":
            return _verified(claim, ledger, admits=admits)
        case "committed":
            return _committed(claim, ledger)
        case "pushed":
            return _done_by(claim, ledger, "push", ledger.pushes, "push")
        case "pr_opened":
            return _pull_request(claim, ledger)
        case "file_created":
            return _file(claim, ledger, text)
        case _:
            assert_never(claim.what)


def counts(run: TestRun) -> str:
    """A test run in words: `39 passed, 3 failed (exit code 1)`."""
    parts = [
        f"{n} {word}" for n, word in ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped")) if n
    ]
    shown = ", ".join(parts) or run.outcome
    return shown if run.exit_code is None else f"{shown} (exit code {run.exit_code})"


def _tests(claim: Claim, ledger: Ledger) -> Claim:
    run = ledger.last_test_run
    if run is None:
        return _unproved(claim, "no test run is in the record")
    seen = f"call {run.call} ran {run.runner}: {counts(run)}"
    if run.outcome == "failed" or run.failed:
        return _contradicted(claim, seen, run.call)
    if run.outcome != "passed":
        return _unproved(claim, f"{seen}, which shows no pass", run.call)
    claimed = _claimed_count(claim)
    if claimed is not None and run.passed is not None:
        most = max(run.passed, sum(r.passed or 0 for r in _latest_by_runner(ledger.test_runs)))
        same = next((r for r in ledger.test_runs if claimed in (r.passed, r.collected) and r.outcome == "passed"), None)
        if claimed > most and same is None:
            return _contradicted(claim, f"{seen}, not {claimed}", run.call)
    if ledger.last_edit is not None and ledger.last_edit > run.call:
        return _unproved(claim, f"{seen}, but call {ledger.last_edit} changed a file after it", run.call)
    if ledger.weakened is not None:
        return _unproved(claim, f"{seen}, after call {ledger.weakened.call}: {ledger.weakened.detail}", run.call)
    return _proved(claim, seen, run.call)


def _latest_by_runner(runs: Iterable[TestRun]) -> list[TestRun]:
    return list({run.runner: run for run in runs}.values())


def _claimed_count(claim: Claim) -> int | None:
    """How many tests are said to pass. `40/42` says forty."""
    found = _COUNT.search(claim.span.text)
    if not found:
        return None
    digits = found[1].replace(",", "")
    return int(digits) if 0 < len(digits) < 10 else None


def _checks(claim: Claim, ledger: Ledger) -> Claim:
    words = claim.span.text
    kinds = next((k for shape, k in _CHECKS if shape.search(words)), None)
    if kinds is None and _CI.search(words):
        looked = [c for c in ledger.commands if _CI_COMMAND.search(c.text)]
        if not looked:
            return _unproved(claim, "the state of CI was not looked at")
        return _by_command(claim, ledger, looked[-1])
    ran = [c for c in ledger.commands if c.kinds & (kinds or _ANY_CHECK)]
    if not ran:
        return _unproved(claim, "no such check is in the record")
    if kinds is None and any(c.failed for c in ran) and not all(c.failed for c in ran):
        # The claim names no check, so a failed one may not be the one that is meant.
        last_good = [c for c in ran if not c.failed][-1]
        return _by_command(claim, ledger, last_good)
    return _by_command(claim, ledger, ran[-1])


def _by_command(claim: Claim, ledger: Ledger, command: Command) -> Claim:
    seen = f"call {command.call} ran {_short(command.text)}: {_exit(command)}"
    if command.failed:
        return _contradicted(claim, seen, command.call)
    if ledger.last_edit is not None and ledger.last_edit > command.call:
        return _unproved(claim, f"{seen}, but call {ledger.last_edit} changed a file after it", command.call)
    return _proved(claim, seen, command.call)


def _work(claim: Claim, ledger: Ledger, *, admits: bool) -> Claim:
    if hidden := _hidden_failure(ledger, admits=admits):
        return _contradicted(claim, f"call {hidden.call} ran {hidden.runner}: {counts(hidden)}", hidden.call)
    good = [c for c in ledger.after_last_edit if not c.failed]
    if not ledger.writes and not ledger.commits:
        if good:
            return _unproved(claim, "no changed file is in the record", good[-1].call)
        return _unproved(claim, "no changed file is in the record")
    if good:
        return _proved(claim, f"call {good[-1].call} ran {_short(good[-1].text)}: {_exit(good[-1])}", good[-1].call)
    if ledger.after_last_edit:
        bad = ledger.after_last_edit[-1]
        return _unproved(claim, f"call {bad.call} ran {_short(bad.text)}: {_exit(bad)}", bad.call)
    return _unproved(claim, f"nothing was run after the last change (call {ledger.last_edit})", ledger.last_edit)


def _verified(claim: Claim, ledger: Ledger, *, admits: bool) -> Claim:
    if hidden := _hidden_failure(ledger, admits=admits):
        return _contradicted(claim, f"call {hidden.call} ran {hidden.runner}: {counts(hidden)}", hidden.call)
    good = [c for c in ledger.after_last_edit if not c.failed]
    if not ledger.writes:
        good = good or [c for c in ledger.commands if not c.failed]
    if good:
        return _proved(claim, f"call {good[-1].call} ran {_short(good[-1].text)}: {_exit(good[-1])}", good[-1].call)
    return _unproved(claim, "nothing that could show a fault was run after the last change")


def _hidden_failure(ledger: Ledger, *, admits: bool) -> TestRun | None:
    """The last test run, when it failed after the last change and the message does not say so."""
    run = ledger.last_test_run
    if run is None or admits or not (run.outcome == "failed" or run.failed):
        return None
    return run if ledger.last_edit is None or run.call > ledger.last_edit else None


def _committed(claim: Claim, ledger: Ledger) -> Claim:
    named = _HASH.search(claim.span.text)
    if named and ledger.commits:
        short = named[0]
        same = next((c for c in ledger.commits if c.hash.startswith(short) or short.startswith(c.hash)), None)
        if same is None:
            return _unproved(claim, f"no command showed commit {short}")
        return _proved(claim, f"call {same.call} made commit {same.hash}", same.call)
    return _done_by(claim, ledger, "commit", [c.call for c in ledger.commits], "commit")


def _done_by(claim: Claim, ledger: Ledger, kind: CommandKind, calls: Sequence[int], noun: str) -> Claim:
    ran = [c for c in ledger.commands if kind in c.kinds]
    last = ran[-1] if ran else None
    if last and last.failed and not any(call >= last.call for call in calls):
        return _contradicted(claim, f"call {last.call} ran {_short(last.text)}: {_exit(last)}", last.call)
    proof = calls[-1] if calls else last.call if last else None
    if proof is None:
        return _unproved(claim, f"no {noun} is in the record")
    if ledger.last_edit is not None and ledger.last_edit > proof:
        return _unproved(claim, f"call {ledger.last_edit} changed a file after the last {noun}", proof)
    return _proved(claim, f"call {proof} shows the {noun}", proof)


def _pull_request(claim: Claim, ledger: Ledger) -> Claim:
    ran = [c for c in ledger.commands if "pr" in c.kinds]
    if ledger.pull_requests:
        return _proved(claim, f"pull request {ledger.pull_requests[-1]}", ran[-1].call if ran else None)
    if ran and ran[-1].failed:
        return _contradicted(claim, f"call {ran[-1].call} ran {_short(ran[-1].text)}: {_exit(ran[-1])}", ran[-1].call)
    return _unproved(claim, "no pull request is in the record")


def _file(claim: Claim, ledger: Ledger, text: str) -> Claim:
    named = _PATH.search(text, claim.span.start, claim.span.end)
    path = (named[1] if named else "").strip().removeprefix("./").removeprefix("~/")
    if not path or not re.search(r"\.\w{1,12}$|/", path):
        return _work(claim, ledger, admits=True)
    for write in reversed(ledger.writes):
        if write.path == path or write.path.endswith("/" + path) or path.endswith("/" + write.path):
            return _proved(claim, f"call {write.call} wrote {write.path}", write.call)
    return _unproved(claim, f"no call wrote {path}")


def _short(command: str) -> str:
    first = command.strip().split("\n", 1)[0]
    return f"`{first[:57]}...`" if len(first) > 60 else f"`{first}`"


def _exit(command: Command) -> str:
    if command.exit_code is not None:
        return f"exit code {command.exit_code}"
    return "failed" if command.failed else "succeeded"


def _proved(claim: Claim, because: str, call: int | None) -> Claim:
    return replace(claim, standing=Standing.PROVED, because=because, call=call)


def _contradicted(claim: Claim, because: str, call: int) -> Claim:
    return replace(claim, standing=Standing.CONTRADICTED, because=because, call=call)


def _unproved(claim: Claim, because: str, call: int | None = None) -> Claim:
    return replace(claim, standing=Standing.UNPROVED, because=because, call=call)
