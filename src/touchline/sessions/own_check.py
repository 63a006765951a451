"""Does the check pass on what would be delivered? Takes the work first, then runs the check in the clone.

What the check writes comes too late to be part of that work. Files that the agent wrote and git ignores would not be
delivered, so that the check runs without them; what is installed beside the code, ignored or not, stays in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from touchline.agents.environment import environment_for, secrets_in
from touchline.agents.port import Driver, Level
from touchline.agents.redaction import Redactor
from touchline.agents.workspaces.undelivered import bring_back, set_aside, undelivered
from touchline.errors import TouchlineError
from touchline.sessions import snapshots
from touchline.sessions.checks import CheckRun, run_check
from touchline.sessions.delivering import collect_work
from touchline.sessions.events import about
from touchline.sessions.records import SessionRecord, TurnRecord
from touchline.sessions.room import Room
from touchline.sessions.wanted import Unwanted
from touchline.store.append import append
from touchline.store.tables import turns as turns_table
from touchline.supervision.evidence import Ledger
from touchline.supervision.tools import is_by_product


def own_check(
    room: Room, session: SessionRecord, turn: TurnRecord, driver: Driver, ledger: Ledger, must_stop: Callable[[], bool]
) -> tuple[CheckRun, dict[str, Any]]:
    """One run of the check, written down, and the work as it was taken before it."""
    folder, workspace = room.of(session.id), Path(session.workspace)
    bring_back(workspace)  # what a killed run left aside belongs to the work
    taken = collect_work(room, session.id)
    aside = _ignored(room, session, ledger, taken)
    with set_aside(workspace, aside):
        run = run_check(
            cast(str, session.asked.check),
            level=cast(Level, session.sandbox),
            workspace=workspace,
            env=environment_for(room.env, driver=driver.name, allow=session.asked.environment),
            records=room.records,
            output=folder / f"check-{turn.number}.txt",
            seconds=session.asked.check_seconds,
            must_stop=Unwanted(room, session.id, must_stop),
            redact=Redactor(secrets_in(room.env)).text,
        )
    run = replace(run, aside=aside)
    snapshots.keep(folder, "checked", turn.number, workspace)
    told = {name: value for name, value in asdict(run).items() if name not in ("tail", "outcome", "runner", "aside")}
    with room.database.writing() as connection:
        query = turns_table.update().where(turns_table.c.id == turn.id)
        connection.execute(query.values(check_run=run.to_json()))
        told |= {"number": turn.number, "verified": run.verified, "why": run.why()}
        append(connection, [about(session.id, "check.run", task_id=session.asked.task_id, **told)])
    return run, taken


def _ignored(room: Room, session: SessionRecord, ledger: Ledger, taken: Mapping[str, Any]) -> tuple[str, ...]:
    """Files that a call of the agent's wrote and that are not in the commit. What a program installed is not asked
    for: that is there to run the work, not a part of it."""
    if "commit" not in taken:
        return ()
    root = session.workspace.rstrip("/") + "/"
    wrote = (w.path.removeprefix(root).removeprefix("./") for w in ledger.writes if w.how != "snapshot")
    paths = [path for path in wrote if not path.startswith((".git/", "/")) and not is_by_product(path)]
    home, commit = Path(session.repository), str(taken["commit"])
    try:
        return undelivered(Path(session.workspace), paths, repository=home, commit=commit, env=room.env)
    except TouchlineError:
        return ()  # the repository cannot be read now: then the work cannot be delivered either, which is told there
