"""What was applying about to do when it was killed? A journal in the git folder, written before anything is changed.

It lists every file with what stood there before, so that whoever comes next can tell our writes from the user's.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from touchline.agents.workspaces.repository import Repository
from touchline.errors import WorkspaceError

WAIT_SECONDS = 30.0
Stamp = tuple[int, int, int, int]
"""A file as it lies on the disk: number, size, time of its content and of its last change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file that is to be written or taken away."""

    path: str
    writes: bool
    """False takes it away."""
    before: Stamp | None
    """None when nothing was there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """One application under way."""

    run: str
    ref: str
    """The branch that moves."""
    head: str
    """Where it was."""
    target: str
    """Where it goes: moving it is the point of no return."""
    index: str
    """The hash of the index file as it was."""
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The folder in the git folder where applying keeps its things."""

    folder: Path

    @property
    def journal(self) -> Path:
        return self.folder / "apply.json"

    @property
    def files(self) -> Path:
        """New contents, complete, waiting to be moved to their places."""
        return self.folder / "stage" / "files"

    @property
    def index(self) -> Path:
        """The index as it will be."""
        return self.folder / "stage" / "index"

    def clear(self) -> None:
        """The journal first: without it the rest means nothing."""
        self.journal.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "stage", ignore_errors=True)

    def write(self, journal: Journal) -> None:
        text = json.dumps({"version": 1, **asdict(journal)})
        draft = self.journal.with_suffix(".new")
        with open(draft, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, self.journal)
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self) -> Journal | None:
        try:
            value = json.loads(self.journal.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        if value.pop("version") != 1:
            raise WorkspaceError(
                f"{self.journal} was written by another version of Touchline.", hint="Run that version's apply again."
            )
        entries = (
            Entry(**{**each, "before": tuple(each["before"]) if each["before"] else None}) for each in value["entries"]
        )
        return Journal(**{**value, "entries": tuple(entries)})


@contextmanager
def room_of(repository: Repository) -> Iterator[tuple[Room, int]]:
    """The room, and the lock on it as an open file. Commands inherit it: after a kill the caller's git ends first."""
    room = Room(folder=repository.git_dir / "touchline")
    room.folder.mkdir(exist_ok=True)
    handle = os.open(room.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise WorkspaceError(
                        f"Something else is being applied in {repository.root}.", hint="Wait for it, then try again."
                    ) from None
                time.sleep(0.05)
        yield room, handle
    finally:
        os.close(handle)


def stamp_of(path: Path) -> Stamp | None:
    """A file's stamp; None when there is none, and for a folder."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if path.is_dir() and not path.is_symlink():
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def index_hash(repository: Repository) -> str:
    try:
        return hashlib.sha256((repository.git_dir / "index").read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
