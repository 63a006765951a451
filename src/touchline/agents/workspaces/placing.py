"""How do staged files get to their places in the user's checkout? One move each: a file is the old or the new one,
never a part. No link on the way is followed."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from touchline.agents.workspaces.journal import Journal, Room, stamp_of
from touchline.store.fault_points import fault_point

_DRAFT = ".touchline-draft"


def place_files(room: Room, journal: Journal, root: Path) -> tuple[str, ...]:
    """Do what is left of a journal. Gives the files that were left alone: the user has changed them since, or the
    system did not let us."""
    kept: list[str] = []
    # What goes, goes first: a folder may take a file's place.
    for entry in sorted(journal.entries, key=lambda each: each.writes):
        here = root / entry.path
        staged = room.files / entry.path
        if entry.writes and not os.path.lexists(staged):
            continue  # it is in its place already
        now = stamp_of(here)
        try:
            if now is not None and now != entry.before:
                kept.append(f"{entry.path} (changed by you)")
            elif entry.writes:
                _move(staged, root, entry.path)
            elif now is not None:
                _take_away(root, entry.path)
        except OSError as error:
            # The branch has moved: what cannot follow is told, and the rest goes on.
            kept.append(f"{entry.path} ({error.strerror})")
        fault_point("apply.written")
    return tuple(kept)


def _move(staged: Path, root: Path, path: str) -> None:
    *parents, name = path.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for parent in parents:
            with suppress(FileExistsError):
                os.mkdir(parent, dir_fd=folder)
            below = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = below
        try:
            _remove_empty(root / path)
            os.rename(staged, name, dst_dir_fd=folder)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(staged, folder)
            os.rename(_DRAFT, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.unlink(staged)
    finally:
        os.close(folder)


def _remove_empty(folder: Path) -> None:
    """Folders without a file stand where a file must go; git does not know of them."""
    if folder.is_dir() and not folder.is_symlink():
        for parent, _, _ in os.walk(folder, topdown=False):
            os.rmdir(parent)


def _copy(staged: Path, folder: int) -> None:
    """The git folder may be on another disk: a draft beside the file's place, to be moved from there."""
    with suppress(FileNotFoundError):
        os.unlink(_DRAFT, dir_fd=folder)
    if staged.is_symlink():
        os.symlink(os.readlink(staged), _DRAFT, dir_fd=folder)
        return
    mode = staged.stat().st_mode & 0o777
    handle = os.open(_DRAFT, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
    with open(handle, "wb") as target, open(staged, "rb") as source:
        shutil.copyfileobj(source, target)
        os.fchmod(target.fileno(), mode)


def _take_away(root: Path, path: str) -> None:
    """The file, and the folders that held nothing else."""
    here = root / path
    if _through_link(root, path):
        return
    here.unlink(missing_ok=True)
    for parent in here.parents:
        if parent == root:
            return
        try:
            parent.rmdir()
        except OSError:
            return


def _through_link(root: Path, path: str) -> bool:
    *parents, _ = path.split("/")
    here = root
    for parent in parents:
        here = here / parent
        if here.is_symlink():
            return True
    return False
