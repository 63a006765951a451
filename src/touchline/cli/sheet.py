"""How do facts and checks about the machine read in a terminal?"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from touchline.audit.figures import count

if TYPE_CHECKING:
    from rich.console import RenderableType

    from touchline.store.checked import Checked

_TONES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def print_facts(facts: Mapping[str, str]) -> None:
    """Name and value, one below the other; empty values are left out."""
    from rich.table import Table

    from touchline.cli.terminal import text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value:
            table.add_row(name, text(value))
    _print(table)


def print_checks(checks: Sequence[Checked]) -> None:
    """Each check with its result, what was found, and under it what to do; then how it ended."""
    from rich.table import Table

    from touchline.cli.terminal import text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in checks:
        found = text(one.found)
        if one.fix:
            found.append_text(text(f"\n→ {one.fix}", "cyan"))
        table.add_row(text(one.result, _TONES[one.result]), one.id, found)
    _print(table)
    _print("")
    _print(text(closing_words(checks), "bold"))


def _print(what: RenderableType) -> None:
    """Where nobody watches, without the spaces that fill a line up to the table's width."""
    from touchline.cli.terminal import console

    out = console()
    if out.is_terminal:
        out.print(what)
        return
    with out.capture() as taken:
        out.print(what)
    print("\n".join(line.rstrip() for line in taken.get().splitlines()))


def closing_words(checks: Sequence[Checked]) -> str:
    problems, warnings = (sum(one.result == kind for one in checks) for kind in ("problem", "warning"))
    if not problems and not warnings:
        return f"All {count(len(checks), 'check')} passed."
    return f"{count(problems, 'problem')}, {count(warnings, 'warning')} in {count(len(checks), 'check')}."


def print_json(schema: str, value: Mapping[str, Any]) -> None:
    """One JSON object that says what it is."""
    json.dump({"schema": schema, **value}, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def as_dicts(checks: Sequence[Checked]) -> list[dict[str, str]]:
    return [{"id": one.id, "result": one.result, "found": one.found, "fix": one.fix} for one in checks]
