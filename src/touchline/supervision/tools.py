"""What kind of tool is this, and which files did its call change?

Knows the tools of the agent CLIs by the words in their names, so that a plug-in's or an MCP server's tools are read the
same way. The words are in `tools.json`. Shell commands are read in `commands` and `shell_writes`.
"""

from __future__ import annotations

from touchline.supervision.facts import Args
from touchline.supervision.prepared import shape, table
from touchline.supervision.remembering import cache, lru_cache
from touchline.supervision.values import Literal, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

Role = Literal["shell", "code", "write", "test", "pr", "commit", "push", "check", "other"]

MAX_CHANGES = 200
"""Files of one call that are kept: a patch over thousands says no more."""


class Change(Value):
    """A file that a call changed. `old` and `new` hold the replaced text of a test where the call shows both.

    Of a script in a throw-away place they hold it too.
    """

    path: str
    what: Literal["created", "changed", "deleted"] = "changed"
    old: str | None = None
    new: str = ""
    by_git: bool = False
    """Git put the file into a state that it knew."""


@cache
def words() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(value) for key, value in table("tools.json").items()}


@cache
def _ordered(key: str) -> tuple[str, ...]:
    return tuple(table("tools.json")[key])


def is_by_product(path: str) -> bool:
    """True for caches, logs and build results: tools make them on the way, nobody works on them."""
    known = words()["by_products"]
    return path.rstrip("/").endswith(_ordered("by_product_endings")) or any(part in known for part in path.split("/"))


@lru_cache(maxsize=1_024)
def tokens_of(tool: str) -> frozenset[str]:
    """The words of a tool's name, the server of an MCP tool left out."""
    own = shape(r"__|[./]").split(tool[:200])[-1] or tool[:200]
    return frozenset(shape(r"(?<=[a-z])(?=[A-Z])").sub("_", own).lower().replace("-", "_").split("_"))


@lru_cache(maxsize=1_024)
def role_of(tool: str) -> Role:
    """What a tool does, by its name alone; whether its arguments fit is asked where they are read."""
    known, tokens = words(), tokens_of(tool)
    plain = tool.lower().replace(".", "_").replace("-", "_")
    if plain in known["shell"] or plain.rsplit("__", 1)[-1] in known["shell"]:
        return "shell"
    if "create" in tokens and ({"pull", "request"} <= tokens or {"merge", "request"} <= tokens or "pr" in tokens):
        return "pr"
    if tokens & known["test_words"] and not tokens & known["not_test_words"]:
        return "test"
    if is_browser(tool) or (not tokens & known["not_check_words"] and any(each <= tokens for each in _checks())):
        # What a monitoring server tells is of another time and place than the work.
        return "check" if not any(each in tool.lower() for each in known["monitors"]) else "other"
    if "push" in tokens and tokens & {"git", "files", "branch", "commits"}:
        return "push"
    if tokens & known["code_words"] and tokens & {"execute", "run", "eval", "ipython", "repl", "exec"}:
        return "code"
    if tokens & known["shell_words"]:
        return "shell"
    if tokens & known["write_words"] and not tokens & known["not_write_words"]:
        return "write"
    if tool in ("file_change", "apply_patch"):
        return "write"
    return "commit" if "commit" in tokens else "other"


@lru_cache(maxsize=1_024)
def acts(tool: str) -> bool:
    """Whether a tool of another server does something there, by its name: makes a ticket, sends a message.

    Not where it keeps a memory for the agent, nor where it may change files in a way that is not known here.
    """
    known, tokens = words(), tokens_of(tool)
    return (
        "__" in tool
        and bool(tokens & (known["write_words"] | known["act_words"]))
        and not tokens & known["not_act_words"]
        and not is_browser(tool)
    )


def is_browser(tool: str) -> bool:
    """A tool that works a browser; its server may say so."""
    known, name = words(), tool.lower()
    return bool(tokens_of(tool) & known["browser_words"]) and any(each in name for each in known["browsers"])


def is_diagnostics(tool: str) -> bool:
    return bool(tokens_of(tool) & {"diagnostics", "problems", "errors"})


@cache
def _checks() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(each.split(" ")) for each in _ordered("checks"))


def on_forge(args: Args) -> bool:
    """True for a file that is not here but in a repository on a server."""
    return ("repo" in args and "owner" in args) or ("project_id" in args and "branch" in args)


def command_of(args: Args) -> str | None:
    """The command line among a shell tool's arguments; lists are what Codex passes to exec."""
    for key in ("command", "cmd", "script", "commands"):
        value = args.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
            import shlex

            return shlex.join(value)
    return None


def changes_of(tool: str, args: Args, text: str) -> tuple[Change, ...]:
    """Files that a successful call of a write tool changed, by its arguments."""
    found: list[Change] = []
    for change in _changes(tool, args, text):
        if change.path and not any(c.path == change.path and c.what == change.what for c in found):
            found.append(change)
        if len(found) >= MAX_CHANGES:
            break
    return tuple(found)


def _changes(tool: str, args: Args, text: str) -> Iterator[Change]:
    known, tokens = words(), tokens_of(tool)
    if str(args.get("command", "")) in known["views"] or on_forge(args):
        return
    listed = args.get("changes")
    if isinstance(listed, dict):
        listed = [{"path": path, **(v if isinstance(v, dict) else {})} for path, v in listed.items()]
    if isinstance(listed, list | tuple):
        yield from _listed(listed)
        return
    for key in _ordered("patch_args"):
        value = args.get(key)
        if isinstance(value, str) and ("*** " in value or "+++ " in value):
            yield from patched(value)
            return
    path = next((str(args[k]) for k in _ordered("path_args") if isinstance(args.get(k), str) and args[k]), "")
    if not path:
        return
    if tokens & known["delete_words"]:
        yield Change(path=path, what="deleted")
        return
    source = args.get("source") or args.get("old_path")
    if tokens & {"move", "rename"} and isinstance(source, str):
        yield Change(path=source, what="deleted", new=path)
    lower = path.lower()
    # Looked at in tests, for skips, and in scripts of a throw-away place, for what running them changes.
    old, new = _texts(args) if any(word in lower for word in _ordered("looked_into")) else (None, "")
    # A whole-file write may replace a file; only the result can tell, and most CLIs' results do not.
    full = bool(tokens & known["full_words"]) or args.get("command") == "create"
    replaced = full and shape(r"\b(?:updated|overwr\w+|has been edited)\b").search(text[:300]) is not None
    yield Change(path=path, what="created" if full and not replaced else "changed", old=old, new=new)


def _listed(listed: list[Any] | tuple[Any, ...]) -> Iterator[Change]:
    """Codex's file_change: paths with `add`, `update` or `delete`."""
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            continue
        kind = entry.get("kind", entry.get("type"))
        kind = kind.get("type") if isinstance(kind, dict) else kind
        what: Literal["created", "changed", "deleted"] = (
            "created" if kind in ("add", "create") else "deleted" if kind in ("delete", "remove") else "changed"
        )
        yield Change(path=entry["path"], what=what)


def _texts(args: Args) -> tuple[str | None, str]:
    """The text an edit took away and the text it put there, over all edits of the call."""
    edits = args.get("edits")
    parts = [e for e in edits if isinstance(e, dict)] if isinstance(edits, list | tuple) else [args]
    old: list[str] = []
    new: list[str] = []
    for part in parts:
        old.extend(part[k] for k in _ordered("old_args") if isinstance(part.get(k), str))
        new.extend(part[k] for k in _ordered("new_args") if isinstance(part.get(k), str))
    if not old and args.get("command") == "insert":
        old.append("")
    return ("\n".join(old) if old else None), "\n".join(new)


def patched(patch: str) -> Iterator[Change]:
    """Files of an `apply_patch` text or of a unified diff, with the lines each took away and put there."""
    path, what = "", "changed"
    old: list[str] = []
    new: list[str] = []

    def done() -> Iterator[Change]:
        if path:
            yield Change(path=path, what=what, old="\n".join(old), new="\n".join(new))  # type: ignore[arg-type]
        old.clear()
        new.clear()

    from_path = ""
    for line in patch.splitlines():
        if head := shape(r"\*\*\* (Add|Update|Delete) File: (.+)").match(line):
            yield from done()
            path = head[2].strip()
            what = {"Add": "created", "Update": "changed", "Delete": "deleted"}[head[1]]
        elif move := shape(r"\*\*\* Move to: (.+)").match(line):
            path = move[1].strip()
        elif line.startswith("--- "):
            from_path = line[4:].split("\t")[0].strip()
        elif line.startswith("+++ "):
            yield from done()
            to = line[4:].split("\t")[0].strip()
            gone, fresh = to == "/dev/null", from_path == "/dev/null"
            path = (from_path if gone else to).removeprefix("a/").removeprefix("b/")
            what = "deleted" if gone else "created" if fresh else "changed"
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
    yield from done()
