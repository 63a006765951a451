"""How is what was worked out at one start kept for the next? One file, whole or not at all, for one interpreter alone.

It is only a short cut: written by this version of Touchline in this folder, under this interpreter, and not used where
anything differs. Inside are an index of plain values and the codes that it points into, as Python writes both into its
own compiled files; like those, it is checked for being whole and its own, not for every bit.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MARK = b"touchline.prepared/2 "
_LOOKED_AT = 4_096
"""Bytes at both ends of the content that are looked at: what a write left out is missing at its end."""


def read(path: str) -> tuple[Any, memoryview] | None:
    """The index and the codes that were kept there; None when it is not there, torn, strange, or another's."""
    try:
        with open(path, "rb") as file:
            raw = memoryview(file.read())
        head = bytes(raw[:200]).partition(b"\n")[0]
        body = raw[len(head) + 1 :]
        size = int(head.rpartition(b" ")[2])
        if head != _head(body, size):
            return None
        from marshal import loads

        return loads(body[:size]), body[size:]  # noqa: S302 - its owner's own, as compiled files are
    except (OSError, ValueError, EOFError, TypeError, ImportError):
        return None


def write(path: str, index: Any, codes: Iterable[bytes | memoryview]) -> bool:
    """Keep them, or give up: a short cut is not worth a fault."""
    new = f"{path}.{os.getpid()}.new"
    try:
        from marshal import dumps

        told = dumps(index)
        body = told + b"".join(codes)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(_head(memoryview(body), len(told)) + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except (OSError, ValueError, ImportError):
        return False
    return True


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
    ends = digest(body[:_LOOKED_AT]) + digest(body[-_LOOKED_AT:])
    return MARK + f"{digest(who.encode())} {ends} {len(body)} {size}".encode()
