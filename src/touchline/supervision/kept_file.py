"""How is what was worked out at one start kept for the next? One file, whole or not at all, for one interpreter alone.

It is only a short cut: written by this version of Touchline in this folder, under this interpreter, and not used where
anything differs. Inside are an index of plain values and the pieces that it points into, as Python writes both into its
own compiled files; a piece is only looked at when somebody asks for it. A file that somebody else could have written,
or in which a bit is off, is not used.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MARK = b"touchline.prepared/4 "


class Pieces:
    """What is kept of one kind, by name: what is told of it, and its bytes."""

    __slots__ = ("_body", "_places", "added")

    def __init__(self, places: dict[str, tuple[Any, int, int]] | None = None, body: memoryview | None = None) -> None:
        self._places = {} if places is None else places
        self._body = memoryview(b"") if body is None else body
        self.added: dict[str, tuple[Any, bytes]] = {}

    def get(self, name: str) -> tuple[Any, bytes | memoryview] | None:
        if name in self.added:
            return self.added[name]
        place = self._places.get(name)
        return None if place is None else (place[0], self._body[place[1] : place[2]])

    def drop(self, name: str) -> None:
        self.added.pop(name, None)
        self._places.pop(name, None)

    def placed(self, body: list[bytes | memoryview]) -> dict[str, tuple[Any, int, int]]:
        """What is told of each piece, and where in the body it will stand, to which it is added."""
        placed: dict[str, tuple[Any, int, int]] = {}
        at = sum(map(len, body))
        for name in {**self._places, **self.added}:
            if (found := self.get(name)) is not None:
                placed[name] = (found[0], at, at + len(found[1]))
                body.append(found[1])
                at += len(found[1])
        return placed


def read(path: str) -> tuple[Pieces, ...] | None:
    """The pieces of each kind that were kept there; None when it is not there, torn, strange, or another's."""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                return None
            raw = memoryview(file.read())
        head = bytes(raw[:200]).partition(b"\n")[0]
        body = raw[len(head) + 1 :]
        size = int(head.rpartition(b" ")[2])
        if head != _head(body, size):
            return None
        from marshal import loads

        kinds = loads(body[:size])  # noqa: S302 - its owner's own, as compiled files are
        return tuple(Pieces(places, body[size:]) for places in kinds)
    except (OSError, ValueError, EOFError, TypeError, ImportError):
        return None


def write(path: str, kinds: Sequence[Pieces]) -> bool:
    """Keep them, or give up: a short cut is not worth a fault."""
    new = f"{path}.{os.getpid()}.new"
    try:
        from marshal import dumps

        pieces: list[bytes | memoryview] = []
        index = dumps(tuple(kind.placed(pieces) for kind in kinds))
        body = index + b"".join(pieces)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(_head(memoryview(body), len(index)) + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except (OSError, ValueError, ImportError):
        _give_up(new)
        return False
    return True


def _give_up(half_written: str) -> None:
    try:  # noqa: SIM105 - contextlib takes longer to load than all that is saved here
        os.unlink(half_written)
    except OSError:
        pass


def digest(data: bytes | memoryview) -> str:
    """Tells one text from another. Python's own for its compiled files: quick, and no protection against anybody."""
    from _imp import source_hash

    return source_hash(0, data).hex()


def stamp(path: str) -> tuple[int, int]:
    """Changes with a file's content, as far as Python trusts it to for its own compiled files: its time and size."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def _head(body: memoryview, size: int) -> bytes:
    version = getattr(sys.modules["touchline"], "__version__", "")
    who = f"{version} {sys.implementation.name} {sys.version} {sys.byteorder} {__file__}"
    return MARK + f"{digest(who.encode())} {digest(body)} {len(body)} {size}".encode()
