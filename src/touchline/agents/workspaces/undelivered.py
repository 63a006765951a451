"""Which files of the agent's own would not be delivered, and how does a check run without them?

They are moved out of the clone for that time, and back; who is killed in between finds them by a list, and the next one
brings them back. Every folder on the way is opened by its name in the one before it: no link is followed.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from touchline.agents.workspaces.repository import find_repository

_LIST = "list.json"
_FOLDER = "aside"
_MOST = 1_000


def undelivered(
    clone: Path, paths: Iterable[str], *, repository: Path, commit: str, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Those of the paths, within the clone, that are files there and are not in the commit: git ignores them."""
    there = [path for path in dict.fromkeys(paths) if _is_file(clone, path)][:_MOST]
    if not there:
        return ()
    git = find_repository(repository, env).git
    taken = set(git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *there).parts())
    return tuple(path for path in there if path not in taken)


@contextmanager
def set_aside(clone: Path, paths: tuple[str, ...]) -> Iterator[None]:
    """Have these files out of the clone for a while. What cannot be moved stays."""
    if not paths:
        yield
        return
    kept = clone.parent / _FOLDER
    kept.mkdir(mode=0o700, exist_ok=True)
    (kept / _LIST).write_text(json.dumps(paths), encoding="utf-8")
    try:
        for number, path in enumerate(paths):
            with suppress(OSError), _parent(clone, path) as (folder, name):
                os.rename(name, kept / str(number), src_dir_fd=folder)
        yield
    finally:
        bring_back(clone)


def bring_back(clone: Path) -> None:
    """Put back what lies aside. What has no place any more stays where it is, beside the clone."""
    kept = clone.parent / _FOLDER
    try:
        paths = json.loads((kept / _LIST).read_text("utf-8"))
    except (OSError, ValueError):
        paths = []
    left = False
    for number, path in enumerate(paths):
        if not os.path.lexists(kept / str(number)):
            continue
        try:
            with _parent(clone, path, make=True) as (folder, name):
                os.rename(kept / str(number), name, dst_dir_fd=folder)
        except OSError:
            left = True
    if not left:
        shutil.rmtree(kept, ignore_errors=True)


def _is_file(clone: Path, path: str) -> bool:
    try:
        with _parent(clone, path) as (folder, name):
            return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def _parent(clone: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder of a file, open, and the file's name in it."""
    *parents, name = path.split("/")
    if not name or {"", ".", ".."}.intersection((*parents, name)):
        raise OSError(f"{path} is no path within a folder")
    how = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(clone, how)
    try:
        for each in parents:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(each, dir_fd=folder)
            below = os.open(each, how, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder, name
    finally:
        os.close(folder)
