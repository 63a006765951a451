"""Which phase is this task in, and which evidence does that phase demand?

Phases are data (`phases.toml`); a caller may pass a mapping of its own. The words for the agent are `coach`'s.
"""

from __future__ import annotations

from touchline.supervision.data_files import unusable
from touchline.supervision.evidence import Ledger
from touchline.supervision.prepared import shape, table
from touchline.supervision.remembering import cache
from touchline.supervision.values import Literal, Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

Need = Literal["tests_passed", "test_counts", "coverage", "commit", "pull_request", "document", "plan_document"]

NEEDS: tuple[Need, ...] = Need.__args__  # type: ignore[attr-defined]

_COVERAGE = shape(r"--cov\b|\bcoverage\b|--coverage|-cover(?:profile)?\b|\btarpaulin\b|\bllvm-cov\b")
_DOCUMENT = shape(r"(?i)(?:\.(?:md|mdx|rst|adoc|txt)$)|(?:^|/)docs?/")
_PROSE_FILE = shape(r"(?i)\.(?:md|mdx|rst|adoc|txt)$")


class Phase(Value):
    """One phase: `trigger` in the task's text starts it, `needs` prove it, `hint` names them for the agent."""

    name: str
    trigger: str
    needs: tuple[Need, ...]
    hint: str

    def without(self, need: Need) -> Phase:
        """The same phase where that cannot be had; what is left is then asked for."""
        if need not in self.needs:
            return self
        left = tuple(each for each in self.needs if each != need)
        return replace(self, needs=left, hint=" and ".join(_WORDS[each] for each in left))


@cache
def phases() -> Mapping[str, Phase]:
    """The phases that come with Touchline."""
    found: dict[str, Phase] = {}
    for name, told in table("phases.toml").items():
        unknown = set(told["needs"]) - set(_WORDS)
        if unknown:
            raise unusable(f"phases.toml: {name} needs {sorted(unknown)}, which nothing checks")
        found[name] = Phase(name=name, trigger=told["trigger"], needs=tuple(told["needs"]), hint=told["hint"])
    return found


def phase_of(task: str, workflow_phase: str | None = None, known: Mapping[str, Phase] | None = None) -> Phase | None:
    """The phase a trigger in the task names, else the workflow's own.

    Triggers count as whole words (`/do-planning` is not `/do-plan`); the first in the text wins.
    """
    import re  # triggers may be the caller's own

    known = phases() if known is None else known
    first: tuple[int, Phase] | None = None
    for phase in known.values():
        match = re.search(rf"(?<![\w/-]){re.escape(phase.trigger)}(?![\w-])", task)
        if match and (first is None or match.start() < first[0]):
            first = (match.start(), phase)
    if first is not None:
        return first[1]
    return known.get(workflow_phase) if workflow_phase else None


def missing_evidence(phase: Phase, ledger: Ledger) -> tuple[str, ...]:
    """What the phase demands and the ledger does not have, in words for the agent."""
    return tuple(_WORDS[need] for need in phase.needs if not _has(need, ledger))


def _has(need: Need, ledger: Ledger) -> bool:
    run = ledger.last_test_run
    match need:
        case "tests_passed":
            return run is not None and run.outcome == "passed"
        case "test_counts":
            return run is not None and (run.passed is not None or run.failed is not None)
        case "coverage":
            return any("test" in c.kinds and _COVERAGE.search(c.text) for c in ledger.commands)
        case "commit":
            return bool(ledger.commits)
        case "pull_request":
            return bool(ledger.pull_requests)
        case "document":
            return any(_DOCUMENT.search(w.path) for w in ledger.writes)
        case "plan_document":
            return any(_PROSE_FILE.search(w.path) for w in ledger.writes)


_WORDS: Mapping[Need, str] = {
    "tests_passed": "a test run that passes",
    "test_counts": "a test run whose output shows how many passed and failed",
    "coverage": "the coverage of that test run",
    "commit": "a commit",
    "pull_request": "the link of a pull request",
    "document": "a created or updated document",
    "plan_document": "a written plan document",
}
