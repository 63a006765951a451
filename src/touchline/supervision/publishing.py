"""What was committed, pushed or opened for review, by what git and the forges' tools printed?"""

from __future__ import annotations

from touchline.supervision.commands import Part, Plan
from touchline.supervision.prepared import shape
from touchline.supervision.programs import after_options, name_of, tables
from touchline.supervision.remembering import cache
from touchline.supervision.testruns import tail_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Literal

_NOTHING_NEW = ("nothing to commit", "no changes added to commit", "nothing added to commit")


@cache
def _pattern(
    name: Literal["commit", "change", "told", "hash", "pull", "pushed", "says_pushed", "not_pushed"],
) -> re.Pattern[str]:
    patterns = {
        "commit": r"^\[[^\]\s][^\]\n]* ([0-9a-f]{7,40})\] ",
        "change": r"^(?:Parent commit \(@-\)|Working copy +\(@\) now at) *: [k-z]+ ([0-9a-f]{7,40})\b",
        "told": r"(?i)\bcommitted\b[^\n]*\bhash:? ([0-9a-f]{7,40})\b",
        "hash": r"^(?:commit )?([0-9a-f]{7,40})\b",
        "pull": r"https?://[^\s\"'<>)\]]+/(?:pulls?|merge_requests|pull-requests|pullrequest|pr/[\w.-]+/[\w.-]+)/\d+",
        "pushed": r"^ [ *+=-]? *\S.* -> \S|^Everything up-to-date|^Changes to push to \S|^updated remote bookmark ",
        "says_pushed": r"(?i)^(?!.*\b(?:not|nothing|never|would|will|fail\w*|cannot|dry)\b).*\bpush(?:ed|ing)\b",
        "not_pushed": r"^(?:fatal|error): |^ ! \[|\[(?:remote )?rejected\]",
    }
    return shape("(?m)" + patterns[name])


def commits_in(text: str) -> tuple[str, ...]:
    """Hashes in the lines that `git commit` and `jj commit` print about what they made."""
    tail = tail_of(text)
    return tuple(dict.fromkeys((*_pattern("commit").findall(tail), *_pattern("change").findall(tail))))


def commits_told(text: str) -> tuple[str, ...]:
    """The same of a tool that commits, which may say it in words of its own."""
    return commits_in(text) or tuple(_pattern("told").findall(tail_of(text)))


def commits_of(plan: Plan, text: str, *, failed: bool, awaited: bool) -> tuple[str, ...]:
    """Hashes of the commits a line made, or of the one before it that it asks after (`awaited`)."""
    parts = [p for p in plan.parts if "commit" in p.kinds]
    if parts and not _worked(parts, failed=failed):
        return ()
    found = commits_in(text) if parts else _by_another_name(plan, text)
    asks = any(_asks_head(p) for p in plan.parts)
    if found or failed or not asks or not (parts or awaited) or any(n in text for n in _NOTHING_NEW):
        return found
    head = _pattern("hash").search(tail_of(text))
    return (head[1],) if head else ()


def _by_another_name(plan: Plan, text: str) -> tuple[str, ...]:
    """Commits of an alias such as `git ci`, of `git cherry-pick` and the like, which print git's own line."""
    places = [at for at, part in enumerate(plan.parts) if _may_commit(part)]
    return commits_in(_own_words(plan, places, text)) if places else ()


def _may_commit(part: Part) -> bool:
    """Any command of git that may have made a commit, and was not told by the line itself what to print."""
    if name_of(part.words) != "git" or not part.kinds <= {"edit"}:
        return False
    return not any(word.startswith(("alias.", "--exec", "-x", "!")) for word in part.words[1:])


def _own_words(plan: Plan, places: list[int], text: str) -> str:
    """What these parts of a line printed; nothing where others may have printed it."""
    if len(plan.parts) == 1:
        return text
    from .printed import printed_by

    printed = printed_by(plan.parts, places, text)
    return "" if printed is None or printed.doubtful else printed.text


def deeds_told(plan: Plan, text: str) -> str:
    """What a script of the project's own says that it committed or pushed: that is its word, and no proof."""
    places = [at for at, part in enumerate(plan.parts) if _is_own_script(part)]
    tail = tail_of(_own_words(plan, places, text)) if places else ""
    told = "commit" if "] " in tail and _pattern("commit").search(tail) else ""
    # Words are looked for first: most scripts tell of nothing, and to search all they print takes time.
    sent = " -> " in tail and _pattern("pushed").search(tail)
    sent = sent or (("ushed" in tail or "ushing" in tail) and _pattern("says_pushed").search(tail))
    return f"{told} push".strip() if sent and not _pattern("not_pushed").search(tail) else told


def _is_own_script(part: Part) -> bool:
    """`./release.sh`, `make release`, `npm run release`, `python tools/release.py`; not `python -c`."""
    known, name = tables(), name_of(part.words)
    if not part.kinds & {"run", "build"} or name in known["programs"]:
        return False
    if name in known["goal_programs"] or name in known["script_managers"]:
        return True
    file = part.words[0] if name not in ("python", "node") and name not in known["shells"] else (*part.words, "")[1]
    return not file.startswith(("-", "/bin/", "/usr/")) and shape(r"/|\.\w+$").search(file) is not None


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
