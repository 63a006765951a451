"""With which words can a session, or a task's attempt, end that no decision came to? Compared with what the code says.

`Reason` has the words of decisions. All others are literals beside `reason` in two rooms; a new one that is not told of
here stops `reference.py`, and with it a test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from touchline import errors
from touchline.roles.build.failures import Failure
from touchline.supervision.situation import Reason

SESSION_ENDS = {
    "cost_unknown": "Money is limited, and the agent does not tell what it spends, so it was not continued.",
    "stopped": "A person stopped it.",
    "crash_guard": "Touchline died three times in the middle of the same turn; it was not begun again.",
    "lost": "Its workflow ended without ending it; found at the next start.",
    "internal_error": "A fault of Touchline itself; `detail` has its words.",
}
ERRORS = ("agent_error", "sandbox_error", "workspace_error")
"""Examples: what a step raises gives its name."""
NO_ENDS = {"started", "resumed", "answered", "stopped_at_loop"}
"""Other reasons that are written down in `sessions`: of a beginning, of an order, of a stop of the agent."""
ATTEMPT_ENDS = {
    "no_change": "The session was accepted, and no file changed.",
    "not_collected": "The session was accepted, and its work could not be brought out of the clone; `detail` says why.",
    "plan_rejected": "The plan came back three times; a person is asked.",
    "change_rejected": "The change came back three times; a person is asked.",
    "unreviewed": "The configured reviewer could not be asked; a person is.",
    "outage": "The provider was away longer than is waited; a person is asked.",
}


def check(source: Path) -> None:
    """SystemExit when the code has other words than these."""
    known = {*map(str, Reason), *map(str, Failure)}
    said = {
        "sessions": (set(_reasons(source / "sessions")) - known - NO_ENDS, set(SESSION_ENDS)),
        "roles/build": (
            set(_reasons(source / "roles/build", beside="how")) - known - set(SESSION_ENDS),
            set(ATTEMPT_ENDS),
        ),
    }
    for room, (code, told) in said.items():
        if code != told:
            raise SystemExit(
                f"{room}: not told of in scripts/ends.py: {sorted(code - told)}; gone: {sorted(told - code)}"
            )
    for word in ERRORS:
        getattr(errors, word.title().replace("_", ""))


def _reasons(folder: Path, *, beside: str = "") -> Iterator[str]:
    """Every word that is given as a `reason`: in a call, in a table (with another key beside it), or to `_error`."""
    for file in sorted(folder.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            for value in _given(node, beside):
                parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                for part in parts:
                    word = names.get(part.id) if isinstance(part, ast.Name) else getattr(part, "value", None)
                    if isinstance(word, str):
                        yield word


def _given(node: ast.AST, beside: str) -> Iterator[ast.expr]:
    if isinstance(node, ast.Dict):
        keys = {
            key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)
        }
        if "reason" in keys and (not beside or beside in keys):
            yield keys["reason"]
    if isinstance(node, ast.Call) and not beside:
        yield from (each.value for each in node.keywords if each.arg == "reason")
        if isinstance(node.func, ast.Name) and node.func.id == "_error":
            yield from node.args[:1]
