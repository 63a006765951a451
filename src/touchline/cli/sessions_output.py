"""How do sessions read as a list, and one of them in full?"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from touchline.audit.figures import dollars, plain, tokens
from touchline.audit.visible import one_line
from touchline.cli.place import command, looked_at
from touchline.cli.progress_view import print_trimmed
from touchline.cli.result import Result, as_json, result_of, run_words, short
from touchline.cli.result_output import print_result
from touchline.cli.sheet import print_json
from touchline.cli.terminal import console, say, text
from touchline.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from touchline.sessions.records import DecisionRecord, SessionRecord, TurnRecord
    from touchline.store.place import Place

STATUSES = ("starting", "running", "waiting", "suspended", "stopped", "delivered", "failed", "dropped")
_TONES = {"accepted": "green", "unresolved": "yellow", "error": "red", "waiting": "yellow", "running": "cyan"}


def print_list(place: Place, statuses: tuple[str, ...], *, limit: int, as_json: bool) -> None:
    """The newest sessions."""
    from touchline.sessions.records import list_sessions

    if unknown := sorted(set(statuses) - set(STATUSES)):
        raise InputError(f"--status: {', '.join(unknown)} is no status.", hint=f"Known: {', '.join(STATUSES)}.")
    with looked_at(place) as database, database.reading() as connection:
        records = list_sessions(connection, statuses=statuses, limit=limit)
    if as_json:
        print_json("touchline.sessions/1", {"sessions": [_row(record) for record in records]})
        return
    if not records:
        say("There is no such session." if statuses else "There is no session yet. Start one: touchline run TASK")
        return
    print_trimmed(console(), _listed(records))


def print_one(place: Place, name: str, *, as_json: bool) -> None:
    """One session in full."""
    from touchline.sessions.records import decisions_of_session, session_record, turns_of_session

    with looked_at(place) as database:
        with database.reading() as connection:
            record = session_record(connection, name)
            turns = turns_of_session(connection, record.id)
            decisions = decisions_of_session(connection, record.id)
        result = result_of(database, record)
    if as_json:
        print_json("touchline.session/1", _whole(result, turns, decisions))
        return
    out = console()
    out.print(text(one_line(record.asked.task, 300), "bold"))
    out.print(text(f"{record.id}, {_moment(record.created_at)}, in {record.repository}", "dim"), soft_wrap=True)
    print_result(result)
    by_turn = {decision.turn_id: decision for decision in decisions}
    for turn in turns:
        out.print()
        _print_turn(turn, by_turn.get(turn.id), workspace=record.workspace)
    out.print()
    out.print(text(f"What was said and done: {command(f'sessions log {short(record.id)}')}", "dim"))


def _print_turn(turn: TurnRecord, decision: DecisionRecord | None, *, workspace: str) -> None:
    out = console()
    head = text(f"Turn {turn.number}", "bold")
    ended = plain(turn.ended or "still runs, or was cut off")
    about = [turn.kind or "", ended, f"{turn.seconds:.1f} s" if turn.seconds is not None else ""]
    about += [f"{tokens(_tokens(turn))} tokens", _cost(turn)]
    head.append_text(text("  " + " · ".join(filter(None, about)), "dim"))
    out.print(head)
    rows = [
        ("told", one_line(turn.prompt, 150)),
        ("said", one_line(turn.final_text, 300)),
        ("ended", one_line(turn.stopped or (turn.end_detail if turn.ended != "finished" else ""), 200)),
        ("check", _check(turn)),
    ]
    if decision is not None:
        run = decision.evidence.get("last_test_run")
        rows.append(("tests", run_words(run) if isinstance(run, dict) else ""))
        rows.append(("decided", f"{decision.action}: {plain(decision.reason)}"))
        tier = f"[{decision.tier}] " if decision.tier else ""
        rows.append(("words", tier + one_line(decision.message, 600) if decision.message else ""))
    grid = _grid()
    for name, value in rows:
        if value:
            grid.add_row(text(f"  {name:<7}", "dim"), text(value.replace(f"{workspace}/", "") if workspace else value))
    print_trimmed(out, grid)
    if turn.raw_path:
        # In one piece, so that it can be copied.
        out.print(text(f"  raw      {turn.raw_path}", "dim"), soft_wrap=True)


def _listed(records: tuple[SessionRecord, ...]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Session", no_wrap=True)
    table.add_column("Began", no_wrap=True)
    table.add_column("Status", no_wrap=True)
    table.add_column("Agent", no_wrap=True)
    table.add_column("Turns", justify="right", no_wrap=True)
    table.add_column("Tokens", justify="right", no_wrap=True)
    table.add_column("Cost", justify="right", no_wrap=True)
    # The one column that gives way where there is little room; the text itself keeps to its line.
    table.add_column("Task")
    for record in records:
        stands = record.delivery or record.status
        task = text(one_line(record.asked.task, 60))
        task.no_wrap, task.overflow = True, "ellipsis"
        table.add_row(
            text(short(record.id), "cyan"),
            _moment(record.created_at),
            text(stands, _TONES.get(stands, "")),
            text(record.agent or "–"),
            str(record.spent.get("turns", record.turns)),
            tokens(int(record.spent.get("tokens", 0))),
            dollars(record.spent.get("usd"), estimated=bool(record.spent.get("estimated"))),
            task,
        )
    return table


def _row(record: SessionRecord) -> dict[str, Any]:
    return {
        "session": record.id,
        "status": record.status,
        "delivery": record.delivery,
        "reason": record.reason,
        "task": record.asked.task,
        "agent": record.agent,
        "repository": record.repository,
        "turns": record.spent.get("turns", record.turns),
        "spent": dict(record.spent),
        "created_at": record.created_at.isoformat(),
        "ended_at": record.ended_at.isoformat() if record.ended_at else None,
    }


def _whole(result: Result, turns: tuple[TurnRecord, ...], decisions: tuple[DecisionRecord, ...]) -> dict[str, Any]:
    record = result.record
    return {
        **as_json(result),
        "asked": record.asked.to_json(),
        "workspace": record.workspace,
        "base_commit": record.base_commit,
        "head_commit": record.head_commit,
        "cli_session": record.cli_session_id,
        "runs": record.runs,
        "created_at": record.created_at.isoformat(),
        "ended_at": record.ended_at.isoformat() if record.ended_at else None,
        "turns": [_turn_json(turn) for turn in turns],
        "decisions": [
            {
                "turn": next((turn.number for turn in turns if turn.id == each.turn_id), None),
                "action": each.action,
                "reason": each.reason,
                "message": each.message,
                "tier": each.tier,
                "evidence": dict(each.evidence),
                "at": each.at.isoformat(),
            }
            for each in decisions
        ],
    }


def _turn_json(turn: TurnRecord) -> dict[str, Any]:
    from touchline.sessions.spending import cost_estimated

    return {
        "number": turn.number,
        "kind": turn.kind,
        "told": turn.prompt,
        "said": turn.final_text,
        "ended": turn.ended,
        "stopped": turn.stopped,
        "exit_code": turn.exit_code,
        "beginnings": turn.beginnings,
        "cli_session": turn.cli_session_id,
        "usage": dict(turn.usage),
        "cost_usd": turn.cost_usd,
        "cost_estimated": cost_estimated(turn),
        "seconds": turn.seconds,
        "check": dict(turn.check_run) or None,
        "raw": turn.raw_path,
        "started_at": turn.started_at.isoformat(),
    }


def _cost(turn: TurnRecord) -> str:
    from touchline.sessions.spending import cost_estimated

    return "" if turn.cost_usd is None else dollars(turn.cost_usd, estimated=cost_estimated(turn))


def _check(turn: TurnRecord) -> str:
    from touchline.sessions.checks import CheckRun

    run = CheckRun.from_json(turn.check_run)
    return "" if run is None else f"{run.command}: {'passed' if run.verified else 'no pass'}, {run.why()}"


def _tokens(turn: TurnRecord) -> int:
    from touchline.sessions.raw import usage_from_json

    return sum(each.total for each in usage_from_json(turn.usage).values())


def _grid() -> Table:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _moment(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
