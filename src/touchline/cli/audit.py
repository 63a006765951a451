"""`touchline audit`: what happened in past sessions of coding agents?

Reads, and writes nothing but what is asked for. The report goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from touchline.cli.exits import Exit
from touchline.errors import InputError

if TYPE_CHECKING:
    from touchline.audit.run import Audit
    from touchline.audit.selection import Chosen, Filters


class FailOn(StrEnum):
    """What makes `--fail-on` end with exit code 1."""

    CONTRADICTED = "contradicted"
    UNVERIFIED = "unverified"
    LOOPS = "loops"


def audit(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", help="Session logs, or folders searched for them. Default: the agents' own folders."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON (schema touchline.audit/1).")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write the report as one self-contained page.")
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="Only sessions active since: 24h, 7d, 2w, 2026-03-01.")
    ] = "",
    project: Annotated[
        str, typer.Option("--project", metavar="TEXT", help="Only sessions whose working folder contains TEXT.")
    ] = "",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", metavar="NAME", help="Only this agent: claude, codex, gemini, opencode. May be repeated."
        ),
    ] = None,
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="SESSION",
            help="Every decision of one session with its evidence; its id, or how it begins.",
        ),
    ] = "",
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="End with exit code 1 when any is found: contradicted, unverified (contradicted included), loops. "
            "May be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="How many of the worst sessions to show.")
    ] = 10,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, metavar="N", help="Worker processes. Default: one per processor core."),
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="Audit the sample sessions that come with Touchline.")
    ] = False,
) -> None:
    """Check past sessions of coding agents: which “done” had proof, which did not, where they went in circles.

    Reads the logs that Claude Code, Codex, Gemini CLI and OpenCode keep on this machine. Offline, without a key or an
    account; changes nothing.

    \b
    Examples:
      touchline audit                                  everything on this machine
      touchline audit --since 7d --html audit.html     the last week, as a page
      touchline audit --project shop --agent claude    one project, one agent
      touchline audit --explain 3f2a                   one session, call by call
      touchline audit logs/ --json | jq .summary.total
      touchline audit --since 24h --fail-on contradicted    for a nightly job

    \b
    Exit codes:
      0  the audit was made
      1  --fail-on found what it names
      2  wrong usage: no such path, a bad value
      3  nothing to audit was found
    """
    from touchline.audit.selection import choose

    chosen_paths = _paths(paths or [], samples)
    filters = _filters(since, project, agent or [])
    chosen = choose(chosen_paths, filters=filters)
    if not chosen.logs and not chosen.unreadable:
        _nothing(chosen_paths, filters)
    result = _run(chosen, filters, jobs=jobs, limit=limit, with_calls=bool(explain))
    given = "--samples" if samples else shlex.join(map(str, paths or []))
    show(result, as_json=as_json, html=html, explain=explain, given=given)
    if not result.sessions and not explain:
        _nothing(chosen_paths, filters)
    if any(_found(one, result) for one in fail_on or []):
        raise typer.Exit(Exit.FOUND)


def show(result: Audit, *, as_json: bool, html: Path | None, explain: str = "", given: str = "") -> None:
    """Print the report, and write the page where one is asked for. `given` is what chose the logs."""
    from datetime import datetime

    from touchline.cli import terminal

    made_at = datetime.now().astimezone()
    if html is not None:
        from touchline.audit.page import write_page

        write_page(result, html, made_at=made_at)
    if as_json:
        from touchline.audit.report import report_text

        result = _only(result, explain) if explain else result
        for piece in report_text(result, made_at=made_at):
            sys.stdout.write(piece)
    elif explain:
        from touchline.cli.explain import print_session

        for session in _only(result, explain).sessions:
            print_session(session)
    elif result.sessions or result.unreadable:
        terminal.print_report(result, given=given)
    if html is not None:
        terminal.say(f"Page written: {html}")


def _run(chosen: Chosen, filters: Filters, *, jobs: int | None, limit: int, with_calls: bool) -> Audit:
    from touchline.audit.run import audit as run_audit
    from touchline.cli.terminal import progress

    with progress() as on_file:
        return run_audit(
            chosen,
            filters=filters,
            jobs=jobs or _cores(),
            worst=limit,
            with_calls=with_calls,
            progress=on_file,
        )


def _paths(paths: list[Path], samples: bool) -> list[Path]:
    if samples and paths:
        raise InputError("--samples and a path cannot be given together.", hint="Leave one of them out.")
    if samples:
        from touchline.audit.samples import SAMPLES

        return [SAMPLES]
    return paths


def _filters(since: str, project: str, agents: list[str]) -> Filters:
    from datetime import datetime

    from touchline.audit.selection import Filters, parse_since
    from touchline.transcripts import CLIS

    for name in agents:
        if name not in CLIS:
            raise InputError(f"--agent: {name!r} is not known.", hint=f"Known agents: {', '.join(sorted(CLIS))}.")
    moment = parse_since(since, now=datetime.now().astimezone()) if since else None
    return Filters(since=moment, project=project, agents=tuple(dict.fromkeys(agents)))


def _only(result: Audit, wanted: str) -> Audit:
    """The audit of the one session that is asked for."""
    from dataclasses import replace

    from touchline.audit.summary import summarise

    exact = tuple(session for session in result.sessions if session.id == wanted)
    found = exact or tuple(session for session in result.sessions if session.id.startswith(wanted))
    ids = sorted({session.id for session in found})
    if not found:
        raise InputError(f"--explain: no session begins with {wanted!r}.", hint="`touchline audit` shows the ids.")
    if len(ids) > 1:
        listed = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
        raise InputError(f"--explain: {wanted!r} fits {len(ids)} sessions.", hint=f"Give more of the id: {listed}")
    return replace(result, sessions=found, summary=summarise(found))


def _nothing(paths: list[Path], filters: Filters) -> NoReturn:
    from touchline.cli.terminal import say

    narrowed = bool(filters.since or filters.project or filters.agents)
    say("Nothing to audit was found" + (" that the filters let through." if narrowed else "."))
    if paths:
        say("Looked in: " + ", ".join(map(str, paths)))
    else:
        from touchline.transcripts.find import log_folders

        say("Looked in:")
        for cli, folders in log_folders(Path.home(), os.environ).items():
            for folder in folders:
                say(f"  {cli:<9} {folder}{'' if folder.exists() else '  (not there)'}")
        say("Give a path to look elsewhere, or see `touchline demo`.")
    raise typer.Exit(Exit.NOTHING)


def _found(what: FailOn, result: Audit) -> bool:
    total = result.summary.total
    match what:
        case FailOn.CONTRADICTED:
            return total.contradicted > 0
        case FailOn.UNVERIFIED:
            return total.unproved + total.contradicted > 0
        case FailOn.LOOPS:
            return total.loops > 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
