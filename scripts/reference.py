"""Writes the parts of docs/reference that the code itself states: reasons, rules, numbers, events.

    python scripts/reference.py            write them
    python scripts/reference.py --check    exit 1 when they are not as the code says

Reads the source as text, so the documentation of a field is the line under it.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

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

    return f"`{kind.name}`", str(kind.version), ", ".join(map(told, kind.fields)) or "none"


def pages() -> dict[str, str]:
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
never edited; what an older Touchline wrote is lifted to the current version when it is read.

## Fields

What every event has, as `--json` prints it:

{table(("field", "what it is"), EVENT_FIELDS)}

Below, a payload's fields are text unless another kind is said; those in **bold** must be there.

{events}
""",
        "reasons.md": f"""# Actions and reasons

{note}

Every decision is an action with a reason.

## Actions

{table(("action", "what happens"), actions)}

## Reasons

{table(("reason", "why"), reasons)}
""",
        "rules.md": f"""# Rules and numbers

{note}

## Going in circles

Universal signals: no rule knows what a command means. A *warning* is shown and may be coached; a *loop* acts. Polling
tools are exempt, and a provider that is down is not a loop.

{table(("rule", "in one sentence"), rules)}

`failure_rate` and `failing_again` are only ever warnings. The others act.

## Numbers

Every threshold of `supervision`. As a library, pass `Limits(...)` of your own; in `touchline decide`, give `limits`.

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
