"""Which files does a shell command change, by its words alone?

Redirections, `tee`, `sed -i`, `mv`, `cp`, `rm`, `touch`, `patch` and git's ways of changing the work tree, and what a
program writes that stands on the line itself. What a script file does is not known here. Scratch files (`/tmp`,
`/dev`) are no part of the work, and logs that a check writes of itself are no edits.
"""

from __future__ import annotations

from touchline.supervision.commands import Part, Plan
from touchline.supervision.prepared import shape
from touchline.supervision.programs import after_options, name_of
from touchline.supervision.tools import MAX_CHANGES, Change, patched
from touchline.supervision.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SCRATCH = ("/tmp", "/var/tmp", "/private/tmp", "/dev", "/proc", "/var/folders")  # noqa: S108
_CHECKS = frozenset({"test", "typecheck", "lint", "build"})
_LOGS = (".log", ".out", ".err", ".txt")


def is_scratch(path: str, cwd: str | None) -> bool:
    """True for a throw-away place, unless the work itself lies there."""
    if path.startswith(("$TMP", "${TMP", "$(mktemp", "`mktemp", "&")):
        return True
    if cwd and (path == cwd or path.startswith(cwd.rstrip("/") + "/")):
        return False
    return any(path == root or path.startswith(root + "/") for root in SCRATCH)


def shell_changes(plan: Plan) -> tuple[tuple[int, Change], ...]:
    """Every change of the line, with the position of the part that makes it."""
    if "edit" not in plan.kinds and not any(p.targets or p.words[:1] == ("tee",) for p in plan.parts):
        return ()
    found: list[tuple[int, Change]] = []
    checked = False
    for at, part in enumerate(plan.parts):
        checked = bool(part.kinds & _CHECKS) or (checked and at > 0 and plan.parts[at - 1].piped)
        for change in _changes(part, logs_of_check=checked):
            path = change.path
            if part.folder and not path.startswith(("/", "~", "$")):
                path = f"{part.folder.rstrip('/')}/{path.removeprefix('./')}"
            found.append((at, replace(change, path=path)))
            if len(found) >= MAX_CHANGES:
                return tuple(found)
    return tuple(found)


def code_changes(code: str, name: str = "python") -> tuple[Change, ...]:
    """What a program changes that a call itself shows. `name` is its interpreter's."""
    from touchline.supervision.code_writes import writes_of  # hooks count milliseconds

    return writes_of(name, code)


def _changes(part: Part, *, logs_of_check: bool) -> Iterator[Change]:
    words, name = part.words, name_of(part.words)
    outputs = [*part.targets, *(_plain(words[1:]) if name == "tee" else ())]
    for target in outputs:
        if logs_of_check or ("run" in part.kinds and target.endswith(_LOGS)):
            continue
        appends = part.appends or "-a" in words[1:2]
        yield Change(path=target, what="changed" if appends else "created", new=part.heredoc)
    if "edit" not in part.kinds:
        return
    if part.code:
        yield from code_changes(part.code, name)
        return
    plain = _plain(words[1:])
    match name:
        case "rm":
            yield from (Change(path=p, what="deleted") for p in plain)
        case "touch" | "truncate":
            yield from (Change(path=p, what="created" if name == "touch" else "changed") for p in plain)
        case "mv" | "cp" | "ln" if len(plain) > 1:
            if name == "mv":
                yield from (Change(path=p, what="deleted", new=plain[-1]) for p in plain[:-1])
            yield Change(path=plain[-1], what="created")
        case "sed" | "gsed" | "perl" | "ruby":
            yield from _in_place(words)
        case "apply_patch":
            yield from patched(part.heredoc or (words[1] if len(words) > 1 else ""))
        case "patch":
            changes = tuple(patched(part.heredoc))
            yield from changes or (Change(path=plain[0] if plain else "."),)
        case "find":
            yield Change(path=plain[0] if plain else ".", what="changed")
        case "git":
            yield from _git(part)
        case _:
            # Formatters and the like: what they rewrite behaves as before, so it calls for no new proof.
            return


def _plain(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(w for w in words if not w.startswith("-") and w not in ("{}", ";", "+"))


def _in_place(words: tuple[str, ...]) -> Iterator[Change]:
    """Files after the script; the script itself is an argument unless `-e` or `-f` brought it."""
    files: list[str] = []
    script = skip = False
    for word in words[1:]:
        if skip:
            skip, script = False, True
        elif word.startswith("-") and len(word) > 1:
            skip = bool(shape(r"-[a-zA-Z0-9]*[ef]|--expression|--file").fullmatch(word))
            script = script or word.startswith(("--expression=", "--file="))
        elif word:
            files.append(word)
    targets = files if script else files[1:]
    edit = " ".join(words)
    # `... | xargs sed -i` names its files elsewhere: something in the work changed.
    yield from (Change(path=p, new=edit, old="") for p in (targets or ["."]))


def _git(part: Part) -> Iterator[Change]:
    rest = after_options(part.words[1:], "git")
    verb, paths = rest[0] if rest else "", _plain(rest[1:])
    if verb in ("checkout", "restore"):
        if "--" in rest:
            paths = rest[rest.index("--") + 1 :]
        elif verb == "checkout":
            named = [p for p in paths if p == "." or shape(r"\w\.[A-Za-z]\w{0,5}$").search(p)]
            paths = tuple(named) if "-b" not in rest and "-B" not in rest else ()
        if "--staged" not in rest or "--worktree" in rest:
            yield from (Change(path=p, by_git=True) for p in paths)
    elif verb == "rm" and "--cached" not in rest:
        yield from (Change(path=p, what="deleted") for p in paths)
    elif verb == "mv" and len(paths) > 1:
        yield from (Change(path=p, what="deleted", new=paths[-1]) for p in paths[:-1])
        yield Change(path=paths[-1], what="created")
    elif verb in ("apply", "am"):
        changes = tuple(patched(part.heredoc))
        yield from changes or (Change(path="."),)
    elif verb == "stash" and rest[1:2] and rest[1] in ("drop", "clear", "create"):
        return
    elif verb in ("stash", "revert", "cherry-pick", "reset", "clean"):
        yield Change(path=".", by_git=True)
