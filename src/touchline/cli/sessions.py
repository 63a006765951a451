"""`touchline sessions`: what became of supervised sessions, and a person's words to them."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of

sessions = typer.Typer(
    help="Supervised sessions: list, show, follow, resume, stop, log.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="An id may be shortened: its beginning, or that of its last part, is enough.",
)

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="Its id, or enough of it.")]


@sessions.command("list")
def list_them(
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="STATUS", help="Only those: running, waiting, stopped ... May be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="How many, newest first.")] = 20,
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """Which sessions are there? Newest first.

    \b
    Examples:
      touchline sessions list
      touchline sessions list --status waiting --status running
    """
    from touchline.cli.sessions_output import print_list

    print_list(place_of(database), tuple(status or ()), limit=limit, as_json=as_json)


@sessions.command("show")
def show(session: SessionArgument, as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """What happened in a session: result, turns, decisions, coaching, evidence, cost, and where the raw streams are."""
    from touchline.cli.sessions_output import print_one

    print_one(place_of(database), session, as_json=as_json)


@sessions.command("follow")
def follow(
    session: SessionArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Events as JSON lines, and the result as the last.")] = False,
    database: DatabaseOption = "",
) -> None:
    """Watch a session until it rests, and show its result. Runs it when nothing else does.

    Ctrl-C stops the session, as it does in `touchline run`. Exit codes as of `touchline run`.
    """
    from touchline.cli.run_session import accompany
    from touchline.cli.sessions_words import found, require

    place = place_of(database)
    require(place)
    raise typer.Exit(accompany(place, lambda post: found(post, session), as_json=as_json))


@sessions.command("resume")
def resume(
    session: SessionArgument,
    message: Annotated[
        str, typer.Argument(metavar="[MESSAGE]", help="The answer it waits for, or what it shall do next.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Events as JSON lines, and the result as the last.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Tell it, and return.")] = False,
    database: DatabaseOption = "",
) -> None:
    """Go on with a session that waits, was stopped, failed or was delivered, in the agent's own conversation.

    \b
    Examples:
      touchline sessions resume 4f9e21 "Use the decimal module"
      touchline sessions resume 4f9e21
    """
    from touchline.cli.sessions_words import resumed

    raise typer.Exit(resumed(place_of(database), session, message, as_json=as_json, wait=not no_wait))


@sessions.command("stop")
def stop(session: SessionArgument, as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """Stop a session, whichever process runs it. What the agent did is kept; `resume` goes on.

    \b
    Exit codes:
      0  it has stopped, or had ended before
      1  it has not stopped within 60 s
    """
    from touchline.cli.sessions_words import stopped

    raise typer.Exit(stopped(place_of(database), session, as_json=as_json))


@sessions.command("log")
def log(
    session: SessionArgument,
    turn: Annotated[int | None, typer.Option("--turn", min=1, metavar="N", help="Only this turn.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The raw stream of the CLI, line by line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line: turn, kind, text ...")] = False,
    database: DatabaseOption = "",
) -> None:
    """What was said and done, turn by turn: the agent's words, its calls and their results, shortened."""
    from touchline.cli.sessions_log import print_log

    print_log(place_of(database), session, turn=turn, raw=raw, as_json=as_json)
