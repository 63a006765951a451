"""How does a bundle get into the user's repository? Checked object by object, in quarantine; only then does it enter.

`git fetch` of a bundle checks no object with git 2.39, whatever is configured, so the pack in it goes through
`git index-pack --strict` here, into a folder that git itself would clear away if we are killed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from touchline.agents.workspaces.desk import desk
from touchline.agents.workspaces.host_git import HostGit
from touchline.agents.workspaces.names import refused_name
from touchline.agents.workspaces.repository import Repository
from touchline.errors import WorkspaceError

_SIGNATURES = {b"# v2 git bundle\n": "sha1", b"# v3 git bundle\n": "sha256"}
_NEEDED = re.compile(rb"-([0-9a-f]{40,64})(?: .*)?\n")
_HELD = re.compile(rb"([0-9a-f]{40,64}) refs/heads/\w+\n")
_LINES = 20
_SECONDS = 900.0


def take_in(repository: Repository, bundle: Path, *, base: str, commit: str, ref: str, limit: int) -> None:
    """Bring a bundle's objects into the repository and set `ref` to its commit.

    `WorkspaceError`, and nothing has changed, unless the bundle holds that one commit, needs nothing but the base,
    builds on it, is complete, and git finds no fault with any object nor we with any file name.
    """
    with open(bundle, "rb", buffering=0) as file:
        _read_head(repository, file.fileno(), base=base, commit=commit)
        with _quarantine(repository) as (git, folder):
            git.run(
                "index-pack",
                "--stdin",
                "--fix-thin",
                "--strict",
                f"--max-input-size={limit}",
                stdin=file,
                seconds=_SECONDS,
            )
            _check(git, base, commit)
            _release(folder / "pack", repository.objects / "pack")
    repository.git.run("update-ref", ref, commit)


def _read_head(repository: Repository, handle: int, *, base: str, commit: str) -> None:
    """Read the lines before the pack, and leave the file where the pack begins."""
    head = os.pread(handle, 8_192, 0)
    lines = head.partition(b"\n\n")[0].splitlines(keepends=True)
    lines[-1:] = [lines[-1].rstrip(b"\n") + b"\n"] if lines else []
    wrong = WorkspaceError("The bundle of the agent's work is broken.")
    if not lines or b"\n\n" not in head or len(lines) > _LINES or _SIGNATURES.get(lines[0]) is None:
        raise wrong
    needed, held = [], []
    for line in lines[1:]:
        if line.startswith(b"@"):
            if line != f"@object-format={repository.hash_name}\n".encode():
                raise wrong
        elif found := _NEEDED.fullmatch(line):
            needed.append(found[1].decode())
        elif found := _HELD.fullmatch(line):
            held.append(found[1].decode())
        else:
            raise wrong
    if held != [commit] or set(needed) - {base}:
        raise WorkspaceError(f"The bundle holds {held} and needs {needed}; it was said to hold {commit} on {base}.")
    os.lseek(handle, head.index(b"\n\n") + 2, os.SEEK_SET)


@contextmanager
def _quarantine(repository: Repository) -> Iterator[tuple[HostGit, Path]]:
    """A place for objects that sees the user's and is not seen by them; named as git names its own."""
    folder = Path(mkdtemp(prefix="tmp_objdir-touchline-", dir=repository.objects))
    try:
        (folder / "pack").mkdir()
        with desk(repository) as git:
            yield (
                git.adding(
                    GIT_OBJECT_DIRECTORY=str(folder),
                    GIT_ALTERNATE_OBJECT_DIRECTORIES=_quoted(repository.objects),
                ),
                folder,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check(git: HostGit, base: str, commit: str) -> None:
    hint = "The agent's clone may be damaged."
    git.run("rev-list", "--objects", "--quiet", commit, "--not", base, seconds=_SECONDS, hint=hint)
    if git.run("merge-base", "--is-ancestor", base, commit, codes=(0, 1)).code:
        raise WorkspaceError(f"The commit {commit} does not build on {base}.")
    for path in git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit).parts():
        if why := refused_name(path):
            raise WorkspaceError(f"The file name {path!r} is refused: {why}.")


def _release(source: Path, target: Path) -> None:
    """The index last: git looks for a pack by its index."""
    target.mkdir(exist_ok=True)
    for path in sorted(source.iterdir(), key=lambda each: each.suffix == ".idx"):
        os.rename(path, target / path.name)
