"""Does the ledger bear a claim out?

Each claim becomes proved, contradicted or unproved, with what the ledger shows and the call that shows it. What
the record does not hold is unproved, never contradicted: only a failure that was seen contradicts.
"""

from __future__ import annotations

from touchline.supervision.claims import before, is_partial
from touchline.supervision.evidence import Command, CommandKind, Ledger, TestRun
from touchline.supervision.failing import admits_failure
from touchline.supervision.prepared import shape
from touchline.supervision.prose import Prose
from touchline.supervision.stops import Claim, Standing
from touchline.supervision.tools import is_by_product
from touchline.supervision.values import assert_never, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

_COUNT = shape(r"\b(\d[\d,]*)(?:\s?/\s?(\d[\d,]*))?\b(?!\.\d)")
_HASH = shape(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_PATH = shape(r"`([^`\n]{1,400})`")
_ALL = shape(r"(?i)\b(?:all|every|everything|full|whole|entire|complete)\b")
# A hash named for another reason than to say which commit was made.
_OTHER_COMMIT = shape(
    r"\b(?:introduced|since|from|revert\w*|regress\w*|br(?:oke|eak)\w*|before|after|on top of|parent|based?|upstream)"
    r"\W+(?:\w+\W+){0,3}$"
)
_NOTABLY_FEWER = 0.8
"""A run of less than this share of an earlier one of the same runner was of a part of the tests."""

_CHECKS: tuple[tuple[re.Pattern[str], frozenset[CommandKind]], ...] = (
    (shape(r"(?i)type.?check|mypy|pyright|tsc|typescript|type errors?"), frozenset({"typecheck"})),
    (shape(r"(?i)lint|ruff|biome|flake8|clippy|prettier"), frozenset({"lint"})),
    (shape(r"(?i)build|built|compil"), frozenset({"build", "typecheck"})),
)
_ANY_CHECK: frozenset[CommandKind] = frozenset({"typecheck", "lint", "build", "test"})
_CI = shape(r"(?i)\bci\b|pipeline|workflow")
_CI_COMMAND = shape(r"\bgh\s+(?:pr\s+(?:checks|view|status)|run)\b|\bglab\s+ci\b")
_LOOKS: frozenset[CommandKind] = frozenset({"look"})


def only_looks(command: Command) -> bool:
    """It read something, and no claim is ever held against it by itself."""
    return command.kinds <= _LOOKS and not _CI_COMMAND.search(command.text)


def check_claims(claims: Sequence[Claim], ledger: Ledger, prose: Prose) -> tuple[Claim, ...]:
    """Each claim of a message with its standing. A failure that the message admits is not hidden."""
    parts = [claim.what == "tests_pass" and is_partial(prose, claim) for claim in claims]
    admits = any(parts) or admits_failure(prose)
    return tuple(
        _check(claim, ledger, prose, admits=admits, partial=part) for claim, part in zip(claims, parts, strict=True)
    )


def _check(claim: Claim, ledger: Ledger, prose: Prose, *, admits: bool, partial: bool) -> Claim:
    match claim.what:
        case "tests_pass":
            every = bool(_ALL.search(before(prose, prose.offset(claim.span)) + claim.span.text))
            return _tests(claim, ledger, _sentence(claim, prose), partial=partial, every=every)
        case "checks_pass":
            return _checks(claim, ledger)
        case "fixed" | "implemented":
            return _work(claim, ledger, admits=admits)
        case "verified":
            return _verified(claim, ledger, admits=admits)
        case "committed":
            return _committed(claim, ledger, _sentence(claim, prose))
        case "pushed":
            return _done_by(claim, ledger, "push", ledger.pushes, "push")
        case "pr_opened":
            return _pull_request(claim, ledger)
        case "file_created":
            return _file(claim, ledger)
        case _:
            assert_never(claim.what)


def _sentence(claim: Claim, prose: Prose) -> str:
    """The sentence of a claim as it was written, code included."""
    sentence = prose.sentence_at(prose.offset(claim.span))
    return prose.looked_at[sentence.start : sentence.end] if sentence else claim.span.text


def counts(run: TestRun) -> str:
    """A test run in words: `39 passed, 3 failed (exit code 1)`."""
    parts = [
        f"{n} {word}" for n, word in ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped")) if n
    ]
    shown = ", ".join(parts) or run.outcome
    return shown if run.exit_code is None else f"{shown} (exit code {run.exit_code})"


def _tests(claim: Claim, ledger: Ledger, sentence: str, *, partial: bool, every: bool) -> Claim:
    claimed = _claimed_count(claim)
    run = _meant_run(ledger, sentence, None if every else claimed)
    if run is None:
        return _unproved(claim, "no test run is in the record")
    seen = f"{run.named} ran {run.runner}: {counts(run)}"
    if partial:
        if claimed is not None and claimed == run.passed:
            return _fresh(claim, ledger, seen, run.call)
        if run.outcome != "passed":
            return _unproved(claim, seen, run.call)
    elif run.outcome == "failed" or run.failed:
        return _contradicted(claim, seen, run.call)
    if run.outcome != "passed":
        return _unproved(claim, f"{seen}, which shows no pass", run.call)
    wider = None if partial else _wider_run(ledger, run, claimed, every=every)
    if claimed is not None and run.passed is not None:
        known = [r for r in ledger.test_runs if r.outcome == "passed"] + ([wider] if wider else [])
        most = max(run.passed, sum(r.passed or 0 for r in _latest_by_runner(ledger.test_runs)))
        if claimed > most and not any(claimed in (r.passed, _size(r)) for r in known):
            return _contradicted(claim, f"{seen}, not {claimed}", run.call)
    if wider is not None:
        was = f"{wider.named} ran {wider.runner}: {counts(wider)}"
        late = ledger.last_edit is None or wider.call > ledger.last_edit
        if late and wider.outcome == "passed":
            return _fresh(claim, ledger, was, wider.call)
        if late and (wider.failed or 0) > (run.passed or 0):
            # Not even those that failed can all have passed since.
            return _contradicted(claim, f"{was}; {seen}, which is only a part", wider.call)
        return _unproved(claim, f"{seen}, which is only a part: {was}", run.call)
    return _fresh(claim, ledger, seen, run.call)


def _fresh(claim: Claim, ledger: Ledger, seen: str, call: int) -> Claim:
    """Proved, unless a later change or tests made easier take the worth from it."""
    if ledger.last_edit is not None and ledger.last_edit > call:
        return _unproved(claim, f"{seen}, but call {ledger.last_edit} changed a file after it", call)
    if ledger.weakened is not None:
        return _unproved(claim, f"{seen}, after call {ledger.weakened.call}: {ledger.weakened.detail}", call)
    return _proved(claim, seen, call)


def _meant_run(ledger: Ledger, sentence: str, claimed: int | None) -> TestRun | None:
    """The run a claim speaks of: of the runner it names, or with the count it gives, else the last one."""
    latest = _latest_by_runner(ledger.test_runs)
    if len(latest) > 1:
        import re  # named after what was run, so not known beforehand; most sessions have one runner

        words = sentence.lower()
        named = [r for r in latest if re.search(rf"\b{re.escape(r.runner.lower())}\b", words)]
        if len(named) == 1:
            return named[0]
        counted = [r for r in latest if claimed is not None and claimed == r.passed]
        if len(counted) == 1:
            return counted[0]
    return ledger.last_test_run


def _wider_run(ledger: Ledger, run: TestRun, claimed: int | None, *, every: bool) -> TestRun | None:
    """The last earlier run of the same runner that took notably more tests, where the claim is about all of them."""
    size = _size(run)
    if size is None or not (every if claimed is None else claimed > size):
        return None
    wider = [r for r in ledger.test_runs if r.runner == run.runner and r.call < run.call]
    return next((r for r in reversed(wider) if size < _NOTABLY_FEWER * (_size(r) or 0)), None)


def _size(run: TestRun) -> int | None:
    if run.collected is not None:
        return run.collected
    found = [n for n in (run.passed, run.failed, run.skipped) if n is not None]
    return sum(found) if found else None


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
    seen = f"{command.named} ran {short_command(command.text)}: {_exit(command)}"
    if command.failed:
        return _contradicted(claim, seen, command.call)
    if command.open:
        return _unproved(claim, seen, command.call)
    if ledger.last_edit is not None and ledger.last_edit > command.call:
        return _unproved(claim, f"{seen}, but call {ledger.last_edit} changed a file after it", command.call)
    return _proved(claim, seen, command.call)


def _work(claim: Claim, ledger: Ledger, *, admits: bool) -> Claim:
    if hidden := _hidden_failure(ledger, admits=admits):
        return _contradicted(claim, f"{hidden.named} ran {hidden.runner}: {counts(hidden)}", hidden.call)
    good = ledger.sound_after_last_edit
    if not ledger.writes and not ledger.commits:
        if good:
            return _unproved(claim, "no changed file is in the record", good[-1].call)
        return _unproved(claim, "no changed file is in the record")
    if good:
        return _proved(claim, f"{good[-1].named} ran {short_command(good[-1].text)}: {_exit(good[-1])}", good[-1].call)
    if ledger.after_last_edit:
        bad = ledger.after_last_edit[-1]
        shown = _exit(bad) if bad.failed or bad.open else "no test is known to have passed"
        return _unproved(claim, f"{bad.named} ran {short_command(bad.text)}: {shown}", bad.call)
    return _unproved(claim, f"nothing was run after the last change (call {ledger.last_edit})", ledger.last_edit)


def _verified(claim: Claim, ledger: Ledger, *, admits: bool) -> Claim:
    if hidden := _hidden_failure(ledger, admits=admits):
        return _contradicted(claim, f"{hidden.named} ran {hidden.runner}: {counts(hidden)}", hidden.call)
    good = ledger.sound_after_last_edit
    if not ledger.writes:
        good = good or tuple(c for c in ledger.commands if not (c.failed or c.open) and "test" not in c.kinds)
    if good:
        return _proved(claim, f"{good[-1].named} ran {short_command(good[-1].text)}: {_exit(good[-1])}", good[-1].call)
    return _unproved(claim, "nothing that could show a fault was run after the last change")


def _hidden_failure(ledger: Ledger, *, admits: bool) -> TestRun | None:
    """The last test run, when it failed after the last change and the message does not say so."""
    return None if admits else ledger.failing_run


def _committed(claim: Claim, ledger: Ledger, sentence: str) -> Claim:
    named = [
        m[0] for m in _HASH.finditer(sentence.lower()) if not _OTHER_COMMIT.search(sentence[: m.start()].lower()[-80:])
    ]
    if named and ledger.commits:
        for commit in ledger.commits:
            if any(commit.hash.startswith(name) or name.startswith(commit.hash) for name in named):
                return _proved(claim, f"call {commit.call} made commit {commit.hash}", commit.call)
        # A number alone may be anything.
        if unseen := next((name for name in named if not name.isdigit()), None):
            return _unproved(claim, f"no command showed commit {unseen}")
    return _done_by(claim, ledger, "commit", [c.call for c in ledger.commits], "commit")


def _done_by(claim: Claim, ledger: Ledger, kind: CommandKind, calls: Sequence[int], noun: str) -> Claim:
    ran = [c for c in ledger.commands if kind in c.kinds]
    last = ran[-1] if ran else None
    if last and (last.failed or last.open) and not any(call >= last.call for call in calls):
        stand = _contradicted if last.failed else _unproved
        return stand(claim, f"{last.named} ran {short_command(last.text)}: {_exit(last)}", last.call)
    proof = calls[-1] if calls else last.call if last else None
    if proof is None:
        since = -1 if ledger.last_edit is None else ledger.last_edit
        teller = next((c for c in ledger.commands if kind in c.told.split() and c.call > since and not c.failed), None)
        if teller is not None:
            ran_it = f"{teller.named} ran {short_command(teller.text)}"
            return _unproved(claim, f"{ran_it}, and only its own words tell of a {noun}", teller.call)
        return _unproved(claim, f"no {noun} is in the record")
    if ledger.last_edit is not None and ledger.last_edit > proof:
        return _unproved(claim, f"call {ledger.last_edit} changed a file after the last {noun}", proof)
    return _proved(claim, f"call {proof} shows the {noun}", proof)


def _pull_request(claim: Claim, ledger: Ledger) -> Claim:
    ran = [c for c in ledger.commands if "pr" in c.kinds]
    if ledger.pull_requests:
        return _proved(claim, f"pull request {ledger.pull_requests[-1]}", ran[-1].call if ran else None)
    if ran and ran[-1].failed:
        return _contradicted(
            claim, f"{ran[-1].named} ran {short_command(ran[-1].text)}: {_exit(ran[-1])}", ran[-1].call
        )
    return _unproved(claim, "no pull request is in the record")


def _file(claim: Claim, ledger: Ledger) -> Claim:
    named = _PATH.search(claim.span.text)
    path = (named[1] if named else "").strip().removeprefix("./").removeprefix("~/")
    if not path or not shape(r"\.\w{1,12}$|/").search(path) or is_by_product(path):
        return _work(claim, ledger, admits=True)
    for write in reversed(ledger.writes):
        if write.path == path or write.path.endswith("/" + path) or path.endswith("/" + write.path):
            return _proved(claim, f"call {write.call} wrote {write.path}", write.call)
    return _unproved(claim, f"no call wrote {path}")


def short_command(command: str) -> str:
    """A command as a message names it."""
    first = command.strip().split("\n", 1)[0]
    return f"`{first[:57]}...`" if len(first) > 60 else f"`{first}`"


def _exit(command: Command) -> str:
    if command.exit_code is not None:
        return f"exit code {command.exit_code}"
    if command.open:
        return "it runs in the background, and how it ended is not known"
    return "failed" if command.failed else "succeeded"


def _proved(claim: Claim, because: str, call: int | None) -> Claim:
    return replace(claim, standing=Standing.PROVED, because=because, call=call)


def _contradicted(claim: Claim, because: str, call: int) -> Claim:
    return replace(claim, standing=Standing.CONTRADICTED, because=because, call=call)


def _unproved(claim: Claim, because: str, call: int | None = None) -> Claim:
    return replace(claim, standing=Standing.UNPROVED, because=because, call=call)
