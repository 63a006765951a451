"""Does the declared check pass when Touchline runs it itself? In the agent's sandbox, in its clone, with a time limit.

Only a check that ran to its end, exited with zero and, where it counts tests, ran at least one, is a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from touchline.agents.port import Level
from touchline.supervision.claim_check import short_command
from touchline.supervision.commands import plan_of
from touchline.supervision.evidence import Command, CommandKind, Ledger, TestRun
from touchline.supervision.testruns import counts_of, outcome_of

_TAIL = 4_000
_READ = 200_000
_NAMED = 5
_LINES_TOLD, _CHARS_TOLD = 25, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """One run of the check."""

    command: str
    how: Literal["exited", "timed_out", "stopped", "flooded", "refused"]
    """`flooded`: it wrote without end; `refused`: it could not be started at all."""
    exit_code: int | None
    seconds: float
    outcome: Literal["passed", "failed", "unverified"]
    runner: str = ""
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    collected: int | None = None
    tail: str = ""
    """The end of what it wrote, redacted."""
    aside: tuple[str, ...] = ()
    """Files that the agent wrote and git ignores: it ran without them, since they would not be delivered."""

    @property
    def verified(self) -> bool:
        return self.outcome == "passed"

    def why(self) -> str:
        """In words for the agent and for people."""
        return self._why() + ("" if self.verified or not self.aside else f"; it ran without {self._ignored()}")

    def _ignored(self) -> str:
        named = ", ".join(self.aside[:_NAMED]) + (f" and {n} more" if (n := len(self.aside) - _NAMED) > 0 else "")
        one = len(self.aside) == 1
        return f"{named}, which {'is' if one else 'are'} ignored by git and would not be delivered"

    def _why(self) -> str:
        counts = [f"{n} {word}" for n, word in ((self.failed, "failed"), (self.passed, "passed")) if n is not None]
        if self.how == "timed_out":
            return f"it was ended after {self.seconds:.0f} s without a result"
        if self.how == "stopped":
            return "it was stopped"
        if self.how == "flooded":
            return "it was ended because it wrote without end"
        if self.how == "refused" or self.exit_code in (126, 127):
            return (
                f"it could not be run: {self.tail.strip().splitlines()[-1] if self.tail.strip() else 'no such command'}"
            )
        if self.collected == 0 or (self.exit_code == 0 and not self.verified):
            return f"it ran no test at all (exit code {self.exit_code})"
        return f"exit code {self.exit_code}" + (f", {', '.join(counts)}" if counts else "")

    def missing(self) -> str:
        """What a completion lacks when the check did not pass."""
        return f"a pass of `{self.command}`, which Touchline runs itself ({self.why()})"

    def end_of_output(self) -> str:
        """The last lines that it wrote, for an agent: enough to see what failed, not a log."""
        lines = self.tail.strip("\n").splitlines()[-_LINES_TOLD:]
        return "\n".join(lines)[-_CHARS_TOLD:].strip()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CheckRun | None:
        return cls(**{**value, "aside": tuple(value.get("aside", ()))}) if value else None


def run_check(
    command: str,
    *,
    level: Level,
    workspace: Path,
    env: Mapping[str, str],
    records: Path,
    output: Path,
    seconds: float,
    must_stop: Callable[[], bool],
    redact: Callable[[str], str],
) -> CheckRun:
    """Run it once. Whatever goes wrong is a run that proves nothing."""
    from touchline.agents.sandbox import confined_command
    from touchline.errors import TouchlineError
    from touchline.processes.children import run_process

    output.unlink(missing_ok=True)
    try:
        launch = confined_command(("/bin/sh", "-c", command), level=level, workspace=workspace, env=env)
        ended = run_process(
            launch.argv,
            records=records,
            cwd=launch.cwd or workspace,
            env={**env, **launch.env},
            output=output,
            timeout=seconds,
            must_stop=must_stop,
        )
    except (TouchlineError, OSError) as error:
        return CheckRun(
            command=command, how="refused", exit_code=None, seconds=0.0, outcome="unverified", tail=redact(str(error))
        )
    text = _read(output)
    _keep(output, redact(text))
    code = ended.exit_code if ended.how == "exited" else None
    runner = next((part.runner for part in plan_of(command).parts if "test" in part.kinds), "")
    counts = counts_of(text, runner)
    outcome = outcome_of(counts, code, failed=ended.how != "exited", text=text)
    if ended.how != "exited" and outcome == "passed":
        outcome = "unverified"  # what it printed before it was ended is not its result
    run = CheckRun(
        command=command,
        how="flooded" if ended.flooded else ended.how,
        exit_code=code,
        seconds=ended.seconds,
        outcome=outcome,
        runner=counts.runner if counts else runner,
        tail=redact(text[-2 * _TAIL :])[-_TAIL:],
    )
    if counts is None:
        return run
    return replace(run, passed=counts.passed, failed=counts.failed, skipped=counts.skipped, collected=counts.collected)


def with_check(ledger: Ledger, run: CheckRun | None) -> Ledger:
    """The ledger with Touchline's own run in it, as the call after the agent's last."""
    if run is None:
        return ledger
    call = ledger.calls
    kinds: frozenset[CommandKind] = frozenset((*plan_of(run.command).kinds, "test"))
    command = Command(
        text=run.command, call=call, kinds=kinds, exit_code=run.exit_code, failed=not run.verified, own=True
    )
    tests = TestRun(
        runner=run.runner or short_command(run.command),
        call=call,
        passed=run.passed,
        failed=run.failed,
        skipped=run.skipped,
        collected=run.collected,
        exit_code=run.exit_code,
        outcome=run.outcome,
        own=True,
    )
    return replace(ledger, calls=call + 1, commands=(*ledger.commands, command), test_runs=(*ledger.test_runs, tests))


def _keep(path: Path, text: str) -> None:
    """Of the output the end is kept, without secrets. A disk that refuses loses a copy, not the result."""
    with suppress(OSError):
        path.write_text(text, encoding="utf-8", errors="replace")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _READ))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
