"""Writes the parts of docs/reference that the code itself states: reasons, rules, numbers.

    python scripts/reference.py            write them
    python scripts/reference.py --check    exit 1 when they are not as the code says

Reads the source as text, so the documentation of a field is the line under it.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

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


def pages() -> dict[str, str]:
    actions = [(f"`{value}`", text) for _, value, text in members("situation.py", "Action")]
    reasons = [(f"`{value}`", text) for _, value, text in members("situation.py", "Reason")]
    rules = [(f"`{value}`", text) for _, value, text in members("patterns.py", "Rule")]
    limits = [(f"`{name}`", f"`{value}`", text) for name, value, text in members("limits.py", "Limits")]
    note = "<!-- Written by scripts/reference.py from the code; change it there. -->"
    return {
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
