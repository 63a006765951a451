"""How is what was worked out at one start kept for the next? One file, whole or not at all, for one interpreter alone.

It is only a short cut: written by this version of Touchline in this folder, under this interpreter, and not used where
anything differs. Inside are an index of plain values and the pieces that it points into, as Python writes both into its
own compiled files; a piece is only looked at when somebody asks for it. A file that somebody else could have written,
or in which a bit is off, is not used.

Its annotations are quoted, as in `kept_modules`: `__future__` is a module, and every hook would wait for it.
"""

import posix
import sys
from _imp import source_hash
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MARK = b"touchline.prepared/5 "
LEFT_SECONDS = 60
"""Nobody writes for so long; who began has died."""
_FILE, _STRANGE = 0o100000, 0o170022
"""A plain file, and the bits that tell of it, and of others who may write it."""
PLACES = ("XDG_CACHE_HOME", "HOME")
"""Variables that say where it is."""


class Pieces:
    """What is kept of one kind, by name: what is told of it, and its bytes."""

    __slots__ = ("_body", "_places", "added")

    def __init__(
        self, places: "dict[str, tuple[Any, int, int]] | None" = None, body: "memoryview | None" = None
    ) -> None:
        self._places = {} if places is None else places
        self._body = memoryview(b"") if body is None else body
        self.added: dict[str, tuple[Any, bytes]] = {}

    def get(self, name: str) -> "tuple[Any, bytes | memoryview] | None":
        if name in self.added:
            return self.added[name]
        place = self._places.get(name)
        return None if place is None else (place[0], self._body[place[1] : place[2]])

    def drop(self, name: str) -> None:
        self.added.pop(name, None)
        self._places.pop(name, None)

    def placed(self, body: "list[bytes | memoryview]") -> "dict[str, tuple[Any, int, int]]":
        """What is told of each piece, and where in the body it will stand, to which it is added."""
        placed: dict[str, tuple[Any, int, int]] = {}
        at = sum(map(len, body))
        for name in {**self._places, **self.added}:
            if (found := self.get(name)) is not None:
                placed[name] = (found[0], at, at + len(found[1]))
                body.append(found[1])
                at += len(found[1])
        return placed


def path_of(env: "Mapping[str, str]", name: str) -> str:
    """Where this Touchline keeps it for this interpreter, by the XDG rules; empty where no folder is known."""
    cache = env.get("XDG_CACHE_HOME", "")
    if not cache.startswith("/"):
        home = env.get("HOME", "")
        cache = f"{home}/.cache" if home.startswith("/") else ""
    return f"{cache}/touchline/{name}-{sys.implementation.cache_tag}-{_mark(_raw(__file__))}.bin" if cache else ""


def read(path: str) -> "tuple[Pieces, ...] | None":
    """The pieces of each kind that were kept there; None when it is not there, torn, strange, or another's."""
    try:
        # Without waiting: in the place of the file may stand a pipe that nobody writes to.
        with open(posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK), "rb") as file:
            found = posix.fstat(file.fileno())
            if found.st_uid != posix.geteuid() or found.st_mode & _STRANGE != _FILE:
                return None
            raw = memoryview(file.read())
        head = bytes(raw[:200]).partition(b"\n")[0]
        body = raw[len(head) + 1 :]
        size = int(head.rpartition(b" ")[2])
        if head != _head(path, body, size):
            return None
        from marshal import loads

        kinds = loads(body[:size])  # noqa: S302 - its owner's own, as compiled files are
        return tuple(Pieces(places, body[size:]) for places in kinds)
    except (OSError, ValueError, EOFError, TypeError, ImportError):
        return None


def write(path: str, kinds: "Sequence[Pieces]") -> bool:
    """Keep them, or give up: a short cut is not worth a fault."""
    new = f"{path}.new"
    made = -1
    try:
        from marshal import dumps

        from touchline.plain_os import dirname, makedirs

        pieces: list[bytes | memoryview] = []
        index = dumps(tuple(kind.placed(pieces) for kind in kinds))
        body = index + b"".join(pieces)
        makedirs(dirname(path), 0o700)
        # One at a time: who comes meanwhile adds its own at its next start, and takes away what a killed one left.
        made = posix.open(new, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600)
        with open(made, "wb") as file:
            file.write(_head(path, memoryview(body), len(index)) + b"\n" + body)
            file.flush()
            posix.fsync(file.fileno())
        posix.replace(new, path)
    except (OSError, ValueError, ImportError):
        _give_up(new, ours=made >= 0)
        return False
    return True


def _give_up(half_written: str, *, ours: bool) -> None:
    try:
        if ours or posix.stat(half_written).st_mtime < time() - LEFT_SECONDS:
            posix.unlink(half_written)
    except (OSError, ValueError):
        pass


def stamp(path: str) -> "tuple[int, int]":
    """Changes with a file's content, as far as Python trusts it to for its own compiled files: its time and size."""
    found = posix.stat(path)
    return found.st_mtime_ns, found.st_size


def _mark(data: "bytes | memoryview") -> str:
    """As `digests` makes it."""
    return source_hash(0, data).hex()


def _raw(words: str) -> bytes:
    return words.encode("utf-8", "surrogatepass")


def _head(path: str, body: memoryview, size: int) -> bytes:
    version = getattr(sys.modules["touchline"], "__version__", "")
    python = f"{sys.implementation.name} {sys.version} {sys.byteorder} {sys.flags.optimize}"
    who = f"{version} {python} {__file__} {path}"
    return MARK + f"{_mark(_raw(who))} {_mark(body)} {len(body)} {size}".encode()
