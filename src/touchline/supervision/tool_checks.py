"""What does the answer of a tool say about the work, where it is no shell: tests, diagnostics, a browser, a forge?

A tool of an MCP server or an editor has no exit code and no fixed format. Numbers beside known words are read from
what it answers, as text or as JSON; the words are in `testruns.json` and `tools.json`. Nothing passes by default.
"""

from __future__ import annotations

from touchline.supervision.facts import Args, Result
from touchline.supervision.prepared import shape
from touchline.supervision.programs import RUN, Kinds
from touchline.supervision.testruns import Counts, counts_of, outcome_of, tables, tail_of, totalled
from touchline.supervision.tools import is_browser, is_diagnostics, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from touchline.supervision.testruns import Outcome

_LINT: Kinds = frozenset({"lint"})

_CODE = r"(?i)\bexit_?code[\\\"']{0,2}\s*[:=]\s*(-?\d{1,9})(?!\d)"
_LOCAL = (
    r"(?i)(?:https?://)?(?:localhost|[\w.-]+\.(?:localhost|local|test)|127\.[\d.]+|0\.0\.0\.0|\[::1\]"
    r"|10\.[\d.]+|192\.168\.[\d.]+|host\.docker\.internal)(?:[:/?#]|$)|file:|/(?!/)"
)
_PAGE = r"(?im)(?:^|\\n)[-* ]{0,4}page url: *([^\s\"'\\]+)"
_BROKEN = (
    r"(?i)\[ERROR\](?![^\n]*favicon\.ico)|\b(?:http(?:/[\d.]{1,3})?|status(?:[ _]?code)?(?: of)?)[\"':= ]{1,4}5\d\d\b"
    r"|=> \[5\d\d\]|\b5\d\d \(?(?:internal server error|not implemented|bad gateway|service unavailable|gateway time)"
)
"""What a page or its console shows where the work does not work. A missing icon is none of it."""
_ERRORS = (
    r"(?i)\b[1-9]\d{0,8} errors?\b|\berrors?(?:_?count)?[\\\"']{0,2}\s*[:=]\s*[1-9]"
    r"|\"severity\\?\"\s*:\s*(?:\\?\"(?:error|fatal|1\b)|1\b)"
)


def counts_told(text: str) -> Counts | None:
    """The tests that a tool's answer counts. Several numbers for the same are parts of something: then good or bad."""
    tail, told = tail_of(text), tables()["tool_answers"]
    if (known := counts_of(tail)) is not None:
        return known
    found: dict[str, list[int]] = {}
    # As `12 passed`, `Failed: 0`, `"numPassedTests": 12` or `passed=12`; not as `1 failed login`.
    for said in shape(told["numbers"]).finditer(tail):
        means = told["means"][(said["after"] or said["before"]).lower()]
        found.setdefault(means, []).append(int(said["n"] or said["m"]))
    bad = any(found.get("failed", ())) or shape(told["bad"]).search(tail) is not None
    ran = any(found.get("passed", ())) or any(found.get("collected", ()))
    if found.keys() & {"passed", "collected"} and all(len(each) == 1 for each in found.values()):
        return totalled("", {means: each[0] for means, each in found.items()}, bad=bad)
    if bad or ran:
        return Counts(runner="", verdict="bad" if bad else "good")
    if "passed" in found or shape(told["none"]).search(tail):
        return Counts(runner="", passed=0, failed=0, collected=0)
    return Counts(runner="", verdict="good") if shape(told["good"]).search(tail) else None


def code_told(text: str) -> int | None:
    """The exit code that an answer in JSON gives."""
    found = shape(_CODE).search(text)
    return int(found[1]) if found else None


def outcome_told(counts: Counts | None, code: int | None, result: Result) -> Outcome:
    """What a test tool's run proves. An error is a failed run, unless the tool did not get to run anything."""
    outcome = outcome_of(counts, code, failed=result.failed, text=result.text)
    if outcome == "unverified" and counts is None and code is None and result.failed:
        no_answer = shape(tables()["tool_answers"]["no_answer"])
        return "unverified" if no_answer.search(result.text[:2_000]) else "failed"
    return outcome


def seen_by(tool: str, result: Result) -> tuple[Kinds, bool] | None:
    """What a tool that looks at the running work counts for, and whether it failed; None when it tells nothing."""
    if is_diagnostics(tool):
        return (_LINT, False) if not result.failed and _is_clean(result.text) else None
    broken = is_browser(tool) and _shows_fault(result.text)
    return RUN, result.failed or broken or bool(code_told(result.text))


def _shows_fault(text: str) -> bool:
    return any(sign in text for sign in words()["browser_errors"]) or shape(_BROKEN).search(text) is not None


def _is_clean(text: str) -> bool:
    """Diagnostics without an error. Warnings are let through, as by a linter that exits with zero."""
    if shape(_ERRORS).search(text):
        return False
    if shape(r"(?i)\bno (?:problems|errors?|issues|diagnostics)\b").search(text):
        return True
    if not text.lstrip().startswith(("[", "{")):
        return False
    told = len(shape(r'"(?:message|description)"\s*:').findall(text))
    mild = len(shape(r'(?i)"severity"\s*:\s*"(?:warning|info|information|hint)').findall(text))
    return told <= mild and ("[]" in text.replace(" ", "") or told > 0)


def is_here(args: Args, text: str) -> bool | None:
    """Whether a browser is at the work's own server, as far as its answer or the call says where it is."""
    shown = shape(_PAGE).search(text) if "age URL:" in text else None
    url = shown[1] if shown else args.get("url")
    return shape(_LOCAL).match(url) is not None if isinstance(url, str) and url else None


def commits_on_forge(text: str) -> tuple[str, ...]:
    """The commit that a forge's own tool made, by its answer in JSON. The hash of a file there is no commit."""
    found = shape(r'"(?:commit|object)"\s*:\s*\{[^{}]*?"sha"\s*:\s*"([0-9a-f]{7,40})"').search(text)
    if found:
        return (found[1],)
    every = set(shape(r'"sha"\s*:\s*"([0-9a-f]{7,40})"').findall(text))
    return tuple(every) if len(every) == 1 else ()


def is_refusal(text: str) -> bool:
    """An answer that tells of an error without being marked as one."""
    return shape(r"(?i)\W*(?:mcp )?(?:error|failed|failure|fatal)\b").match(text) is not None
