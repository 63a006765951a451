"""Is an error a fault of the machine, and not of Touchline? Then it is told in a sentence, with what to do next.

Only what cannot well be a mistake of ours: no rights, no room, no folder to stand in. A file that is just not there may
be one that we forgot, so it stays a fault of Touchline wherever nobody named that file.
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple


class Told(NamedTuple):
    """What to say about it."""

    words: str
    hint: str


_RIGHTS = "Check who may read and write there."
_ROOM = "Make room there."
_PATH = "Name another place."
_LIMIT = "End other programs, or raise the limit: ulimit -a shows it."
_AT_A_PATH = {
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: _RIGHTS,
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EIO: "Check the disk.",
    errno.ESTALE: "Check the network file system.",
    errno.ENOTDIR: _PATH,
    errno.EISDIR: _PATH,
    errno.ELOOP: _PATH,
    errno.ENAMETOOLONG: _PATH,
}
_ANYWHERE = {errno.EMFILE: _LIMIT, errno.ENFILE: _LIMIT, errno.ENOMEM: _LIMIT, errno.EAGAIN: _LIMIT}


def told(error: OSError | RuntimeError) -> Told | None:
    """The sentence; None where the fault may be ours."""
    if isinstance(error, RuntimeError):
        # As in a container whose user has a number and no name.
        homeless = str(error).startswith("Could not determine home directory")
        return (
            Told("no home folder is known for this user.", "Name one: export HOME=/some/folder") if homeless else None
        )
    if str(error.strerror).startswith("No usable temporary directory"):
        return Told("no folder for temporary files may be written.", "Name one: export TMPDIR=/some/folder")
    if error.errno == errno.ENOENT and not _stands_somewhere():
        return Told("the current folder is not there any more.", "Change into another one: cd")
    if error.errno in _ANYWHERE:
        return Told(f"the system gave no more ({error.strerror}).", _ANYWHERE[error.errno])
    if error.filename is None or error.errno not in _AT_A_PATH:
        return None
    return Told(f"{os.fsdecode(error.filename)} cannot be used ({error.strerror}).", _AT_A_PATH[error.errno])


def _stands_somewhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True
