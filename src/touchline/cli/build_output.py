"""How does a build read, in a terminal and as JSON?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchline.audit.figures import plain
from touchline.cli.build_view import cost_words, note_of, state_words, task_table
from touchline.cli.place import command, looked_at
from touchline.cli.progress_view import print_trimmed
from touchline.cli.sheet import print_facts, print_json
from touchline.cli.terminal import console, text
from touchline.store.columns import written

if TYPE_CHECKING:
    from touchline.roles.build.overview import Overview, TaskOverview
    from touchline.store.place import Place


def print_status(place: Place, build: str, *, as_json: bool) -> None:
    """How a build stands now."""
    from touchline.roles.build.overview import overview_of

    with looked_at(place) as database, database.reading() as connection:
        seen = overview_of(connection, build)
    if as_json:
        print_json("touchline.build/1", build_json(seen))
    else:
        print_seen(seen)


def print_end(seen: Overview) -> None:
    """How it ended, or why it is left."""
    console().print()
    print_seen(seen)


def print_seen(seen: Overview) -> None:
    row = seen.build
    state = row.status + (
        f" ({plain(row.reason)})" if row.reason and row.reason not in ("started", "completed") else ""
    )
    validation = row.result.get("validation") or {}
    print_facts(
        {
            "build": row.id,
            "status": state,
            "why": row.detail,
            "specification": row.spec_id or "",
            "repository": row.repository,
            "cost": cost_words(seen),
        }
    )
    console().print()
    print_trimmed(console(), task_table(seen, width=console().width))
    if alone := _unreviewed(seen):
        print_trimmed(console(), text(f"Nobody has reviewed {', '.join(alone)}: no model is configured.", "yellow"))
    for question in seen.questions:
        console().print()
        print_trimmed(console(), text(question.text, "yellow"))
        print_trimmed(console(), text(f"Answer with: {command(f'inbox answer {question.id}')}", "bold"))
    for result in validation.get("results", ()):
        print_trimmed(console(), text(f"{result['name']}: {result['outcome']}. {result['why']}", "dim"))
    console().print()
    print_trimmed(console(), text(_next_step(seen), "bold"))


def _unreviewed(seen: Overview) -> list[str]:
    """Tasks that are complete and whose change nobody but their author has read."""
    found = []
    for each in seen.tasks:
        read = [review["verdict"] for review in each.row.data.get("reviews", ()) if review["of"] == "code"]
        if each.row.task.status == "complete" and read and read[-1] == "unreviewed":
            found.append(each.row.task.id)
    return found


def _next_step(seen: Overview) -> str:
    row = seen.build
    if row.status == "complete":
        return f"Look at it and bring it into your branch: {command(f'apply {row.id}')}"
    if seen.answered:
        return f"Go on with what was answered: {command(f'build follow {row.id}')}"
    if seen.questions:
        return f"It waits for you: {command('inbox list')}"
    if row.ended:
        return f"Go on with: {command(f'build resume {row.id}')}"
    return f"Watch it: {command(f'build follow {row.id}')}"


def build_json(seen: Overview) -> dict[str, Any]:
    """A build as `--json` prints it."""
    row = seen.build
    return {
        "id": row.id,
        "spec": row.spec_id,
        "status": row.status,
        "reason": row.reason,
        "detail": row.detail,
        "wanted": row.wanted,
        "repository": row.repository,
        "workshop": row.workshop,
        "base": row.base_commit,
        "head": row.head_commit,
        "runs": row.runs,
        "created_at": written(row.created_at),
        "started_at": None if row.started_at is None else written(row.started_at),
        "ended_at": None if row.ended_at is None else written(row.ended_at),
        "settings": row.settings.to_json(),
        "validation": row.result.get("validation"),
        "cost": {
            "work": seen.work.to_json(),
            "supervision": seen.supervision.to_json(),
            "total": (seen.work + seen.supervision).to_json(),
        },
        "tasks": [_task_json(each) for each in seen.tasks],
        "questions": [{"id": q.id, "text": q.text, "task": q.task_id} for q in seen.questions],
    }


def _task_json(each: TaskOverview) -> dict[str, Any]:
    row = each.row
    return {
        "id": row.task.id,
        "row": row.id,
        "title": row.task.title,
        "file": row.task.file,
        "phase": row.task.phase,
        "status": row.task.status,
        "state": str(row.state),
        "shown": state_words(each),
        "note": note_of(each),
        "reason": row.reason,
        "attempts": row.attempts,
        "commit": row.data.get("commit"),
        "sessions": list(row.sessions),
        "checks": list(row.data.get("checks", ())),
        "reviews": list(row.data.get("reviews", ())),
        "lesson": row.lesson,
        "cost": each.work.to_json(),
        "supervision": each.supervision.to_json(),
    }
