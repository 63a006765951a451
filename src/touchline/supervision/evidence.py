"""What is proved, and by which call? The ledger's entries; `ledger` fills them from the events of turns."""

from __future__ import annotations

from touchline.supervision.prepared import shape
from touchline.supervision.values import Literal, Value, replace

TYPE_CHECKING = False

CommandKind = Literal["test", "typecheck", "lint", "build", "run", "commit", "push", "pr", "edit", "install", "look"]
"""What a shell command is for. `run` executes the work in some other way; `look` only reads."""


_PROSE = shape(
    r"(?i:\.(?:md|mdx|markdown|rst|adoc|asciidoc|org|tex|textile|bib|cff|svg)$)"
    r"|(?:^|/)(?:README|CHANGELOG|CHANGES|HISTORY|LICEN[CS]E|COPYING|NOTICE|AUTHORS|MAINTAINERS|CONTRIBUTING|CONTRIBUTORS"
    r"|CODEOWNERS|TODO|NEWS)(?:\.txt|\.[a-z]{2}|-[A-Z][^/.]*)?$"
    r"|(?:^|/)docs?/(?!CMakeLists|requirements)[^/]+\.txt$"
    r"|(?:^|/)\.(?:gitignore|gitattributes|editorconfig|cursorrules|mailmap)$"
)
"""Read by people and editors; nothing that is run shows whether it is right."""


def _named(call: int, *, own: bool) -> str:
    return "Touchline's own check" if own else f"call {call}"


class Write(Value):
    """A file was written by this call."""

    path: str
    call: int
    how: Literal["tool", "shell", "git", "snapshot"]
    """`git` where git put files into a state that it knew: a stash, a checkout, a cherry-pick."""
    change: Literal["created", "changed", "deleted"] = "changed"


class Command(Value):
    """A shell command was run by this call. `exit_code` is None where the CLI does not tell it."""

    text: str
    call: int
    kinds: frozenset[CommandKind]
    exit_code: int | None
    failed: bool
    checks_own_edit: bool = False
    """True when the line first changes files and then runs the work, as `sed -i ... && pytest` does."""
    own: bool = False
    """True when Touchline ran it, not the agent."""
    open: bool = False
    """True while it runs in the background and nothing has told how it ended."""
    told: str = ""
    """Deeds, as `commit push`, of which a script of the project's own tells in its output. That is no proof of them."""

    @property
    def named(self) -> str:
        """How a message names who ran it."""
        return _named(self.call, own=self.own)


class Background(Value):
    """A command that this call left to run in the background; a notice in a later turn may tell how it ended."""

    call_id: str
    """What the CLI calls it."""
    call: int
    line: str
    """The whole command: which part of it an exit code is of cannot be told from less."""
    exit_code: int | None = None
    """None until its end was told."""
    output: str = ""
    """The file that holds what it printed."""


class TestRun(Value):
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
    own: bool = False
    """True when Touchline ran it, not the agent."""

    @property
    def named(self) -> str:
        """How a message names who ran it."""
        return _named(self.call, own=self.own)


class Commit(Value):
    """A commit the output of a command shows. Whether git has it is checked where a repository is at hand."""

    hash: str
    call: int


class Weakened(Value):
    """Tests were made easier since the session's first run."""

    why: Literal["count_fell", "test_deleted", "test_skipped"]
    detail: str
    call: int


class Ledger(Value):
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
    background: tuple[Background, ...] = ()
    deeds: tuple[int, ...] = ()
    """Calls of tools that did something elsewhere: a ticket, a page, a message."""
    watched: bool = False
    """The workspace was compared before and after: what is not in `writes` was not changed."""

    @property
    def last_edit(self) -> int | None:
        """Index of the last call that changed something a run could prove wrong. Prose, such as a README, cannot be."""
        return next((w.call for w in reversed(self.writes) if not _PROSE.search(w.path)), None)

    @property
    def worked(self) -> bool:
        """Something was changed that a run could prove wrong, by other means than moves of git."""
        return any(w.how != "git" and not _PROSE.search(w.path) for w in self.writes)

    @property
    def did_something(self) -> bool:
        """Anything was done with success, beyond looking."""
        done = (not (c.failed or c.open) and c.kinds != _LOOKS for c in self.commands)
        return bool(self.writes or self.commits or self.pushes or self.deeds) or any(done)

    def since(self, call: int) -> Ledger:
        """The same, without what was done before this call."""
        if call == 0:
            return self
        return replace(
            self,
            writes=_tail(self.writes, call),
            commands=_tail(self.commands, call),
            test_runs=_tail(self.test_runs, call),
            commits=_tail(self.commits, call),
            pushes=tuple(p for p in self.pushes if p >= call),
            weakened=self.weakened if self.weakened is not None and self.weakened.call >= call else None,
            background=tuple(b for b in self.background if b.call >= call),
            deeds=tuple(d for d in self.deeds if d >= call),
        )

    @property
    def changed_nothing(self) -> bool:
        """For certain: no file, no commit, nothing sent anywhere, nothing installed."""
        installed = any("install" in command.kinds and not command.failed for command in self.commands)
        return self.watched and not (self.writes or self.commits or self.pushes or self.pull_requests or installed)

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
    def sound_after_last_edit(self) -> tuple[Command, ...]:
        """Commands after the last change that can show a fault, and did not fail.

        One that still runs in the background does not count; neither does one that only ran tests, when none of its
        runs is known to have passed.
        """
        passed = {run.call for run in self.test_runs if run.outcome == "passed"}
        unproved = {run.call for run in self.test_runs} - passed
        return tuple(
            c
            for c in self.after_last_edit
            if not (c.failed or c.open) and (c.call not in unproved or c.kinds & (VERIFYING - {"test"}))
        )

    @property
    def failing_run(self) -> TestRun | None:
        """The last test run, when it ran after the last change and failed: no linter makes that good."""
        run = self.last_test_run
        if run is None or not (run.outcome == "failed" or run.failed):
            return None
        edit = -1 if self.last_edit is None else self.last_edit
        return run if run.call > edit or any(c.call == run.call for c in self.after_last_edit) else None

    @property
    def verified_after_last_edit(self) -> bool:
        """Something that can show a fault ran well after the last change, and the last test run did not fail."""
        return bool(self.sound_after_last_edit) and self.failing_run is None


if TYPE_CHECKING:
    from typing import TypeVar

    _E = TypeVar("_E", Write, Command, TestRun, Commit)


def _tail(entries: tuple[_E, ...], call: int) -> tuple[_E, ...]:
    """The entries from this call on; they are in the order of their calls."""
    first = len(entries)
    while first and entries[first - 1].call >= call:
        first -= 1
    return entries[first:]


_LOOKS: frozenset[CommandKind] = frozenset({"look"})
VERIFYING: frozenset[CommandKind] = frozenset({"test", "typecheck", "lint", "build", "run"})
"""Kinds of command that can show that the work is wrong."""
