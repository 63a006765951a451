"""What a hook needs of `os`, without it: `os` makes all abstract collections ready, a quarter of a bare start.

The calls themselves are those of `os`, which takes them from here, too. Paths are told as `os.path` tells them.
"""

from __future__ import annotations

import sys
from posix import environ as _raw
from posix import mkdir, stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER, _FILE, _KIND = 0o040000, 0o100000, 0o170000


def environment() -> Mapping[str, str]:
    """The variables of this process; where `os` is loaded its own, which may have been changed since."""
    if "os" in sys.modules:
        from os import environ

        return environ
    return {_text(name): _text(value) for name, value in _raw.items()}


def _text(raw: bytes) -> str:
    return raw.decode(sys.getfilesystemencoding(), "surrogateescape")


def home_of(env: Mapping[str, str]) -> str:
    """The person's own folder."""
    if home := env.get("HOME"):
        return home
    from os.path import expanduser

    return expanduser("~")


def join(path: str, *more: str) -> str:
    for each in more:
        path = each if each.startswith("/") else f"{path}{each}" if not path or path.endswith("/") else f"{path}/{each}"
    return path


def isabs(path: str) -> bool:
    return path.startswith("/")


def dirname(path: str) -> str:
    head = path[: path.rfind("/") + 1]
    return head.rstrip("/") or head


def abspath(path: str) -> str:
    if path.startswith("/") and "/." not in path and "//" not in path and not path.endswith("/"):
        return path
    from os.path import abspath as worked_out

    return worked_out(path)


def exists(path: str) -> bool:
    return _kind(path) >= 0


def isdir(path: str) -> bool:
    return _kind(path) == _FOLDER


def isfile(path: str) -> bool:
    return _kind(path) == _FILE


def _kind(path: str) -> int:
    try:
        return stat(path).st_mode & _KIND
    except (OSError, ValueError):
        return -1


def makedirs(path: str, mode: int) -> None:
    """Make a folder and those above it, unless it is there; the mode is that of the last."""
    above = dirname(path)
    if above not in ("", path) and not exists(above):
        makedirs(above, 0o777)
    try:
        mkdir(path, mode)
    except OSError:
        # Not only `FileExistsError`: what is there may stand on a disk that is read-only.
        if not isdir(path):
            raise
