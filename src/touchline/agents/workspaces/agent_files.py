"""What is in the files of an agent's folder? Read without following any link, and without git.

Every folder on the way is opened by its name in the one before it, so that a folder that was swapped for a link is
not there for us. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file or link as git would keep it."""

    mode: str
    """`100644`, `100755` or `120000`."""
    blob: str
    """The hash of its content as git counts it."""
    content: bytes | None
    """None when the hash is the expected one: nobody needs the content again."""


class TooLarge(Exception):
    """A file is over the limit; the argument is its size."""


class AgentFiles:
    """The files below one folder; a context manager."""

    def __init__(self, folder: Path, *, hash_name: str, file_bytes: int) -> None:
        self._hash_name, self._limit = hash_name, file_bytes
        self._open: list[tuple[str, int]] = []
        self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def __enter__(self) -> AgentFiles:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for _name, handle in self._open:
            os.close(handle)
        os.close(self._root)

    def find(self, path: str, *, expected: str = "") -> Found | None:
        """The file at a path; None when there is no file nor link. `TooLarge` when it is over the limit."""
        *parents, name = path.split("/")
        try:
            folder = self._enter(parents)
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                target = os.fsencode(os.readlink(name, dir_fd=folder))
                return Found(mode="120000", blob=self._hash(target), content=target)
            if not stat.S_ISREG(status.st_mode):
                return None
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except PermissionError:
            raise
        except OSError:
            return None
        with open(handle, "rb", buffering=0) as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size > self._limit:
                raise TooLarge(status.st_size)
            content = b"".join(_blocks(file.fileno(), self._limit))
        mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
        blob = self._hash(content)
        return Found(mode=mode, blob=blob, content=None if blob == expected else content)

    def is_filled(self, path: str) -> bool:
        """True for a folder with something in it."""
        try:
            return bool(os.listdir(self._enter(path.split("/"))))
        except OSError:
            return False

    def _hash(self, content: bytes) -> str:
        return hashlib.new(self._hash_name, _headed(content), usedforsecurity=False).hexdigest()

    def _enter(self, parents: list[str]) -> int:
        """The folder at these names; those of the last path that are the same stay open, for sorted paths."""
        same = 0
        while same < min(len(parents), len(self._open)) and self._open[same][0] == parents[same]:
            same += 1
        while len(self._open) > same:
            os.close(self._open.pop()[1])
        for name in parents[same:]:
            above = self._open[-1][1] if self._open else self._root
            handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
            self._open.append((name, handle))
        return self._open[-1][1] if self._open else self._root


def store_blob(objects: Path, blob: str, content: bytes) -> None:
    """Write one object as git does, into an object store of ours."""
    path = objects / blob[:2] / blob[2:]
    path.parent.mkdir(exist_ok=True)
    with suppress(FileExistsError), open(path, "xb") as file:
        file.write(zlib.compress(_headed(content), 1))


def _headed(content: bytes) -> bytes:
    return b"blob %d\0" % len(content) + content


def _blocks(handle: int, limit: int) -> Iterator[bytes]:
    """Up to the limit, also when the file grows while it is read."""
    left = limit
    while left > 0 and (block := os.read(handle, min(_BLOCK, left))):
        left -= len(block)
        yield block
