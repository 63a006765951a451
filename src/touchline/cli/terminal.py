"""How does the audit read in a terminal?

The report is data and goes to standard output; the progress bar and messages go to standard error, the bar only where
somebody watches. Texts from logs are shown as they are: never as markup, never as control sequences.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from touchline.audit.figures import UNKNOWN, count, dollars, plain, share, short_ids, size, tokens
from touchline.audit.findings import SessionFinding, TurnFinding, Verdict
from touchline.audit.summary import NO_PROJECT, Tally
from touchline.audit.visible import one_line, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from touchline.audit.run import Audit, Progress

_MAX_LOOPS = 10
_MAX_GROUPS = 12
_MAX_FILES = 5
_NARROW = 100
"""A report that is piped has no width of its own; this one keeps its tables readable."""
TONES = {
    Verdict.PROVED: "green",
    Verdict.NOTHING_TO_PROVE: "default",
    Verdict.UNPROVED: "yellow",
    Verdict.CONTRADICTED: "red",
}


def colours() -> Literal["auto"] | None:
    """None with NO_COLOR: rich itself would still write bold and dim, and their escape sequences."""
    return None if os.environ.get("NO_COLOR") else "auto"


def console() -> Console:
    """Standard output; colours and bold only on a terminal, and none with NO_COLOR."""
    from rich.console import Console

    piped = not sys.stdout.isatty()

    class Output(Console):
        """Leaves a closed pipe to `main`, which knows its exit code."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = _NARROW if piped else None
    return Output(color_system=colours(), highlight=False, markup=False, emoji=False, width=width, soft_wrap=False)


def say(message: str) -> None:
    """A message for the person, on standard error."""
    print(visible(message), file=sys.stderr)


@contextmanager
def progress() -> Iterator[Progress | None]:
    """A progress bar on standard error while somebody watches; otherwise nothing."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("Reading logs"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, color_system=colours()),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)

        def on_file(done: int, total: int, _path: str) -> None:
            bar.update(task, completed=done, total=total)

        yield on_file


def print_report(audit: Audit, *, given: str = "") -> None:
    """The whole report. `given` is what chose the logs, for the command that looks closer."""
    out = console()
    summary = audit.summary
    names = short_ids(session.id for session in audit.sessions)
    _print_head(out, audit)
    _print_worst(out, audit, names)
    _print_loops(out, audit.sessions, names)
    if len(summary.by_project) > 1:
        out.print(_groups("By project", summary.by_project))
        out.print()
    if summary.by_agent:
        out.print(_groups("By agent", summary.by_agent))
        out.print()
    _print_unreadable(out, audit)
    if summary.worst:
        again = " ".join(filter(None, ["touchline audit", given, "--explain", names[summary.worst[0].id]]))
        out.print(text(f"Why, call by call: {again}", "dim"), soft_wrap=True)


def text(words: str, style: str = "") -> Text:
    """Words of a log or of ours, never read as markup."""
    from rich.text import Text

    return Text(visible(words), style=style)


def _print_head(out: Console, audit: Audit) -> None:
    total = audit.summary.total
    out.print()
    out.print(text("Touchline audit", "bold green"))
    scope = (
        f"{count(total.sessions, 'session')}, {count(total.turns, 'turn')}, {count(total.calls, 'tool call')} "
        f"from {count(audit.files, 'file')} ({size(audit.bytes)})"
    )
    out.print(text(scope, "dim"))
    out.print()
    for line in _headlines(total):
        out.print(line)
    out.print()


def _headlines(total: Tally) -> Iterator[Text]:
    if not total.completions:
        yield text("  No turn claimed to be done.")
    else:
        of = f" of {count(total.completions, 'completion')}"
        rows = (
            (total.contradicted, "contradicted by the log", total.share_contradicted, "bold red"),
            (total.unproved, "without proof", total.share_unverified, "bold yellow"),
            (total.proved, "proved", total.proved / total.completions, "green"),
            (total.nothing_to_prove, "with nothing to prove", total.nothing_to_prove / total.completions, "default"),
        )
        for number, words, part, style in rows:
            line = text(f"  {number:>5,}", style if number else "dim")
            line.append(f"  {words}{of}", style="" if number else "dim")
            line.append(f"  {share(part)}", style="dim")
            yield line
    line = text(f"  {total.loops:>5,}", "bold yellow" if total.loops else "dim")
    line.append(f"  {'loop' if total.loops == 1 else 'loops'} in {count(total.looping_sessions, 'session')}")
    yield line
    if total.bad_ends:
        line = text(f"  {total.bad_ends:>5,}", "bold")
        line.append(f"  {'turn' if total.bad_ends == 1 else 'turns'} cut off (crash, error, or no end in the log)")
        yield line
    line = text(f"  {tokens(total.tokens_wasted):>5}", "bold yellow" if total.tokens_wasted else "dim")
    line.append(f"  tokens spent after a loop began, of {tokens(total.tokens)}")
    line.append(f"  {share(total.share_wasted)}", style="dim")
    if total.cost_usd is not None:
        line.append(f"  {dollars(total.cost_wasted_usd)} of {dollars(total.cost_usd)} known cost", style="dim")
    yield line


def _print_worst(out: Console, audit: Audit, names: Mapping[str, str]) -> None:
    ranked = audit.summary.worst
    if not ranked:
        return
    out.print(text("Sessions worth a look", "bold"))
    for place, one in enumerate(ranked, start=1):
        session = audit.sessions[one.session]
        line = text(f"  {place:>2}. ", "dim")
        line.append_text(text(names[session.id] or UNKNOWN, "bold cyan"))
        line.append(f"  {session.agent}", style="dim")
        line.append_text(text(f"  {_tail(session.project or NO_PROJECT, 48)}"))
        line.append(f"  score {one.score:g}", style="dim")
        out.print(line, no_wrap=True, overflow="ellipsis")
        out.print(text("      " + ", ".join(reason.why for reason in one.because), "yellow"))
        told = _most_telling(session)
        if told is not None:
            for said in _told(told):
                out.print(said, no_wrap=True, overflow="ellipsis")
    out.print()


def _most_telling(session: SessionFinding) -> TurnFinding | None:
    for verdict in (Verdict.CONTRADICTED, Verdict.UNPROVED):
        for turn in session.turns:
            if turn.verdict is verdict:
                return turn
    return None


def _told(turn: TurnFinding) -> Iterator[Text]:
    doubtful = [claim for claim in turn.claims if claim.standing != "proved"]
    said = doubtful[0].quote if doubtful else turn.final_text
    yield text(f"      said:  “{one_line(said, 80)}”")
    because = next((claim.because for claim in doubtful if claim.because), "") or next(
        iter(turn.evidence), ", ".join(map(plain, turn.rejected))
    )
    yield text(f"      shown: {one_line(because, 90)}", "dim")


def _print_loops(out: Console, sessions: Sequence[SessionFinding], names: Mapping[str, str]) -> None:
    found = sorted(
        ((session, loop) for session in sessions for loop in session.loops),
        key=lambda pair: (-pair[1].tokens_after, pair[0].id, pair[1].began),
    )
    if not found:
        return
    table = _table("Loops", ("Session", "Rule", "Began with", "At call", "Tokens after", "Cost after"), right=3)
    for session, loop in found[:_MAX_LOOPS]:
        table.add_row(
            text(names[session.id]),
            plain(loop.rule),
            text(one_line(loop.call, 60)),
            str(loop.began),
            tokens(loop.tokens_after),
            dollars(loop.cost_after_usd),
        )
    out.print(table)
    if len(found) > _MAX_LOOPS:
        out.print(text(f"  and {len(found) - _MAX_LOOPS:,} more; --html or --json lists them", "dim"))
    out.print()


def _groups(title: str, tallies: Sequence[Tally]) -> RenderableType:
    heads = ("", "Sessions", "Done", "Un-\nproved", "Contra-\ndicted", "Loops", "Tokens", "After\na loop", "Cost")
    table = _table(title, heads, right=1)
    for tally in tallies[:_MAX_GROUPS]:
        table.add_row(
            text(_tail(tally.name, 34)),
            f"{tally.sessions:,}",
            f"{tally.completions:,}",
            share(tally.share_unverified),
            share(tally.share_contradicted),
            f"{tally.loops:,}",
            tokens(tally.tokens),
            share(tally.share_wasted),
            dollars(tally.cost_usd),
        )
    if len(tallies) > _MAX_GROUPS:
        table.add_row(text(f"and {len(tallies) - _MAX_GROUPS:,} more", "dim"))
    return table


def _print_unreadable(out: Console, audit: Audit) -> None:
    files = audit.unreadable
    if not files:
        return
    out.print(text(f"Not audited: {count(len(files), 'file')}", "bold"))
    for one in files[:_MAX_FILES]:
        out.print(text(f"  {_tail(one.path, 60)}: {one_line(one.why, 100)}", "dim"))
    if len(files) > _MAX_FILES:
        out.print(text(f"  and {len(files) - _MAX_FILES:,} more; --json lists them", "dim"))
    out.print()


def _table(title: str, heads: Sequence[str], *, right: int) -> Table:
    """A table without frames; columns from `right` on hold numbers."""
    from rich.table import Table

    table = Table(box=None, title=title, title_justify="left", title_style="bold", pad_edge=True, header_style="dim")
    for place, head in enumerate(heads):
        number = place >= right
        table.add_column(
            head, justify="right" if number else "left", no_wrap=number, overflow="ellipsis" if not number else "fold"
        )
    return table


def _tail(path: str, limit: int) -> str:
    """A path cut in front: its end tells most."""
    line = one_line(path, 4096)
    return line if len(line) <= limit else "…" + line[-(limit - 1) :]
