"""What would become of the user's branch with the agent's commit in it? Worked out without touching a file or a branch.

The agent's work goes on top by fast-forward, or by a merge that is computed at a desk. Where the branch no longer
holds the commit that the run began with, the difference alone is taken, as one commit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from touchline.agents.workspaces.changes import Changes, changes_between, contents_of
from touchline.agents.workspaces.desk import desk
from touchline.agents.workspaces.host_git import HostGit, user_settings
from touchline.agents.workspaces.repository import Repository, find_repository, unsaved
from touchline.agents.workspaces.risky import READ_BYTES, Risk, risky
from touchline.errors import WorkspaceError

How = Literal["fast-forward", "merge", "pick", "already", "nothing", "conflict", "no-branch"]
"""`pick`: as one commit, without the agent's history. `no-branch`: there is no checkout to bring it into."""
_SEARCHED_BYTES = 128 * 1024 * 1024
_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What applying would do."""

    repository: Repository
    base: str
    commit: str
    how: How
    ref: str
    """The user's branch, as `refs/heads/main`; `HEAD` when none is checked out."""
    head: str
    """Where that branch is now."""
    tree: str
    """The files as they would be."""
    changes: Changes
    """The agent's work: from the base to its commit."""
    landing: Changes
    """What would change in the user's branch."""
    risks: tuple[Risk, ...]
    conflicts: tuple[str, ...] = ()
    """Files that both the user and the agent changed in the same places."""
    overlaps: tuple[str, ...] = ()
    """Files that would change and that the user has changed without committing, each with how."""


def propose(repository: Path, commit: str, base: str, *, env: Mapping[str, str]) -> Proposal:
    """Work out what applying `commit`, which began at `base`, would do to the branch that is checked out."""
    found = find_repository(repository, env)
    for each in (commit, base):
        if found.commit(each) is None:
            raise WorkspaceError(
                f"{found.root} does not have the commit {each}.", hint="Was the run in another repository?"
            )
    ref, head = _branch(found)
    with desk(found) as git:
        changes = changes_between(git, base, commit)
        risks = risky(changes, contents_of(git, changes, limit=READ_BYTES, total=_SEARCHED_BYTES).get)
        how, tree, conflicts = _computed(git, found, base, commit, head)
        landing = changes_between(git, head, tree) if head and not conflicts else Changes(base=head, commit=tree)
    return Proposal(
        repository=found,
        base=base,
        commit=commit,
        how=how,
        ref=ref,
        head=head,
        tree=tree,
        changes=changes,
        landing=landing,
        risks=risks,
        conflicts=conflicts,
        overlaps=overlaps(found, landing, env),
    )


def operation_under_way(repository: Repository) -> str:
    """What the user is in the middle of, such as `merge`; empty when nothing."""
    return next((what for name, what in _UNDER_WAY.items() if os.path.lexists(repository.git_dir / name)), "")


def overlaps(repository: Repository, landing: Changes, env: Mapping[str, str]) -> tuple[str, ...]:
    """Files of the user that are not committed and that applying would change: it must not."""
    paths = paths_of(landing)
    if repository.bare or not paths:
        return ()
    dirty = {each.path: each.how for each in unsaved(repository, user_settings(repository.root, env), untracked=False)}
    going: set[str] = set()
    for entry in repository.git.run("ls-files", "-z", "-v").parts():
        tag, path = entry[0], entry[2:]
        if tag == "S" or tag.islower():
            dirty.setdefault(path, "marked as not to be looked at")
        if path in paths:
            going.add(path)
    found = {path: dirty[path] for path in paths & dirty.keys()}
    for file in landing.files:
        if file.path not in going and file.new_mode not in ("160000", "000000"):
            wrong = _in_the_way(repository.root, file.path, going)
            if wrong:
                found.setdefault(wrong, "not known to git")
    return tuple(f"{path} ({how})" for path, how in sorted(found.items()))


def paths_of(changes: Changes) -> set[str]:
    """Every path that a change touches, also those that renames leave."""
    return {path for file in changes.files for path in (file.path, file.old_path)}


def _branch(found: Repository) -> tuple[str, str]:
    head = found.commit("HEAD") or ""
    ref = found.git.run("symbolic-ref", "--quiet", "HEAD", codes=(0, 1)).text or "HEAD"
    return ref, head


def _computed(git: HostGit, found: Repository, base: str, commit: str, head: str) -> tuple[How, str, tuple[str, ...]]:
    """How it would go on top, the resulting tree, and the conflicts."""
    tree = git.run("rev-parse", f"{commit}^{{tree}}").text
    if commit == base:
        return "nothing", tree, ()
    if found.bare or not head:
        return "no-branch", tree, ()
    now = git.run("rev-parse", f"{head}^{{tree}}").text
    if _holds(git, head, commit):
        return "already", now, ()
    if _holds(git, commit, head):
        return "fast-forward", tree, ()
    at_base = git.run("rev-parse", f"{base}^{{tree}}").text
    merged, conflicts = _merged(git, at_base, now, tree)
    if conflicts:
        return "conflict", now, conflicts
    if merged == now:
        return "already", now, ()
    return "merge" if _holds(git, head, base) else "pick", merged, ()


def _holds(git: HostGit, commit: str, earlier: str) -> bool:
    return git.run("merge-base", "--is-ancestor", earlier, commit, codes=(0, 1)).code == 0


def _merged(git: HostGit, base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """Merge two trees over a third. Older gits take the third only from history, so it gets one, for this alone."""
    who = {"NAME": "touchline", "EMAIL": "touchline@touchline.invalid", "DATE": "@0 +0000"}
    about = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    dated = replace(git, variables={**git.variables, **about})
    root = dated.run("commit-tree", base, "-m", "base").text
    sides = [
        dated.run("commit-tree", tree, "-p", root, "-m", name).text
        for tree, name in ((ours, "ours"), (theirs, "theirs"))
    ]
    answer = git.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides, codes=(0, 1))
    tree, *conflicts = answer.parts()
    return tree, tuple(conflicts)


def _in_the_way(root: Path, path: str, going: set[str]) -> str:
    """What stands where a new file must go, and is none of the known files that are going to change."""
    parts = path.split("/")
    for end in range(1, len(parts)):
        above = "/".join(parts[:end])
        full = root / above
        if os.path.lexists(full) and (full.is_symlink() or not full.is_dir()):
            return "" if above in going else above
    full = root / path
    if full.is_dir() and not full.is_symlink():
        inside = {str(Path(parent, name).relative_to(root)) for parent, _, names in os.walk(full) for name in names}
        return next((each for each in sorted(inside) if each not in going), "")
    return path if os.path.lexists(full) else ""
