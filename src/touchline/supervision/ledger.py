"""What did the agent do, and what does it prove?

Fills the ledger from the events of turns, never from what the agent says. A call that failed writes nothing, and one
whose answer was never seen proves nothing. `before` goes on with an earlier ledger: a session is read turn by turn.
"""

from __future__ import annotations

from touchline.supervision.commands import LOST, Plan, ends_unseen, is_idle, plan_of
from touchline.supervision.evidence import (
    VERIFYING,
    Background,
    Command,
    CommandKind,
    Commit,
    Ledger,
    TestRun,
    Weakened,
    Write,
)
from touchline.supervision.facts import Call, Notice, Result, Step, Turn, steps_of
from touchline.supervision.line_tests import exit_code_of, run_of_tool, runs_of_line, shows_nothing
from touchline.supervision.prepared import shape
from touchline.supervision.programs import INTERPRETED, LOOK
from touchline.supervision.shell_writes import code_changes, is_scratch, shell_changes
from touchline.supervision.tools import (
    Change,
    acts,
    changes_of,
    command_of,
    is_browser,
    is_by_product,
    on_forge,
    role_of,
)
from touchline.supervision.values import replace
from touchline.supervision.weakening import counts_fell, weakened_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

    from touchline.supervision.scratch_scripts import ScratchScripts
    from touchline.supervision.snapshot import Snapshot

COMMAND_CHARACTERS = 400
"""Enough to recognise a command; a script in a here-document may be as long as a file."""

FLAGS_FAILURES = frozenset({"claude"})
"""CLIs that give no exit code but mark each command that did not exit with zero."""


def ledger_of(turn: Turn | Sequence[Turn], before: Ledger | None = None, *, snapshot: Snapshot | None = None) -> Ledger:
    """The evidence of the turns, after that of `before`. Call indexes go on where `before` ended."""
    entries = _Entries(before or Ledger())
    for each in (turn,) if isinstance(turn, Turn) else turn:
        steps = iter(steps_of(each, first=entries.calls))
        step = next(steps, None)
        for event in each.events:
            if isinstance(event, Notice):
                entries.take_notice(event)
            elif step is not None and event is step.call:
                entries.take(step, each)
                step = next(steps, None)
    if snapshot is not None:
        entries.take_snapshot(snapshot)
    entries.watched &= snapshot is not None
    return entries.ledger()


class _Entries:
    """The ledger while it is being written."""

    def __init__(self, start: Ledger) -> None:
        self.first = self.calls = start.calls
        self.writes: list[Write] = list(start.writes)
        self.commands: list[Command] = list(start.commands)
        self.test_runs: list[TestRun] = list(start.test_runs)
        self.commits: list[Commit] = list(start.commits)
        self.pushes: list[int] = list(start.pushes)
        self.pull_requests: dict[str, None] = dict.fromkeys(start.pull_requests)
        # A fallen count is worked out anew from all runs; a deed stays done.
        fell = start.weakened is not None and start.weakened.why == "count_fell"
        self.weakened: Weakened | None = None if fell else start.weakened
        self.background: dict[str, Background] = {each.call_id: each for each in start.background}
        self.deeds = list(start.deeds)
        self.times: list[tuple[int, float, float]] = []
        """Of each call of this turn when it began and ended; 0 where it is not known."""
        self.elsewhere = True
        """Whether the browser is, for all that was seen since the last stop, not at the work's own server."""
        self.scripts: ScratchScripts | None = None
        self.jobs = any(command.open for command in self.commands)
        """Whether something was left to the background."""
        self.watched = start.watched or not start.calls
        """Whether every turn so far came with a snapshot."""

    def ledger(self) -> Ledger:
        weakened = self.weakened
        if weakened is None and len(self.test_runs) > 1:
            weakened = counts_fell(self.test_runs, {c.call: c.text for c in self.commands})
        return Ledger(
            calls=self.calls,
            writes=tuple(self.writes),
            commands=tuple(self.commands),
            test_runs=tuple(self.test_runs),
            commits=tuple(self.commits),
            pushes=tuple(self.pushes),
            pull_requests=tuple(self.pull_requests),
            weakened=weakened,
            background=tuple(self.background.values()),
            deeds=tuple(self.deeds),
            watched=self.watched,
        )

    def take(self, step: Step, turn: Turn) -> None:
        cwd = turn.cwd
        self.calls = step.index + 1
        call, result, at = step.call, step.result, step.index
        ended = result.at if result is not None else None
        self.times.append((at, call.at.timestamp() if call.at else 0.0, ended.timestamp() if ended else 0.0))
        if result is None:
            return
        role = role_of(call.tool)
        if role == "shell":
            line = command_of(call.args)
            if line is not None:
                moved = result.text.startswith("Command ") and "background" in result.text[:200]
                background = moved or call.args.get("run_in_background") is True
                background = background and not result.failed
                # Only a CLI's own shell promises that; a server's may answer as it likes.
                flags = turn.cli in FLAGS_FAILURES and "__" not in call.tool
                self._shell(at, line, result, cwd, background=background, flags_failures=flags)
                if background:
                    from touchline.supervision.background import begin

                    begin(self.background, call.id, at, line)
        elif role == "code":
            code = str(call.args.get("code", call.tool))
            if not result.failed:
                self._changes(((0, change) for change in code_changes(code)), at, cwd, how="tool")
            self._command(at, code, frozenset({"run"}), result)
        elif role == "test":
            run = run_of_tool(at, call.tool, result)
            self.test_runs.append(run)
            self._command(at, call.tool, frozenset({"test"}), result, failed=run.outcome == "failed")
        elif role == "check":
            self._looked(at, call, result)
        elif result.failed:
            return
        elif role == "push" or (role == "write" and on_forge(call.args)):
            self._sent(at, result.text, pushes=role == "push")
        elif role == "write" and (changes := changes_of(call.tool, call.args, result.text)):
            self._note_scripts(changes, cwd)
            self._changes(((0, change) for change in changes), at, cwd, how="tool")
        elif role == "pr":
            from touchline.supervision.publishing import pull_requests_in

            self.pull_requests.update(dict.fromkeys(pull_requests_in(result.text)))
        elif role == "commit":
            from touchline.supervision.publishing import commits_told

            self.commits.extend(Commit(hash=h, call=at) for h in commits_told(result.text))
        elif acts(call.tool):
            from touchline.supervision.tool_checks import is_refusal

            self.deeds += () if is_refusal(result.text) else (at,)
        elif self.background:
            self._read(call, result.text)

    def _looked(self, at: int, call: Call, result: Result) -> None:
        """A tool that runs or looks at the work. A browser shows it only where it was seen to be there."""
        from touchline.supervision.tool_checks import is_here, seen_by

        if is_browser(call.tool):
            here = is_here(call.args, result.text)
            self.elsewhere = self.elsewhere if here is None else not here
            if self.elsewhere:
                return
        if (seen := seen_by(call.tool, result)) is not None:
            kinds, failed = seen
            self._command(at, call.tool, kinds, result, failed=failed)
            # What did not open is not there to be looked at.
            self.elsewhere = self.elsewhere or (failed and "url" in call.args)

    def _sent(self, at: int, text: str, *, pushes: bool) -> None:
        """A forge's own tool puts files into a repository there: a commit that it shows is pushed with it."""
        from touchline.supervision.tool_checks import commits_on_forge, is_refusal

        made = () if is_refusal(text) else commits_on_forge(text)
        self.commits.extend(Commit(hash=h, call=at) for h in made)
        if made or (pushes and not is_refusal(text)):
            self.pushes.append(at)

    def take_notice(self, told: Notice) -> None:
        """How a command in the background ended holds for the call that began it: what it ran is as old as that."""
        if told.call_id not in self.background:
            return
        from touchline.supervision.background import end, runs_of

        if (begun := end(self.background, told)) is None:
            return
        self._settle(begun, runs_of(begun))
        plan = plan_of(begun.line)
        if plan.kinds & {"commit", "push", "pr"}:
            self._published(begun.call, plan, "", failed=bool(begun.exit_code), awaited=False)
            self.pushes.sort()

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """Note changes that no call accounts for: a script made them."""
        from .untold import Span, checks_itself, untold  # hooks have no snapshots, and count milliseconds

        spans = [Span(call=call, begun=begun, ended=ended) for call, begun, ended in self.times]
        found = list(untold(snapshot, spans, tuple(self.writes), self.commands, calls=self.calls))
        for at, change in found:
            self._changes(((0, change),), at, None, how="snapshot")
        made = {at for at, _ in found}
        self.commands = [
            replace(c, checks_own_edit=c.checks_own_edit or checks_itself(c)) if c.call in made else c
            for c in self.commands
        ]
        self.writes.sort(key=lambda write: write.call)

    def _shell(
        self, at: int, line: str, result: Result, cwd: str | None, *, background: bool, flags_failures: bool
    ) -> None:
        plan = plan_of(line)
        if self.jobs and ("Done  " in result.text or "Exit " in result.text):
            from touchline.supervision.job_notices import settled  # few shells tell of their jobs

            self.commands = settled(self.commands, line, result.text)
        failed = result.failed or bool(exit_code_of(result))
        changes = shell_changes(plan)
        self._note_scripts((change for _, change in changes), cwd)
        if self.scripts is not None:
            changes = self.scripts.with_runs(plan, changes)
        if failed:
            # The last part is what failed; those before it had done their work.
            changes = tuple((part, change) for part, change in changes if part < len(plan.parts) - 1)
        last = self._changes(changes, at, cwd, how="shell")
        runs = runs_of_line(at, plan, result, background=background, flags_failures=flags_failures)
        self.test_runs.extend(runs)
        awaited = self._awaited(at)
        # Where nothing is printed there was no such script.
        kinds = plan.kinds - LOST if "--if-present" in line and shows_nothing(result.text) else plan.kinds
        if not kinds and is_idle(plan):
            kinds = LOOK
        self._command(
            at,
            line,
            kinds,
            result,
            failed=any(run.outcome == "failed" for run in runs),
            checks_own_edit=last is not None
            and any(p.kinds & VERIFYING and not p.alone for p in plan.parts[last + 1 :]),
            background=background,
            unseen=ends_unseen(plan),
        )
        if not background and (awaited or plan.kinds & {"commit", "push", "pr"} or _may_tell(plan, result.text)):
            self._published(at, plan, result.text, failed=failed, awaited=awaited)

    def _note_scripts(self, changes: Iterable[Change], cwd: str | None) -> None:
        """Remember what is written to a throw-away place and can be run from there."""
        for change in changes:
            if change.path.endswith(INTERPRETED) and is_scratch(change.path, cwd):
                if self.scripts is None:
                    from touchline.supervision.scratch_scripts import ScratchScripts  # most turns write none

                    self.scripts = ScratchScripts()
                self.scripts.take(change)

    def _read(self, call: Call, text: str) -> None:
        from touchline.supervision.background import read

        if (found := read(self.background, call.args, text, self.test_runs)) is not None:
            self._settle(*found)

    def _settle(self, begun: Background, runs: Sequence[TestRun]) -> None:
        """Note how a command in the background ended, in the place of its call."""
        from touchline.supervision.background import settled

        others = (run for run in self.test_runs if run.call != begun.call)
        self.test_runs = sorted((*others, *runs), key=lambda run: run.call)
        self.commands = settled(begun, self.commands, runs)

    def _published(self, at: int, plan: Plan, text: str, *, failed: bool, awaited: bool) -> None:
        # Here, since most turns publish nothing.
        from touchline.supervision.publishing import commits_of, deeds_told, pull_requests_of, pushed

        for found in commits_of(plan, text, failed=failed, awaited=awaited):
            self.commits.append(Commit(hash=found, call=at))
        if pushed(plan, text, failed=failed):
            self.pushes.append(at)
        self.pull_requests.update(dict.fromkeys(pull_requests_of(plan, text, failed=failed)))
        if told := deeds_told(plan, text):
            self.commands = [replace(c, told=told) if c.call == at else c for c in self.commands]

    def _awaited(self, at: int) -> bool:
        """True when the call just before committed without showing the hash."""
        last = self.commands[-1] if self.commands else None
        if last is None or last.call != at - 1 or "commit" not in last.kinds or last.failed or last.open:
            return False
        from touchline.supervision.publishing import awaits_hash

        return awaits_hash(plan_of(last.text)) and not any(c.call == last.call for c in self.commits)

    def _command(
        self,
        at: int,
        text: str,
        kinds: frozenset[CommandKind],
        result: Result,
        *,
        failed: bool = False,
        checks_own_edit: bool = False,
        background: bool = False,
        unseen: bool = False,
    ) -> None:
        code = None if background else exit_code_of(result)
        self.jobs = self.jobs or unseen
        self.commands.append(
            Command(
                text=text[:COMMAND_CHARACTERS],
                call=at,
                kinds=kinds,
                exit_code=code,
                failed=failed or result.failed or bool(code),
                checks_own_edit=checks_own_edit,
                open=background or unseen,
            )
        )

    def _changes(
        self,
        changes: Iterable[tuple[int, Change]],
        at: int,
        cwd: str | None,
        *,
        how: Literal["tool", "shell", "snapshot"],
    ) -> int | None:
        """Note what a call changed; gives the part of the line that made the last change of the work."""
        last: int | None = None
        for part, change in changes:
            if is_scratch(change.path, cwd):
                continue
            if self.weakened is None and (deed := weakened_by(change, at)):
                own = any(_same(change.path, made) for made in self._made())
                self.weakened = None if own else deed
            if change.what == "deleted" and self._tidies(change):
                continue
            done_by = "git" if change.by_git else how
            self.writes.append(Write(path=change.path, call=at, how=done_by, change=change.what))
            last = part
        return last

    def _tidies(self, change: Change) -> bool:
        """Taking away what the session itself made, or what a build left, is no edit that calls for new proof."""
        if change.new:
            return False
        return is_by_product(change.path) or any(
            _same(change.path, made) or made.startswith(_clean(change.path) + "/") for made in self._made()
        )

    def _made(self) -> set[str]:
        """Files whose first change of the session made them."""
        first: dict[str, str] = {}
        for write in self.writes:
            first.setdefault(_clean(write.path), write.change)
        return {path for path, change in first.items() if change == "created"}


def _may_tell(plan: Plan, text: str) -> bool:
    """A cheap look whether a script, or git by another name, may tell of a commit or a push."""
    scripted = bool(plan.kinds & {"run", "build"})
    if scripted and ("ushed" in text or "ushing" in text or (" -> " in text and "\nTo " in f"\n{text}")):
        return True
    if not scripted and not any(word.endswith("git") for part in plan.parts for word in part.words[:1]):
        return False
    return "] " in text and shape(r"(?m)^\[[^\]\n]* [0-9a-f]{7,40}\] ").search(text) is not None


def _clean(path: str) -> str:
    return path.removeprefix("./").rstrip("/")


def _same(one: str, other: str) -> bool:
    """The same file, one path perhaps given from the root and one from the workspace."""
    one, other = _clean(one), _clean(other)
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)
