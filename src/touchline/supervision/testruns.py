"""How many tests passed, by what the runner printed?

The runners' summaries are described in `testruns.json`: the line that holds the counts, and what each word in it
counts. `outcome_of` then says what a run proves. Nothing passes by default: no count and no exit code is `unverified`.
"""

from __future__ import annotations

from touchline.supervision.prepared import shape, table
from touchline.supervision.remembering import cache
from touchline.supervision.values import Literal, Value, from_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

Outcome = Literal["passed", "failed", "unverified"]

READ_CHARACTERS = 20_000
"""Summaries stand at the end; what comes before is the tests' own noise."""

NEAR_END = 1_600
"""Where most summaries are found at once."""

_NEVER_RAN = frozenset({4, 5, 124, 126, 127, 130, 137, 143})
"""Exit codes of a run that did not take place or was ended: usage, nothing collected, timeout, not found, signals."""


class Counts(Value):
    """What a summary says. `verdict` is for runners that say good or bad without counting."""

    runner: str
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    collected: int | None = None
    verdict: Literal["good", "bad"] | None = None


class _Format(Value):
    runner: str
    names: frozenset[str]
    needs: tuple[str, ...]
    take: str
    line: str
    words: dict[str, str]
    good: str
    bad: str
    empty: str


@cache
def tables() -> dict[str, Any]:
    told: dict[str, Any] = table("testruns.json", _made_ready)
    return told


def _made_ready(told: dict[str, Any]) -> dict[str, Any]:
    """With the formats as columns of `_Format`."""
    formats = told["formats"]
    made: dict[str, list[Any]] = {name: [f[name] for f in formats] for name in ("runner", "take", "line", "words")}
    made |= {name: [f.get(name, "") for f in formats] for name in ("good", "bad", "empty")}
    made["names"] = [frozenset(f["names"]) for f in formats]
    made["needs"] = [tuple(f["needs"]) for f in formats]
    return {**told, "formats": made}


@cache
def _formats() -> tuple[_Format, ...]:
    return from_columns(_Format, tables()["formats"])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return shape("(?m)" + pattern)


@cache
def _pairs(words: tuple[str, ...]) -> re.Pattern[str]:
    """Numbers beside known words, as `3 failed`, `failures=3`, `Failures: 3`, `out of 3`, `pass 3` or `+3`.

    More than nine digits count nothing, and `int` does not take any number of them.
    """
    known = "|".join(_literal(w) for w in sorted(words, key=len, reverse=True))
    between = "" if words[0] == "+" else "(?:[=:] *| )"
    return shape(rf"(?<!\d)(?P<n>\d{{1,9}}) (?P<after>{known})\b|(?P<before>{known}){between}(?P<m>\d{{1,9}})(?!\d)")


def _literal(word: str) -> str:
    return "".join(c if c.isalnum() else f"\\{c}" for c in word)


def tail_of(text: str) -> str:
    """The end of an output, without colours and carriage returns."""
    tail = text[-READ_CHARACTERS:]
    if "\x1b" in tail:
        tail = _compiled(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)").sub("", tail)
    return tail.replace("\r\n", "\n").replace("\r", "\n") if "\r" in tail else tail


def counts_of(text: str, runner: str = "", runs: int = 1) -> Counts | None:
    """Counts in the output of `runs` runs of one runner; None when no summary is known.

    The format that the command's runner is known to print is tried first, then all: `npm test` may be anything.
    """
    tail = tail_of(text)
    formats = _formats()
    named = [f for f in formats if runner in f.names]
    for form in (*named, *(f for f in formats if runner not in f.names)):
        if any(need in tail for need in form.needs) and (found := _read(form, tail, runs)) is not None:
            return found
    return None


def _matches(form: _Format, tail: str, runs: int) -> list[re.Match[str]]:
    """Summary lines. Where the last ones decide, the last few lines are tried before the rest is searched."""
    line = _compiled(form.line)
    if form.take == "last" and len(tail) > 2 * NEAR_END:
        start = tail.find("\n", len(tail) - NEAR_END) + 1
        near = list(line.finditer(tail, start)) if start else []
        # One that begins at the very cut may have lost its first lines.
        if len(near) >= runs and near[-runs].start() > start + NEAR_END // 4:
            return near
    return list(line.finditer(tail))


def _read(form: _Format, tail: str, runs: int) -> Counts | None:
    matches = _matches(form, tail, runs)
    if not matches:
        return None
    bad = bool(form.bad) and _compiled(form.bad).search(tail) is not None
    if not form.words:
        good = bool(form.good) and _compiled(form.good).search(tail) is not None
        if bad or (good and not (form.empty and _compiled(form.empty).search(tail))):
            return Counts(runner=form.runner, verdict="bad" if bad else "good")
        return Counts(runner=form.runner, passed=0, failed=0, collected=0)
    totals: dict[str, int] = {}
    if form.take == "each":
        for match in matches:
            _add(totals, form.words[match[1]], 1)
    else:
        for match in _taken(form, matches, runs):
            for pair in _pairs(tuple(form.words)).finditer(" ".join(g for g in match.groups() if g)):
                _add(totals, form.words[pair["after"] or pair["before"]], int(pair["n"] or pair["m"]))
    empty = bool(form.empty) and _compiled(form.empty).search(matches[-1].group()) is not None
    if not totals and not empty:
        return None
    return totalled(form.runner, totals, bad=bad)


def totalled(runner: str, totals: dict[str, int], *, bad: bool = False) -> Counts:
    """Counts by what the numbers mean; those that passed are what is left where they are not told."""
    failed, skipped = totals.get("failed", 0), totals.get("skipped", 0)
    if "passed" in totals or "collected" not in totals:
        passed = totals.get("passed", 0)
        collected = max(totals.get("collected", 0), passed + failed + skipped)
    else:
        collected = totals["collected"]
        passed = max(0, collected - failed - skipped)
    return Counts(
        runner=runner,
        passed=passed,
        failed=failed,
        skipped=skipped,
        collected=collected,
        verdict="bad" if bad else None,
    )


def _taken(form: _Format, matches: list[re.Match[str]], runs: int) -> list[re.Match[str]]:
    """The summaries that count. `last of each`: two frameworks ran, one after the other, and each has its own line."""
    if form.take in ("all", "totals"):
        return matches
    if form.take == "last":
        return matches[-runs:]
    kinds: dict[int | None, list[re.Match[str]]] = {}
    for match in matches:
        kinds.setdefault(match.lastindex, []).append(match)
    return [match for each in kinds.values() for match in each[-runs:]]


def _add(totals: dict[str, int], word: str, count: int) -> None:
    totals[word] = totals.get(word, 0) + count


def outcome_of(counts: Counts | None, exit_code: int | None, *, failed: bool, text: str = "") -> Outcome:
    """What a run proves, by its counts and by the exit code where that is the run's own.

    `failed` is the tool's own error flag for the run; with neither counts nor a code it tells only that the call
    went wrong, by a time-out or a refusal, which says nothing about the tests.
    """
    if counts is not None:
        if counts.failed or counts.verdict == "bad":
            return "failed"
        if counts.collected == 0 or counts.passed == 0:
            return "unverified"
    if exit_code is not None and exit_code != 0:
        if counts is None and (exit_code in _NEVER_RAN or exit_code < 0 or _never_started(text)):
            return "unverified"
        return "failed"
    if failed:
        return "unverified"
    if exit_code == 0 or (counts is not None and (counts.passed or counts.verdict == "good")):
        return "passed"
    return "unverified"


def _never_started(text: str) -> bool:
    return _compiled(tables()["did_not_start"]).search(text[-2_000:]) is not None
