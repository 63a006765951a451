"""`touchline events`: the log of everything that happened, as a list or as it grows."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, place_of

events = typer.Typer(
    help="The event log: list what happened, or follow it as it happens.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Every event type with its payload: docs/reference/events.md",
)

TypeOption = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="PATTERN", help="Only this type; * stands for anything: task.*. May be repeated."),
]
SourceOption = Annotated[
    list[str] | None, typer.Option("--source", metavar="NAME", help="Only from this component. May be repeated.")
]
BuildOption = Annotated[str, typer.Option("--build", metavar="ID", help="Only about this build.")]
TaskOption = Annotated[str, typer.Option("--task", metavar="ID", help="Only about this task.")]
SessionOption = Annotated[str, typer.Option("--session", metavar="ID", help="Only about this session.")]
SinceOption = Annotated[
    str, typer.Option("--since", metavar="WHEN", help="Only since: 24h, 7d, 2w, 2026-03-01, 2026-03-01T10:00Z.")
]
AfterOption = Annotated[
    int | None, typer.Option("--after", min=0, max=2**63 - 1, metavar="SEQ", help="Only after this number.")
]
LinesOption = Annotated[bool, typer.Option("--json", help="One JSON object per line (schema touchline.event/1).")]


@events.command("list")
def list_events(
    kind: TypeOption = None,
    source: SourceOption = None,
    build: BuildOption = "",
    task: TaskOption = "",
    session: SessionOption = "",
    since: SinceOption = "",
    after: AfterOption = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", min=1, max=1_000_000, metavar="N", help="How many: the newest, or with --after the next ones."
        ),
    ] = 50,
    as_json: LinesOption = False,
    database: DatabaseOption = "",
) -> None:
    """What happened? The newest events, oldest of them first.

    \b
    Examples:
      touchline events list
      touchline events list --type 'task.*' --since 24h
      touchline events list --after 1200 --json | jq .payload
    """
    from touchline.cli.event_output import print_list, wanted

    asked = wanted(kind, source, build=build, task=task, session=session, since=since)
    print_list(place_of(database), asked, after=after, limit=limit, as_json=as_json)


@events.command("follow")
def follow_events(
    kind: TypeOption = None,
    source: SourceOption = None,
    build: BuildOption = "",
    task: TaskOption = "",
    session: SessionOption = "",
    since: SinceOption = "",
    after: AfterOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="End after so many. Default: go on until Ctrl-C.")
    ] = None,
    as_json: LinesOption = False,
    database: DatabaseOption = "",
) -> None:
    """Print events as they happen, whoever writes them, until Ctrl-C. Begins now, or at --after or --since.

    \b
    Examples:
      touchline events follow
      touchline events follow --type 'alert.*' --json
      touchline events follow --type build.completed --limit 1    wait for it
    """
    from touchline.cli.event_output import print_as_they_come, wanted

    asked = wanted(kind, source, build=build, task=task, session=session, since=since)
    print_as_they_come(place_of(database), asked, after=after, limit=limit, as_json=as_json)
