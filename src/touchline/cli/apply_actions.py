"""What does `touchline apply` do, step by step? Looks the run up, settles what was killed, shows, asks, applies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from touchline.agents.workspaces.applying import Applied, Settled, apply_work, branch_off, interrupted, settle
from touchline.agents.workspaces.proposal import Proposal, operation_under_way, propose
from touchline.audit.visible import one_line
from touchline.cli.asking import may_ask
from touchline.cli.diff_output import print_patch, print_proposal, proposal_json
from touchline.cli.exits import Exit
from touchline.cli.place import command, looked_at
from touchline.cli.sheet import print_json
from touchline.cli.terminal import say
from touchline.errors import InputError, WorkspaceError

if TYPE_CHECKING:
    from touchline.store.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that can be applied."""

    id: str
    repository: Path
    base: str
    commit: str
    task: str = ""
    accepted: bool = True
    """False when its work was not found to be done, or it has not come to its end."""
    why: str = ""
    """How it stands, where it was not accepted."""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for on the command line."""

    yes: bool = False
    dry_run: bool = False
    branch: str = ""
    patch: bool = False
    as_json: bool = False


def run_named(place: Place, name: str) -> Run:
    """The session or the build of a database, by its id or the beginning of it."""
    from touchline.cli.build_apply import PREFIX, built
    from touchline.sessions.records import session_record

    if name.startswith(PREFIX):
        return built(place, name)

    with looked_at(place) as database, database.reading() as connection:
        record = session_record(connection, name)
    if not record.head_commit or not record.base_commit:
        raise InputError(
            f"The run {record.id} has brought no work yet; it is {record.status}.",
            hint=f"See: {command(f'sessions show {record.id}')}",
        )
    return Run(
        id=record.id,
        repository=Path(record.repository),
        base=record.base_commit,
        commit=record.head_commit,
        task=record.asked.task,
        accepted=record.status == "delivered" and record.delivery == "accepted",
        why=record.detail or record.reason or record.status,
        missing=tuple(map(str, record.result.get("missing", ()))) if record.status == "delivered" else (),
    )


def apply_run(run: Run, wanted: Wanted) -> None:
    """Show and apply; leaves with an exit code when nothing was applied."""
    settled = None
    if wanted.dry_run:
        if interrupted(run.repository, env=os.environ):
            say("An apply was interrupted here; the next one, without --dry-run, finishes or undoes it first.")
    elif settled := settle(run.repository, env=os.environ):
        say(_settled_words(settled))
    proposal = propose(run.repository, run.commit, run.base, env=os.environ)
    if not wanted.as_json:
        print_proposal(run.id, run.task, proposal, branch=wanted.branch)
        if not run.accepted:
            _warn(run)
        if wanted.patch:
            print_patch(proposal)
    applied = None
    code = _refusal(proposal, wanted)
    if code is None and not wanted.dry_run:
        _ask(run, proposal, wanted)
        applied = _applied(run, proposal, wanted)
    if wanted.as_json:
        told = {"accepted": run.accepted, "why": run.why if not run.accepted else None, "missing": list(run.missing)}
        value = proposal_json(run.id, proposal, applied, settled, dry_run=wanted.dry_run)
        print_json("touchline.apply/1", {**value, **told})
    elif applied is not None:
        typer.echo(_applied_words(proposal, applied))
        if applied.kept:
            say("Left as they are, look at them with git status: " + ", ".join(applied.kept))
    if code is not None:
        raise typer.Exit(code)


def _refusal(proposal: Proposal, wanted: Wanted) -> Exit | None:
    """Why nothing can be applied, as an exit code with a message; None when it can."""
    if proposal.how == "nothing":
        say("The run changed nothing.")
        return Exit.NOTHING
    if wanted.branch:
        return None
    match proposal.how:
        case "already":
            say("This is in your branch already; nothing to do.")
            return Exit.DONE
        case "conflict":
            say("Both you and the agent changed the same places, so nothing was applied:")
            for path in proposal.conflicts:
                say(f"  {one_line(path, 300)}")
            say("Put it on a branch and merge it yourself: add --branch NAME, then git merge NAME")
            return Exit.FOUND
        case "no-branch":
            raise WorkspaceError(
                f"{proposal.repository.root} has no checkout with a commit that work could go into.",
                hint="Put it on a branch: --branch NAME",
            )
        case _:
            pass
    if what := operation_under_way(proposal.repository):
        say(f"A {what} is under way in {proposal.repository.root}. Finish it, or give it up: git {what} --abort")
        return Exit.FOUND
    if proposal.overlaps:
        say("You have changes of your own in files that would be replaced, so nothing was applied:")
        for each in proposal.overlaps:
            say(f"  {one_line(each, 300)}")
        say("Commit or stash them first (git stash), or add --branch NAME")
        return Exit.FOUND
    return None


def _warn(run: Run) -> None:
    """Nobody takes over by accident what was not found to be done."""
    from touchline.cli.terminal import console, text

    out = console()
    out.print(text(f"This work was not accepted: {one_line(run.why, 300)}", "bold yellow"))
    for each in run.missing:
        out.print(text(f"  ! {one_line(each, 300)}", "yellow"))


def _ask(run: Run, proposal: Proposal, wanted: Wanted) -> None:
    if wanted.yes:
        return
    if wanted.as_json or not may_ask():
        raise InputError(
            "Nobody is there to be asked, so nothing was applied.", hint="Look with --dry-run, then apply with --yes."
        )
    place = f"a new branch {wanted.branch}" if wanted.branch else proposal.ref.removeprefix("refs/heads/")
    marked = len({risk.path for risk in proposal.risks})
    question = f"Apply to {place}" + (f", with {marked} marked files" if marked else "")
    question += "" if run.accepted else ", although it was not accepted"
    if not typer.confirm(question + "?", default=run.accepted and not marked, err=True):
        say("Not applied.")
        raise typer.Exit(Exit.FOUND)


def _applied(run: Run, proposal: Proposal, wanted: Wanted) -> Applied:
    if wanted.branch:
        return branch_off(proposal, wanted.branch, run=run.id)
    title = " ".join(run.task.split())[:60]
    message = f"Apply the work of run {run.id}" + (f": {title}" if title else "")
    return apply_work(proposal, run=run.id, env=os.environ, message=message)


def _applied_words(proposal: Proposal, applied: Applied) -> str:
    name = applied.ref.removeprefix("refs/heads/")
    if applied.before == applied.after:
        return f"The branch {name} has it already."
    if not applied.before:
        return f"Put on the branch {name} ({applied.after[:12]}). See it: git diff {proposal.base[:12]} {name}"
    how = {"merge": " by a merge", "pick": " as one commit"}.get(proposal.how, "")
    undo = f"Undo: git reset --keep {applied.before[:12]}"
    return f"Applied to {name}{how}: {applied.before[:12]} → {applied.after[:12]}. {undo}"


def _settled_words(settled: Settled) -> str:
    match settled.how:
        case "finished":
            kept = f" Left as they are: {', '.join(settled.kept)}." if settled.kept else ""
            return f"An apply of {settled.run} that was interrupted is now finished.{kept}"
        case "undone":
            return f"An apply of {settled.run} was interrupted before it changed anything; it is cleared away."
        case "dropped":
            return f"An apply of {settled.run} was interrupted, and your branch has moved since; it was left as it is."
