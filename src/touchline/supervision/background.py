"""How did a command end that was left to run in the background? By the CLI's notice, for the call that began it.

Loaded only where there is such a command: most turns have none.
"""

from __future__ import annotations

from touchline.supervision.commands import ends_unseen, plan_of
from touchline.supervision.evidence import Background, Command, TestRun
from touchline.supervision.facts import Args, Notice, Result
from touchline.supervision.line_tests import runs_of_line
from touchline.supervision.prepared import shape
from touchline.supervision.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Known = dict[str, Background]
    """By what the CLI calls their calls, oldest first."""

BACKGROUND_KEPT = 20
"""Commands in the background whose end is waited for. Few run at a time, and a server never ends."""
BACKGROUND_CHARACTERS = 2_000
"""A longer line is not kept whole, so that its end stays unknown."""


def begin(known: Known, call_id: str, call: int, line: str) -> None:
    """Wait for the end of this command, too."""
    if len(line) <= BACKGROUND_CHARACTERS:
        if len(known) >= BACKGROUND_KEPT:
            del known[next(iter(known))]
        known[call_id] = Background(call_id=call_id, call=call, line=line)


def end(known: Known, told: Notice) -> Background | None:
    """The command whose end this tells. Only its first notice counts, as only the first result of a call does."""
    begun = known.get(told.call_id)
    if begun is None or begun.exit_code is not None:
        return None
    known[told.call_id] = replace(begun, exit_code=told.exit_code, output=told.output)
    return known[told.call_id]


def runs_of(begun: Background, text: str = "") -> tuple[TestRun, ...]:
    """The test runs of a command that has ended, having printed this as far as it is known."""
    code = begun.exit_code
    result = Result(call_id=begun.call_id, text=text, digest="", failed=bool(code), exit_code=code)
    return runs_of_line(begun.call, plan_of(begun.line), result)


def read(known: Known, args: Args, text: str, runs: Iterable[TestRun]) -> tuple[Background, tuple[TestRun, ...]] | None:
    """The agent read what a command printed, to its end, after that end was told: whose that was, and its test runs.

    It is a file, which anybody can write: it may tell how many tests there were, and that some failed, but never better
    of them than the exit code does.
    """
    path = args.get("file_path")
    begun = next((each for each in known.values() if each.output and each.output == path), None)
    if begun is None or "offset" in args or "limit" in args:
        return None
    text = shape(r"(?m)^ *\d+(?:\t|→)").sub("", text).rstrip()
    mark = f"[exited with code {begun.exit_code}]"
    before = [run for run in runs if run.call == begun.call]
    found = runs_of(begun, text.removesuffix(mark)) if text.endswith(mark) else ()
    return (begun, tuple(map(_worse, found, before))) if len(found) == len(before) else None


def settled(begun: Background, commands: Sequence[Command], runs: Sequence[TestRun]) -> list[Command]:
    """The commands, with how this one ended in the place of its call."""
    code = begun.exit_code
    failed = bool(code) or any(run.outcome == "failed" for run in runs)
    unseen = ends_unseen(plan_of(begun.line))
    return [
        replace(each, exit_code=code, failed=failed, open=unseen) if each.call == begun.call else each
        for each in commands
    ]


def _worse(one: TestRun, other: TestRun) -> TestRun:
    """Of two tellings of the same run the one that says less good of it; where they agree, the first."""
    worth = ("failed", "unverified", "passed")
    return other if worth.index(one.outcome) > worth.index(other.outcome) else one
