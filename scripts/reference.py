"""Writes the parts of docs/reference that the code itself states: reasons, rules, numbers, events, settings.

    python scripts/reference.py            write them
    python scripts/reference.py --check    exit 1 when they are not as the code says

Reads the source as text, so the documentation of a field is the line under it.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

from ends import ATTEMPT_ENDS, ERRORS, SESSION_ENDS
from ends import check as check_ends

from touchline.settings.keys import Key, keys
from touchline.settings.sections import SECTIONS
from touchline.settings.values import toml_of, wanted_words
from touchline.store.event_types import KNOWN, EventType, Field, Kind, known_type

ROOT = Path(__file__).resolve().parents[1]
SUPERVISION = ROOT / "src/touchline/supervision"
REFERENCE = ROOT / "docs/reference"


def members(file: str, name: str) -> list[tuple[str, str, str]]:
    """Name, value and documentation of every member of a class whose members each have a line under them."""
    tree = ast.parse((SUPERVISION / file).read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found: list[tuple[str, str, str]] = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        if not isinstance(target, ast.Name) or not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        text = " ".join(str(after.value.value).split()) if documented else ""  # type: ignore[union-attr]
        if not text:
            raise SystemExit(f"{file}: {name}.{target.id} has no line under it that says what it is.")
        value = node.value.value if isinstance(node.value, ast.Constant) else ast.unparse(node.value)
        found.append((target.id, str(value), text))
    return found


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


EVENT_FIELDS: list[tuple[str, ...]] = [
    ("`schema`", "`touchline.event/1`"),
    ("`seq`", "its number: 1, 2, 3 and so on without a gap, in the order of commits"),
    ("`at`", "when it was written, UTC"),
    ("`type`", "one of the types below"),
    ("`version`", "the version it was written in"),
    ("`source`", "the component that says so"),
    ("`idea`", "id of what it is about, or null; so the next four"),
    ("`spec`", ""),
    ("`build`", ""),
    ("`task`", ""),
    ("`session`", ""),
    ("`cause`", "the number of the event that led to it, or null"),
    ("`payload`", "what the type says, in its current version"),
]


def known_events() -> list[EventType]:
    """All types, in the order in which they are listed in the code."""
    known_type("idea.created")
    return list(KNOWN.values())


def event_row(kind: EventType) -> tuple[str, ...]:
    def told(field: Field) -> str:
        name = f"**`{field.name}`**" if field.required else f"`{field.name}`"
        return name if field.kind is Kind.TEXT else f"{name} ({field.kind})"

    name = f"`{kind.name}`" if kind.name in written_events() else f"`{kind.name}` (not yet)"
    return name, str(kind.version), ", ".join(map(told, kind.fields)) or "none"


@cache
def written_events() -> frozenset[str]:
    """The types that some module names other than to list or look them up."""
    files = (file for file in (ROOT / "src/touchline").rglob("*.py") if file.name != "known_events.py")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return frozenset(re.findall(r"""(?<!known_type\()["']([a-z]+\.[a-z_]+)["']""", text))


def setting_row(key: Key) -> tuple[str, ...]:
    default = f"`{toml_of(key.default)}`" if key.default is not None else "not set"
    return f"`{key.name}`{' (trust)' if key.guarded else ''}", wanted_words(key), default, key.meaning


def setting_tables() -> str:
    """A table for each section."""
    parts = []
    for section, kind in SECTIONS.items():
        rows = [setting_row(key) for key in keys().values() if key.name.split(".")[0] == section]
        title = "[agents.NAME]" if section == "agents" else f"[{section}]"
        parts.append(f"## `{title}`\n\n{kind.__doc__}\n\n{table(('key', 'takes', 'default', 'meaning'), rows)}")
    return "\n\n".join(parts)


def session_ends() -> list[tuple[str, ...]]:
    named = ", ".join(f"`{word}`" for word in ERRORS)
    raised = (f"{named} and the like", "A step could not be done: the error's name; `detail` has its words.")
    return [*((f"`{word}`", why) for word, why in SESSION_ENDS.items()), raised]


def pages() -> dict[str, str]:
    check_ends(ROOT / "src/touchline")
    actions = [(f"`{value}`", text) for _, value, text in members("situation.py", "Action")]
    reasons = [(f"`{value}`", text) for _, value, text in members("situation.py", "Reason")]
    rules = [(f"`{value}`", text) for _, value, text in members("patterns.py", "Rule")]
    limits = [(f"`{name}`", f"`{value}`", text) for name, value, text in members("limits.py", "Limits")]
    groups: dict[str, list[EventType]] = {}
    for kind in known_events():
        groups.setdefault(kind.name.split(".")[0], []).append(kind)
    events = "\n\n".join(
        f"## {group.capitalize()}\n\n" + table(("type", "version", "payload"), [event_row(each) for each in kinds])
        for group, kinds in groups.items()
    )
    note = "<!-- Written by scripts/reference.py from the code; change it there. -->"
    return {
        "events.md": f"""# Events

{note}

Everything that happens is an event in an append-only log. `touchline events list` and `touchline events follow` show
it; subscriptions read it, each with a cursor of its own. An event is written in the current version of its type, and
never edited; what an older Touchline wrote is lifted to the current version when it is read. Types marked (not yet) are
known, and nothing writes them so far.

## Fields

What every event has, as `--json` prints it:

{table(("field", "what it is"), EVENT_FIELDS)}

Below, a payload's fields are text unless another kind is said; those in **bold** must be there.

{events}
""",
        "settings.md": f"""# Settings

{note}

The first of these that says something counts:

1. the flag of the command, such as `--agent`
2. the environment variable: `TOUCHLINE_` and the key, `run.agent` is `TOUCHLINE_RUN_AGENT`; `judge.model` is
   `TOUCHLINE_MODEL`. An empty variable says nothing. A list is written as words of a shell, or as in TOML
3. the project's file: `touchline.toml` at the root of the git repository
4. your own file: `$XDG_CONFIG_HOME/touchline/config.toml`, usually `~/.config/touchline/config.toml`
5. the default

Both files are TOML. A key that is not known is an error, with its line and what may have been meant; so is a value that
does not fit, a file that is a link to nothing, and a variable such as `TOUCHLINE_RUN_AGNET`, which begins as those of a
section do. Other variables that begin with `TOUCHLINE_` and that nobody knows are named by `touchline doctor`. Hooks go
on without what is wrong. `touchline config show --origin` prints what holds and where it comes from,
`touchline config explain KEY` tells about one of them. A relative path in a file is seen from the file.

What may be spent (`[budget]`, and `usd`, `tokens` and `runs_per_day` of `[build]`) a project's file can lower below the
limit of your own file, and not raise.

Three things are set by variables alone: what sessions without a build may spend in a day
([models](models.md#limits)), the folder of kept answers (`TOUCHLINE_MODEL_CACHE`, [models](models.md#questions)), and
where the scripted agent keeps its sessions (`TOUCHLINE_SCRIPTED_HOME`).

## Trust

A repository may be a stranger's. Keys marked (trust) say what is run, with which rights, and who sees your work. In a
project's file they count only after you agreed to them: `touchline config trust` shows them, asks, and remembers your
answer for exactly these values of this repository, in `$XDG_STATE_HOME/touchline/trust.json`. Until then they are not
used, and every command that would have used them says so. When one of them changes, none of them counts until you agree
anew. In your own file, in the environment and as flags they always count.

{setting_tables()}
""",
        "reasons.md": f"""# Actions and reasons

{note}

Every decision is an action with a reason.

## Actions

{table(("action", "what happens"), actions)}

## Reasons

{table(("reason", "why"), reasons)}

## Ends of a session that no decision came to

{table(("reason", "why"), session_ends())}

## Ends of a task's attempt that its session did not come to

In a build; what follows from each: [builds](builds.md#what-follows-from-a-failure).

{table(("reason", "why"), [(f"`{word}`", why) for word, why in ATTEMPT_ENDS.items()])}
""",
        "rules.md": f"""# Rules and numbers

{note}

## Going in circles

Universal signals: no rule knows what a command means. A *warning* is shown and may be coached; a *loop* acts. A call is
refused before it runs only when the earlier results were equal to the letter; durations, clock times and addresses that
differ are passed over for warnings and reminders alone, and count where they are all that was printed.

Waiting that declares itself is exempt, and so is a provider that is down: tools for polling, a shell line with a
`sleep` or with a command such as `gh run view` or `kubectl get`, and tools that press, click, scroll or wait, as long
as they do not fail. A line that starts something in the background and then sleeps is no waiting, nor is one that
also tests, checks, builds, edits, commits or pushes. `waiting` counts them all, and comes up at `same_wait` and again
after as many more; such a call is never refused. A wait that tells nothing new hides nothing either: the same check
before and after it is the same check twice. News and a press begin anew.

{table(("rule", "in one sentence"), rules)}

`failure_rate` and `failing_again` are only ever warnings. The others act. A task of a build that is begun
again and again is no rule here: its failed attempts are counted ([builds](builds.md#what-follows-from-a-failure)).

`wandering` alone looks at whole turns of a run, each from one message to the agent's next stop, when a turn has ended;
hooks and the audit do not ask it. It needs a turn that brought something to compare with. Turns that a provider's fault
ended do not count, and after a review, or when you resume a session, it counts anew. With the default `continue_cap` a
run is mostly delivered before it has so many idle turns. How often it is wrong is not measured: the public runs of the
benchmarks have one turn each.

## Numbers

Every threshold of `supervision`. As a library, pass `Limits(...)` of your own; in `touchline decide`, give `limits`;
for runs and hooks, set [`[limits]`](settings.md#limits).

{table(("name", "default", "reason"), limits)}
""",
    }


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, text in pages().items():
        path = REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"Not as the code says: {', '.join(stale)}. Run: python scripts/reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
