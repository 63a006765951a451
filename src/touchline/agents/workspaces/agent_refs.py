"""What do the references in an agent's clone say? Read as plain files; git and its configuration have no part in it.

Nothing here is believed: a hash is only a request to look for that object. Standard library only.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[\w./+@=-]{1,240}")
_BYTES = 4 * 1024 * 1024
_BRANCHES = 200
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRefs:
    """The clone's history, as far as it can be used."""

    head: str | None
    """The commit of its HEAD; None when there is none."""
    branches: dict[str, str]
    """Its branches and its stash, with their commits."""
    objects: Path | None
    """Its object store; None when it must not be used."""
    remarks: tuple[str, ...] = ()
    """What a person should know of."""


def read_refs(clone: Path) -> AgentRefs:
    """Look at the `.git` folder of a clone. Whatever is not a plain folder with plain files is left alone."""
    git = clone / ".git"
    wrong = _wrong(git)
    if wrong:
        return AgentRefs(head=None, branches={}, objects=None, remarks=(f"its commits were not taken: {wrong}",))
    packed = _packed(git)
    remarks = tuple(f"{words} was under way" for name, words in _UNDER_WAY.items() if os.path.lexists(git / name))
    branches = {name: commit for name, commit in packed.items() if name.startswith("refs/heads/")}
    branches |= _loose(git, git / "refs/heads")
    if commit := _commit(git, "refs/stash", packed):
        branches["refs/stash"] = commit
    return AgentRefs(
        head=_commit(git, "HEAD", packed),
        branches=dict(list(branches.items())[:_BRANCHES]),
        objects=git / "objects",
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _wrong(git: Path) -> str:
    try:
        kind = git.lstat().st_mode
    except OSError:
        return "its .git folder is gone"
    if not stat.S_ISDIR(kind):
        return "its .git is no longer a folder"
    if os.path.lexists(git / "commondir"):
        return "its .git points to another repository (commondir)"
    for name in ("objects", "objects/info", "objects/pack", "refs", "refs/heads"):
        path = git / name
        if os.path.lexists(path) and not stat.S_ISDIR(path.lstat().st_mode):
            return f".git/{name} is no folder"
    for name in ("alternates", "http-alternates"):
        if os.path.lexists(git / "objects/info" / name):
            return f"it takes objects from elsewhere (.git/objects/info/{name})"
    return next((f"{path} is a link" for path in _links(git, "objects")), "")


def _links(git: Path, name: str) -> Iterator[str]:
    """Links among the stored objects: they would bring in what lies elsewhere."""
    try:
        with os.scandir(git / name) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield f".git/{name}/{entry.name}"
                elif entry.is_dir(follow_symlinks=False):
                    yield from _links(git, f"{name}/{entry.name}")
    except OSError:
        return


def _commit(git: Path, name: str, packed: dict[str, str]) -> str | None:
    for _ in range(5):
        text = _text(git / name).strip()
        if _HASH.fullmatch(text):
            return text
        if not text.startswith("ref:"):
            return packed.get(name)
        name = text.removeprefix("ref:").strip()
        if not _REF.fullmatch(name) or ".." in name:
            return None
    return None


def _packed(git: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _text(git / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if _HASH.fullmatch(commit) and _REF.fullmatch(name):
            found[name] = commit
    return found


def _loose(git: Path, folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for parent, _, files in os.walk(folder):
        for file in files:
            name = str(Path(parent, file).relative_to(git))
            text = _text(Path(parent, file)).strip()
            if _REF.fullmatch(name) and _HASH.fullmatch(text):
                found[name] = text
            if len(found) >= _BRANCHES:
                return found
    return found


def _text(path: Path) -> str:
    """A plain file's text; nothing for a link, a pipe, or what is not there."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return file.read(_BYTES).decode("utf-8", "replace")
