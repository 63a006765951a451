"""`touchline worker`: a process that runs the work of a database, until it is told to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, place_of, purpose


def worker(
    slots: Annotated[
        int | None,
        typer.Option("--slots", min=1, metavar="N", help="Jobs of each queue at a time. Default: as the queue says."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="How it is called in the log. Default: host and process id.")
    ] = "",
    wait: Annotated[
        float,
        typer.Option("--wait", min=0, max=3600, metavar="SECONDS", help="Wait so long for a server that is away."),
    ] = 60,
    database: DatabaseOption = "",
) -> None:
    """Run the work of a database. On PostgreSQL as many as you like, on any machines; on SQLite one per file.

    Makes the database when there is none. Ctrl-C or SIGTERM ends it kindly: what runs is finished within 20 s or handed
    back. When it is killed, others go on with its work; on SQLite the next one does.

    \b
    Exit codes:
      0  ended as asked
      1  it was silent for too long and others took over its work; start it anew
      2  it cannot run: another worker has this SQLite file, or the database cannot be reached
    """
    from touchline.cli.worker_run import run

    run(place_of(database), slots=slots, name=name, wait=wait, purpose=purpose())
