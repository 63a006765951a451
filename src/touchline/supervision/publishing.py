"""What was committed, pushed or opened for review, by what git and the forges' tools printed?"""

from __future__ import annotations

from touchline.supervision.commands import Part, Plan
from touchline.supervision.prepared import shape
from touchline.supervision.programs import after_options, name_of
from touchline.supervision.remembering import cache
from touchline.supervision.testruns import tail_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Literal

_NOTHING_NEW = ("nothing to commit", "no changes added to commit", "nothing added to commit")


@cache
def _pattern(name: Literal["commit", "told", "hash", "pull", "pushed", "not_pushed"]) -> re.Pattern[str]:
    patterns = {
        "commit": r"^\[[^\]\n]*\b([0-9a-f]{7,40})\] ",
        "told": r"(?i)\bcommitted\b[^\n]*\bhash:? ([0-9a-f]{7,40})\b",
        "hash": r"^(?:commit )?([0-9a-f]{7,40})\b",
        "pull": r"https?://[^\s\"'<>)\]]+/(?:pull|pulls|merge_requests|pull-requests|pullrequest)/\d+",
        "pushed": r"^ [ *+=-]? *\S.* -> \S|^Everything up-to-date",
        "not_pushed": r"^(?:fatal|error): |^ ! \[|\[(?:remote )?rejected\]",
    }
    return shape("(?m)" + patterns[name])


def commits_in(text: str) -> tuple[str, ...]:
    """Hashes in the lines that `git commit` prints about what it made."""
    return tuple(dict.fromkeys(_pattern("commit").findall(tail_of(text))))


def commits_told(text: str) -> tuple[str, ...]:
    """The same of a tool that commits, which may say it in words of its own."""
    return commits_in(text) or tuple(_pattern("told").findall(tail_of(text)))


def commits_of(plan: Plan, text: str, *, failed: bool, awaited: bool) -> tuple[str, ...]:
    """Hashes of the commits a line made, or of the one before it that it asks after (`awaited`)."""
    parts = [p for p in plan.parts if "commit" in p.kinds]
    if parts and not _worked(parts, failed=failed):
        return ()
    found = commits_in(text) if parts else ()
    asks = any(_asks_head(p) for p in plan.parts)
    if found or failed or not asks or not (parts or awaited) or any(n in text for n in _NOTHING_NEW):
        return found
    head = _pattern("hash").search(tail_of(text))
    return (head[1],) if head else ()


def awaits_hash(plan: Plan) -> bool:
    """True when the line certainly committed if it did not fail: its last word is git's own."""
    return any("commit" in p.kinds and p.exit != "hidden" for p in plan.parts)


def pushed(plan: Plan, text: str, *, failed: bool) -> bool:
    """True when a push of the line went through; where its exit code is hidden, only git's report counts."""
    parts = [p for p in plan.parts if "push" in p.kinds]
    if not parts:
        return False
    if not failed and any(p.exit != "hidden" for p in parts):
        return True
    tail = tail_of(text)
    return bool(_pattern("pushed").search(tail)) and not _pattern("not_pushed").search(tail)


def pull_requests_of(plan: Plan, text: str, *, failed: bool) -> tuple[str, ...]:
    """Links that a command for opening pull or merge requests printed."""
    parts = [p for p in plan.parts if "pr" in p.kinds]
    return pull_requests_in(text) if parts and _worked(parts, failed=failed) else ()


def pull_requests_in(text: str) -> tuple[str, ...]:
    """Links to pull and merge requests, each once."""
    return tuple(dict.fromkeys(_pattern("pull").findall(tail_of(text))))


def _worked(parts: list[Part], *, failed: bool) -> bool:
    """A failed line may have failed at a later part: then what this part printed still holds."""
    return not failed or any(p.exit != "own" for p in parts)


def _asks_head(part: Part) -> bool:
    if name_of(part.words) != "git":
        return False
    rest = after_options(part.words[1:], "git")
    return rest[:1] == ("log",) or (rest[:1] == ("rev-parse",) and any("HEAD" in w for w in rest))
