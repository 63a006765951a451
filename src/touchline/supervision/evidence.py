"""What is proved, and by which call? The ledger's entries; `ledger` fills them from the events of turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CommandKind = Literal["test", "typecheck", "lint", "build", "run", "commit", "push", "pr", "edit", "install", "look"]
"""What a shell command is for. `run` executes the work in some other way; `look` only reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A file was written by this call."""

    path: str
    call: int
    how: Literal["tool", "shell", "snapshot"]
    change: Literal["created", "changed", "deleted"] = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell command was run by this call. `exit_code` is None where the CLI does not tell it."""

    text: str
    call: int
    kinds: frozenset[CommandKind]
    exit_code: int | None
    failed: bool
    checks_own_edit: bool = False
    """True when the line first changes files and then runs the work, as `sed -i ... && pytest` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """A run of tests. Counts the output did not show are None; `collected` may be 0, which is no pass."""

    __test__ = False

    runner: str
    call: int
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    collected: int | None = None
    exit_code: int | None = None
    outcome: Literal["passed", "failed", "unverified"] = "unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit the output of a command shows. Whether git has it is checked where a repository is at hand."""

    hash: str
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakened:
    """Tests were made easier since the session's first run."""

    why: Literal["count_fell", "test_deleted", "test_skipped"]
    detail: str
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All evidence of a session so far, each entry pointing at the call (by index) that proves it.

    Writes and commands are in the order of their calls.
    """

    calls: int = 0
    writes: tuple[Write, ...] = ()
    commands: tuple[Command, ...] = ()
    test_runs: tuple[TestRun, ...] = ()
    commits: tuple[Commit, ...] = ()
    pushes: tuple[int, ...] = ()
    pull_requests: tuple[str, ...] = ()
    weakened: Weakened | None = None

    @property
    def last_edit(self) -> int | None:
        """Index of the last call that changed a file."""
        return self.writes[-1].call if self.writes else None

    @property
    def last_test_run(self) -> TestRun | None:
        return self.test_runs[-1] if self.test_runs else None

    @property
    def after_last_edit(self) -> tuple[Command, ...]:
        """Commands that ran the work after the last change (not mere looking, committing or installing)."""
        last = self.last_edit
        edit = -1 if last is None else last
        found: list[Command] = []
        for command in reversed(self.commands):
            if command.call < edit:
                break
            if (command.call > edit or command.checks_own_edit) and command.kinds & VERIFYING:
                found.append(command)
        found.reverse()
        return tuple(found)

    @property
    def verified_after_last_edit(self) -> bool:
        """Something that can show a fault ran after the last change, and did not fail.

        A command that only ran tests does not count when none of its runs is known to have passed.
        """
        passed = {run.call for run in self.test_runs if run.outcome == "passed"}
        unproved = {run.call for run in self.test_runs} - passed
        return any(
            not c.failed and (c.call not in unproved or bool(c.kinds & (VERIFYING - {"test"})))
            for c in self.after_last_edit
        )


VERIFYING: frozenset[CommandKind] = frozenset({"test", "typecheck", "lint", "build", "run"})
"""Kinds of command that can show that the work is wrong."""
