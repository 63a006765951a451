"""How did each decision of one session come about? `touchline audit --explain`: call by call, claim by claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from touchline.audit.figures import count, dollars, moment, plain, share, tokens
from touchline.audit.findings import CallFinding, LoopFinding, SessionFinding, TurnFinding
from touchline.cli.terminal import TONES, console, text

if TYPE_CHECKING:
    from rich.text import Text

    Row = tuple[str, Text]

_STANDING = {"proved": "green", "unproved": "yellow", "contradicted": "red"}


def print_session(session: SessionFinding) -> None:
    """Everything about one session."""
    from rich.table import Table

    out = console()
    out.print()
    out.print(text(f"Session {session.id}", "bold green"))
    for rows in (_head(session), *(_turn(turn, session.loops) for turn in session.turns)):
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, words in rows:
            table.add_row(f"  {name}", words)
        out.print(table)
        out.print()


def _head(session: SessionFinding) -> Iterator[Row]:
    yield "agent", text(" ".join((session.agent, *session.models)))
    yield "project", text(session.project or "not in the log")
    yield "log", text(session.path)
    yield "time", text(f"{moment(session.started_at)} to {moment(session.ended_at)}")
    spent = f"{tokens(session.usage.total)} tokens, {dollars(session.cost_usd)}"
    yield "spent", text(f"{spent}; after a loop began: {tokens(session.tokens_wasted)}")


def _turn(turn: TurnFinding, loops: tuple[LoopFinding, ...]) -> Iterator[Row]:
    title = text(f"Turn {turn.number}", "bold")
    title.append_text(
        text(f"  {moment(turn.started_at)}, {count(turn.calls, 'call')}, {tokens(turn.usage.total)} tokens", "dim")
    )
    yield "", title
    yield from _said("asked", turn.prompt)
    for call in turn.call_list:
        yield f"call {call.number}", _call(call)
    yield from _said("said", turn.final_text)
    yield "ended", text(plain(turn.ended) + (f" ({turn.end_detail})" if turn.end_detail else ""))
    yield "stop", text(f"{plain(turn.kind)}, {share(turn.confidence)} sure, by the rule {turn.kind_reason}")
    for claim in turn.claims:
        line = text(f"{claim.standing}: ", _STANDING.get(claim.standing, ""))
        line.append_text(text(f"“{claim.quote}”"))
        if claim.because:
            line.append_text(text(f"  {claim.because}", "dim"))
        yield f"claim {plain(claim.what)}", line
    for hedge in turn.hedges:
        yield "hedge", text(f"“{' '.join(hedge.split())}”")
    for shown in turn.evidence:
        yield "ledger", text(shown)
    for warning in turn.warnings:
        yield "warning", text(warning, "yellow")
    for loop in loops:
        if loop.turn == turn.number:
            yield from _loop(loop)
    if turn.verdict is not None:
        yield "verdict", text(plain(turn.verdict), TONES[turn.verdict])
    for why in turn.rejected:
        yield "because", text(plain(why))
    yield "decision", text(f"{plain(turn.action)} ({plain(turn.reason)})", "bold")
    yield from _said("coach", turn.coaching)
    yield from _said("to a person", turn.notice)
    if turn.unread:
        yield "unread", text(f"{count(turn.unread, 'line')} of the log could not be used", "dim")


def _loop(loop: LoopFinding) -> Iterator[Row]:
    refused = ", where it would have been refused" if loop.refused else ""
    words = f"{plain(loop.rule)}: began at call {loop.began}, recognised at call {loop.recognised}{refused}; "
    after = f"{tokens(loop.tokens_after)} tokens and {dollars(loop.cost_after_usd)} followed"
    yield "loop", text(words + after, "yellow")
    yield from _said("coach then", loop.coaching)


def _call(call: CallFinding) -> Text:
    if not call.answered:
        outcome, style = "no answer in the log", "yellow"
    elif call.exit_code is not None:
        outcome, style = f"exit {call.exit_code}", "red" if call.failed else "green"
    else:
        outcome, style = ("failed", "red") if call.failed else ("ok", "green")
    line = text(f"{call.summary}  ")
    line.append_text(text(outcome, style))
    return line


def _said(name: str, words: str) -> Iterator[Row]:
    if words:
        yield name, text(words)
