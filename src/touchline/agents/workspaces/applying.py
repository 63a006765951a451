"""How does a proposal come true, wholly or not at all? Staged, journaled, locked; then the branch
moves, then the files.

Until the branch has moved a killed `apply` has changed nothing; after that the next one finishes it (`settle`). The
user's index is locked in between, so that no other git sees half of it as its own work.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from touchline.agents.workspaces.host_git import HostGit, user_settings
from touchline.agents.workspaces.journal import Entry, Journal, Room, index_hash, room_of, stamp_of
from touchline.agents.workspaces.placing import place_files
from touchline.agents.workspaces.proposal import Proposal, operation_under_way, overlaps, paths_of
from touchline.agents.workspaces.repository import Repository, find_repository
from touchline.errors import WorkspaceError
from touchline.store.fault_points import fault_point

_LINK = "160000"
_NOTHING = "000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What applying did."""

    ref: str
    before: str
    """Empty for a new branch."""
    after: str
    files: int
    kept: tuple[str, ...] = ()
    """Files that were changed by somebody while they were to be replaced; they stayed as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of an application that was killed."""

    run: str
    how: Literal["finished", "undone", "dropped"]
    """`dropped`: the branch has moved on since, and was left as it is."""
    ref: str
    kept: tuple[str, ...] = ()


def apply_work(proposal: Proposal, *, run: str, env: Mapping[str, str], message: str) -> Applied:
    """Bring the proposal into the user's branch and files. `WorkspaceError` when that cannot be done, or not now; then
    nothing has changed. `message` is for the commit of a merge or a pick."""
    repository = proposal.repository
    _require_possible(proposal)
    with room_of(repository) as (room, lock):
        git = replace(repository.git, holds=(lock,))
        _settle(repository, git, room)
        room.clear()
        before = {path: stamp_of(repository.root / path) for path in paths_of(proposal.landing)}
        _require_as_proposed(proposal, git, env)
        target = _target(proposal, git, message, env)
        fault_point("apply.computed")
        journal = _staged(proposal, git, room, run, target, before, env)
        fault_point("apply.staged")
        room.write(journal)
        fault_point("apply.journaled")
        _lock_index(repository, room)
        fault_point("apply.locked")
        try:
            _require_unchanged(journal, repository, git)
            git.run("update-ref", "-m", f"touchline: apply {run}", *_deref(journal), journal.ref, target, journal.head)
        except WorkspaceError:
            _undo(repository, room)
            raise
        fault_point("apply.committed")
        kept = _finish(repository, git, room, journal)
    return Applied(ref=proposal.ref, before=proposal.head, after=target, files=len(proposal.landing.files), kept=kept)


def branch_off(proposal: Proposal, name: str, *, run: str) -> Applied:
    """Put the agent's commit on a new branch; the checkout stays as it is."""
    git, ref = proposal.repository.git, f"refs/heads/{name}"
    if git.run("check-ref-format", "--branch", name, codes=(0, 1, 128)).code:
        raise WorkspaceError(f"{name!r} cannot name a branch.", hint="Try letters, digits and '-'.")
    there = proposal.repository.commit(ref)
    if there not in (None, proposal.commit):
        raise WorkspaceError(f"There is a branch {name} already, at {there}.", hint="Name another one.")
    if there is None:
        nothing = "0" * len(proposal.commit)
        git.run("update-ref", "-m", f"touchline: apply {run}", ref, proposal.commit, nothing)
    return Applied(ref=ref, before=there or "", after=proposal.commit, files=len(proposal.changes.files))


def interrupted(folder: Path, *, env: Mapping[str, str]) -> bool:
    """True when an application was killed here and is still to be settled; or when one runs just now."""
    return (find_repository(folder, env).git_dir / "touchline" / "apply.json").exists()


def settle(folder: Path, *, env: Mapping[str, str]) -> Settled | None:
    """Finish or undo an application that was killed in this repository; None when there is none."""
    repository = find_repository(folder, env)
    if not (repository.git_dir / "touchline").is_dir():
        return None
    with room_of(repository) as (room, lock):
        return _settle(repository, replace(repository.git, holds=(lock,)), room)


def _settle(repository: Repository, git: HostGit, room: Room) -> Settled | None:
    journal = room.read()
    if journal is None:
        return None
    now = repository.commit(journal.ref) or ""
    if now != journal.target:
        # Not moved yet: nothing was changed. Or moved on since: what is there now is the user's own.
        _undo(repository, room)
        how: Literal["undone", "dropped"] = "undone" if now == journal.head else "dropped"
        return Settled(run=journal.run, how=how, ref=journal.ref)
    kept = _finish(repository, git, room, journal)
    return Settled(run=journal.run, how="finished", ref=journal.ref, kept=kept)


def _require_possible(proposal: Proposal) -> None:
    branch = "Put it on a branch of its own instead: --branch NAME"
    match proposal.how:
        case "fast-forward" | "merge" | "pick":
            pass
        case "conflict":
            files = ", ".join(proposal.conflicts)
            raise WorkspaceError(
                f"Both you and the agent changed the same places in: {files}. Nothing was changed.", hint=branch
            )
        case "no-branch":
            raise WorkspaceError(
                f"{proposal.repository.root} has no branch checked out that work could go into.", hint=branch
            )
        case "already":
            raise WorkspaceError("The work is in your branch already.")
        case "nothing":
            raise WorkspaceError("The agent changed nothing.")


def _require_as_proposed(proposal: Proposal, git: HostGit, env: Mapping[str, str]) -> None:
    repository = proposal.repository
    if what := operation_under_way(repository):
        raise WorkspaceError(
            f"A {what} is under way in {repository.root}.", hint=f"Finish it, or give it up with: git {what} --abort"
        )
    now = git.run("symbolic-ref", "--quiet", "HEAD", codes=(0, 1)).text or "HEAD"
    if (now, repository.commit("HEAD")) != (proposal.ref, proposal.head):
        raise WorkspaceError(f"{repository.root} is no longer where it was when this was shown.", hint="Try again.")
    found = overlaps(repository, proposal.landing, env)
    if found:
        raise WorkspaceError(
            f"You have changes of your own in files that would be replaced: {', '.join(found)}. Nothing was changed.",
            hint="Commit or stash them first (git stash), or use --branch NAME.",
        )


def _target(proposal: Proposal, git: HostGit, message: str, env: Mapping[str, str]) -> str:
    """The commit that the branch will be at; made of a merge or a pick, it is the user's."""
    if proposal.how == "fast-forward":
        return proposal.commit
    parents = [proposal.head, proposal.commit] if proposal.how == "merge" else [proposal.head]
    said = [part for parent in parents for part in ("-p", parent)]
    return (
        _as_user(git, proposal.repository, env)
        .run(
            "commit-tree",
            "--no-gpg-sign",
            proposal.tree,
            *said,
            "-m",
            message,
            hint='Say who you are: git config --global user.name "…"; git config --global user.email "…"',
        )
        .text
    )


def _as_user(git: HostGit, repository: Repository, env: Mapping[str, str]) -> HostGit:
    """With the user's name and address, and none made up where there is none."""
    settings = {
        name: value for name, value in user_settings(repository.root, env).items() if not name.startswith("filter.")
    }
    return git.adding(settings={**settings, "user.useConfigOnly": "true"})


def _staged(
    proposal: Proposal,
    git: HostGit,
    room: Room,
    run: str,
    target: str,
    before: Mapping[str, tuple[int, int, int, int] | None],
    env: Mapping[str, str],
) -> Journal:
    """Write out all new contents and the new index beside the checkout, converted as the user's git would."""
    repository, landing = proposal.repository, proposal.landing
    room.files.mkdir(parents=True)
    written = {file.path: f"{file.new_mode} {file.new_blob}" for file in landing.files if file.new_mode != _NOTHING}
    gone = paths_of(landing) - written.keys()
    files = {path: entry for path, entry in written.items() if not entry.startswith(_LINK)}
    attributes = _attributes(git, target)
    draft = git.adding(
        GIT_INDEX_FILE=str(room.folder / "stage" / "draft"),
        GIT_WORK_TREE=str(room.files),
        HOME=env.get("HOME", os.devnull),
        settings=user_settings(repository.root, env),
    )
    # Attributes of all folders are in the draft, since they say how the others are converted; only ours are taken.
    draft.run("update-index", "-z", "--index-info", stdin=_index_lines({**attributes, **files}))
    draft.run("checkout-index", "--all", "--quiet", seconds=600)
    index = repository.git_dir / "index"
    seen = index_hash(repository)
    if index.exists():
        shutil.copyfile(index, room.index)
    lines = {**{path: f"0 {'0' * len(target)}" for path in gone}, **written}
    git.adding(GIT_INDEX_FILE=str(room.index)).run("update-index", "-z", "--index-info", stdin=_index_lines(lines))
    links = {file.path for file in landing.files if _LINK in (file.new_mode, file.old_mode)}
    entries = [Entry(path=path, writes=True, before=before[path]) for path in files]
    entries += [Entry(path=path, writes=False, before=before[path]) for path in gone - links]
    return Journal(run=run, ref=proposal.ref, head=proposal.head, target=target, index=seen, entries=tuple(entries))


def _attributes(git: HostGit, target: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in git.run("ls-tree", "-r", "-z", "--full-tree", target).parts():
        about, _, path = entry.partition("\t")
        if path.rpartition("/")[2] == ".gitattributes" and about.startswith("100"):
            mode, _, blob = about.split(" ")
            found[path] = f"{mode} {blob}"
    return found


def _index_lines(entries: Mapping[str, str]) -> bytes:
    """What goes first: a file may take a folder's place."""
    ordered = sorted(entries.items(), key=lambda each: not each[1].startswith("0 "))
    return b"".join(os.fsencode(f"{entry}\t{path}") + b"\0" for path, entry in ordered)


def _lock_index(repository: Repository, room: Room) -> None:
    """Take git's own lock on the index. It is the new index at once, so that it can be told from anybody else's."""
    try:
        os.link(room.index, repository.git_dir / "index.lock")
    except FileExistsError:
        room.clear()
        raise WorkspaceError(
            f"Another git works in {repository.root} (index.lock is there). Nothing was changed.",
            hint="Wait for it. If none runs, remove the file .git/index.lock.",
        ) from None


def _require_unchanged(journal: Journal, repository: Repository, git: HostGit) -> None:
    """Under the lock: is everything as it was when it was looked at?"""
    now = git.run("symbolic-ref", "--quiet", "HEAD", codes=(0, 1)).text or "HEAD"
    same = now == journal.ref and index_hash(repository) == journal.index
    if not same or any(stamp_of(repository.root / each.path) != each.before for each in journal.entries):
        raise WorkspaceError(
            f"Something changed in {repository.root} in the meantime. Nothing was applied.", hint="Try again."
        )


def _undo(repository: Repository, room: Room) -> None:
    lock = repository.git_dir / "index.lock"
    if _same(lock, room.index):
        lock.unlink()
    room.clear()


def _finish(repository: Repository, git: HostGit, room: Room, journal: Journal) -> tuple[str, ...]:
    """The branch has moved: files and index follow. Done again after a kill, it does what is left."""
    lock, index = repository.git_dir / "index.lock", repository.git_dir / "index"
    kept: tuple[str, ...] = ()
    if not _same(index, room.index):
        if not _same(lock, room.index):
            if lock.exists() or index_hash(repository) != journal.index:
                raise WorkspaceError(
                    f"Applying {journal.run} was interrupted and git was used in {repository.root} since. The branch "
                    f"holds the work; some files may still be the old ones: {', '.join(_waiting(room, journal))}.",
                    hint=f"Look with: git status. Then remove {room.journal}.",
                )
            os.link(room.index, lock)
        kept = place_files(room, journal, repository.root)
        os.rename(lock, index)
    fault_point("apply.indexed")
    room.clear()
    fault_point("apply.done")
    # Only saves the next `git status` some work; it does not matter when somebody else has the index.
    git.run("update-index", "-q", "--refresh", codes=(0, 1, 128))
    return kept


def _waiting(room: Room, journal: Journal) -> list[str]:
    return [entry.path for entry in journal.entries if not entry.writes or os.path.lexists(room.files / entry.path)]


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except FileNotFoundError:
        return False


def _deref(journal: Journal) -> list[str]:
    return ["--no-deref"] if journal.ref == "HEAD" else []
