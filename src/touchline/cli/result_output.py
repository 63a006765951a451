"""How does the result of a session read? The verdict first, then what proves it, what changed, and the next command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from touchline.audit.visible import one_line
from touchline.cli.diff_output import print_changes
from touchline.cli.place import command
from touchline.cli.progress_view import print_trimmed, spent_words
from touchline.cli.result import SCHEMA, Result, as_json, measures_words, next_step, runs_words, short, why

if TYPE_CHECKING:
    from rich.console import Console

_LINES = 12
_FILES = 8
_VERDICTS = {
    "accepted": ("Accepted", "bold green"),
    "unresolved": ("Not accepted", "bold yellow"),
    "error": ("Failed", "bold red"),
    "waiting": ("Waits for your answer", "bold yellow"),
    "stopped": ("Stopped", "bold yellow"),
    "failed": ("Failed", "bold red"),
}


def print_result_line(result: Result) -> None:
    """The last line of `--json`."""
    print(json.dumps({"schema": SCHEMA, **as_json(result)}, ensure_ascii=True), flush=True)


def print_result(result: Result, *, note: str = "") -> None:
    """The whole of it, on standard output."""
    from touchline.cli.terminal import console, text

    out, record = console(), result.record
    words, style = _VERDICTS.get(record.delivery or record.status, (record.status, "bold"))
    out.print()
    head = text(words, style)
    head.append_text(text(f"  session {short(record.id)}", "dim"))
    out.print(head)
    out.print()
    _print_rows(out, list(_facts(result)))
    _print_text(out, result)
    _print_changes(out, result)
    if step := next_step(result):
        out.print()
        line = text("Next: ", "bold")
        line.append_text(text(step, "cyan"))
        if note:
            line.append_text(text(f"   ({note})", "dim"))
        out.print(line, soft_wrap=True)


def _facts(result: Result) -> list[tuple[str, str, str]]:
    """Name, value and style, of what is known."""
    record, evidence = result.record, result.evidence
    rows = [("why", why(record), "")]
    rows += [("question", result.question, "yellow")] if result.question else []
    rows += [("missing", one_line(each, 400), "yellow") for each in result.missing]
    rows += [("evidence", words, "") for words in _evidence(result)]
    rows += (
        [("recovered", f"by a {record.result['recovered_by']}".replace("_", " "), "")]
        if record.result.get("recovered_by") and record.delivery
        else []
    )
    here = f"{record.workspace}/"
    rows += [(name, one_line(str(value).removeprefix(here), 200), "") for name, value in _values(record.result).items()]
    rows += [("weakened", one_line(str(evidence["weakened"]), 200), "red")] if evidence.get("weakened") else []
    rows.append(("on the way", measures_words(result.coached), ""))
    rows.append(("spent", spent_words(record.spent) if record.spent else "", ""))
    rows.append(("sandbox", f"{record.sandbox} ({record.sandbox_why})" if record.sandbox else "", ""))
    rows.append(("agent", " ".join(filter(None, (record.agent, record.model or record.asked.model))), ""))
    return [row for row in rows if row[1]]


def _evidence(result: Result) -> list[str]:
    """Test runs as the agent's calls show them, and Touchline's own check."""
    check = result.evidence.get("check")
    found = runs_words(result.runs)
    if isinstance(check, Mapping):
        # The check is the last run: it is told in its own words.
        own = result.evidence.get("last_test_run") or {}
        found = runs_words([run for run in result.runs if run.get("call") != own.get("call")])
        verb = "passed" if check.get("verified") else "no pass"
        found.append(
            f"check `{one_line(str(check.get('command')), 100)}`: {verb}, {check.get('why')}, run by Touchline"
        )
    elif result.record.asked.check and result.record.delivery:
        because = "the agent claimed no completion" if result.record.turns else "no agent was started"
        found.append(f"check `{one_line(result.record.asked.check, 100)}`: not run, {because}")
    if not found and result.evidence:
        runs = result.evidence.get("after_last_edit") or []
        last = runs[-1] if runs else None
        if last is not None:
            code = last["exit_code"]
            ended = f"exit code {code}" if code is not None else "failed" if last["failed"] else "no error"
            when = " after the last edit" if result.evidence.get("last_edit") is not None else ""
            found.append(f"`{one_line(str(last['command']), 100)}`{when}: {ended}")
        elif result.record.delivery and result.evidence.get("files_in_all"):
            found.append("nothing was run after the last edit")
    return found


def _values(result: Mapping[str, Any]) -> Mapping[str, Any]:
    values = result.get("values")
    return values if isinstance(values, Mapping) else {}


def _print_rows(out: Console, rows: list[tuple[str, str, str]]) -> None:
    from rich.table import Table

    from touchline.cli.terminal import text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    before = ""
    for name, value, style in rows:
        table.add_row(text("" if name == before else f"  {name}", "dim"), text(value, style))
        before = name
    print_trimmed(out, table)


def _print_text(out: Console, result: Result) -> None:
    from rich.padding import Padding

    from touchline.cli.terminal import text

    words = str(result.record.result.get("text") or "") if result.record.delivery else ""
    lines = [line.rstrip() for line in words.strip().splitlines()]
    if not lines:
        return
    out.print()
    out.print(text("What the agent says", "bold"))
    print_trimmed(out, Padding(text("\n".join(lines[:_LINES])), (0, 0, 0, 2)))
    if len(lines) > _LINES:
        out.print(
            text(f"  … {len(lines) - _LINES} more lines: {command(f'sessions log {short(result.record.id)}')}", "dim")
        )


def _print_changes(out: Console, result: Result) -> None:
    from touchline.cli.terminal import text

    changes = result.changes
    if result.record.delivery and not result.record.asked.read_only:
        out.print()
        if changes.get("error"):
            out.print(text(f"The work could not be collected: {changes['error']}", "red"))
            out.print(text(f"It is still in {result.record.workspace}"))
        elif result.proposal is not None:
            print_changes(result.proposal)
        elif result.proposal_error:
            out.print(text(f"The changes cannot be shown: {result.proposal_error}", "red"))
        for each in changes.get("leftovers", ()):
            out.print(text(f"  ! {one_line(str(each), 300)}", "yellow"))
    for each, because in ((result.unsaved, "you had not committed it"), (result.submodules, "it is a submodule")):
        if each:
            shown = ", ".join(one_line(name, 80) for name in each[:_FILES])
            more = f" and {len(each) - _FILES} more" if len(each) > _FILES else ""
            out.print(text(f"Not part of it, because {because}: {shown}{more}", "dim"))
