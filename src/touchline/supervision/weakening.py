"""Were the tests made easier since the session began?

A test file taken away, a skip put into one, or fewer tests in the same command than at its first run. Deleting a file
that the session itself made is tidying up; running a single file afterwards is another command.
"""

from __future__ import annotations

from touchline.supervision.evidence import TestRun, Weakened
from touchline.supervision.prepared import shape
from touchline.supervision.remembering import cache
from touchline.supervision.testruns import tables
from touchline.supervision.tools import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping

_PUT_ASIDE = (".bak", ".disabled", ".old", ".orig", ".off", ".skip", ".txt", "~")


@cache
def _test_path() -> re.Pattern[str]:
    return shape(tables()["test_paths"])


@cache
def _skips() -> re.Pattern[str]:
    return shape("|".join(tables()["skip_markers"]))


def is_test_path(path: str) -> bool:
    """True for a file that holds tests, or a folder of them, by its name."""
    return _test_path().search(path.replace("\\", "/")) is not None


def weakened_by(change: Change, call: int) -> Weakened | None:
    """What a single change does to the tests, if the session did not make the file itself."""
    if change.what == "created" or not is_test_path(change.path):
        return None
    if change.what == "deleted":
        if change.new and not change.new.endswith(_PUT_ASIDE):
            return None
        return Weakened(why="test_deleted", detail=change.path, call=call)
    if change.old is None:
        return None
    added = _skips().findall(change.new)
    if len(added) > len(_skips().findall(change.old)):
        found = _skips().search(change.new)
        return Weakened(why="test_skipped", detail=f"{change.path}: {found.group() if found else ''}", call=call)
    return None


def counts_fell(runs: Iterable[TestRun], commands: Mapping[int, str]) -> Weakened | None:
    """Compare the last run of each command with its first; a run that did not pass shows no lesser suite."""
    first: dict[tuple[str, str], TestRun] = {}
    last: dict[tuple[str, str], TestRun] = {}
    for run in runs:
        key = (commands.get(run.call, ""), run.runner)
        if run.collected and key[0]:
            first.setdefault(key, run)
            last[key] = run
    for key, run in last.items():
        begin = first[key]
        if run is begin or run.outcome != "passed" or not begin.collected or not run.collected:
            continue
        if run.collected < begin.collected:
            why = f"{begin.collected} tests in call {begin.call}, {run.collected} in call {run.call}"
            return Weakened(why="count_fell", detail=why, call=run.call)
        more = (run.skipped or 0) - (begin.skipped or 0)
        executed = (run.passed or 0) + (run.failed or 0), (begin.passed or 0) + (begin.failed or 0)
        if more > 0 and executed[0] < executed[1]:
            why = f"{begin.skipped or 0} skipped in call {begin.call}, {run.skipped} in call {run.call}"
            return Weakened(why="count_fell", detail=why, call=run.call)
    return None
