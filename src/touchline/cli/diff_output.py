"""How does a change read in a terminal, and as JSON? Files and lines, and above all what deserves a look."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from touchline.agents.workspaces.changes import Changes, FileChange, patch_text
from touchline.agents.workspaces.desk import desk
from touchline.audit.figures import count
from touchline.audit.visible import one_line, visible

if TYPE_CHECKING:
    from rich.table import Table

    from touchline.agents.workspaces.applying import Applied, Settled
    from touchline.agents.workspaces.proposal import Proposal
    from touchline.agents.workspaces.risky import Risk

MAX_FILES = 60
PATCH_BYTES = 16 * 1024 * 1024
_SIGNS = {"added": "+", "changed": "~", "deleted": "-", "renamed": ">", "type": "!"}
_TONES = {"added": "green", "deleted": "red", "type": "yellow"}


def print_proposal(run: str, task: str, proposal: Proposal, *, branch: str) -> None:
    """The head line, the files, the marked parts, and what would become of the branch."""
    from touchline.cli.terminal import console, text

    out = console()
    out.print(text(f"Run {run}" + (f": {one_line(task, 80)}" if task else ""), "bold"))
    print_changes(proposal)
    if words := _plan_words(proposal, branch):
        out.print(text(words))


def print_changes(proposal: Proposal) -> None:
    """The changed files, and what of them deserves a look."""
    from touchline.cli.terminal import console, text

    out = console()
    out.print(text(totals(proposal.changes)))
    out.print()
    if proposal.changes.files:
        out.print(_table(proposal.changes, {risk.path for risk in proposal.risks}))
        if len(proposal.changes.files) > MAX_FILES:
            out.print(
                text(f"… and {len(proposal.changes.files) - MAX_FILES} more; all of them: --json or --patch", "dim")
            )
        out.print()
    print_risks(proposal.risks)


def print_risks(risks: tuple[Risk, ...]) -> None:
    """What deserves a look, by file."""
    from touchline.cli.terminal import console, text

    if not risks:
        return
    out = console()
    by_path: dict[str, list[str]] = defaultdict(list)
    for risk in risks:
        by_path[risk.path].append(risk.why)
    out.print(text(f"Look at {'this' if len(by_path) == 1 else 'these'} before you accept:", "bold yellow"))
    for path, reasons in by_path.items():
        out.print(text(f"  ! {one_line(path, 300)}", "yellow"))
        for why in reasons:
            out.print(text(f"      {one_line(why, 300)}"))
    out.print()


def print_patch(proposal: Proposal) -> None:
    """Every changed line, with nothing in it that could act on the terminal."""
    with desk(proposal.repository) as git:
        patch = patch_text(git, proposal.base, proposal.commit, limit=PATCH_BYTES)
    sys.stdout.write(visible(patch) + "\n")


def totals(changes: Changes) -> str:
    return f"{count(len(changes.files), 'file')} changed, +{changes.insertions} -{changes.deletions} lines"


def proposal_json(
    run: str, proposal: Proposal, applied: Applied | None, settled: Settled | None, *, dry_run: bool
) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "run": run,
        "repository": str(proposal.repository.root),
        "base": proposal.base,
        "commit": proposal.commit,
        "how": proposal.how,
        "branch": applied.ref if applied else proposal.ref,
        "applied": applied is not None,
        "dry_run": dry_run,
        "before": applied.before if applied else proposal.head,
        "after": applied.after if applied else None,
        "files": [_file_json(file) for file in proposal.changes.files],
        "insertions": proposal.changes.insertions,
        "deletions": proposal.changes.deletions,
        "risks": [{"path": risk.path, "kind": risk.kind, "why": risk.why} for risk in proposal.risks],
        "conflicts": list(proposal.conflicts),
        "overlaps": list(proposal.overlaps),
        "kept": list(applied.kept) if applied else [],
        "settled": {"run": settled.run, "how": settled.how, "kept": list(settled.kept)} if settled else None,
    }


def _file_json(file: FileChange) -> dict[str, Any]:
    return {
        "path": file.path,
        "status": file.status,
        "old_path": file.old_path if file.old_path != file.path else None,
        "insertions": file.insertions,
        "deletions": file.deletions,
    }


def _table(changes: Changes, marked: set[str]) -> Table:
    from rich.table import Table

    from touchline.cli.terminal import text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True, justify="right")
    for file in changes.files[:MAX_FILES]:
        name = file.path if file.old_path == file.path else f"{file.old_path} → {file.path}"
        mark = "!" if file.path in marked else " "
        table.add_row(
            text(f"{mark} {_SIGNS[file.status]}", _TONES.get(file.status, "default")),
            text(one_line(name, 200), "yellow" if file.path in marked else "default"),
            text("binary" if file.binary else f"+{file.insertions} -{file.deletions}", "dim"),
        )
    return table


def _plan_words(proposal: Proposal, branch: str) -> str:
    if branch:
        return f"Goes on the new branch {branch}; your files stay as they are."
    name = proposal.ref.removeprefix("refs/heads/")
    match proposal.how:
        case "fast-forward":
            return f"Goes on top of {name} as it is."
        case "merge":
            return f"Goes into {name} by a merge: {name} has moved since the run began."
        case "pick":
            return f"Goes into {name} as one commit: {name} no longer holds the commit that the run began with."
        case _:
            return ""
