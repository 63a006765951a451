"""How does a CLI write its sessions, and not what the user's next session obeys? In a private home, inside the sandbox.

It lies in the place of the usual one. What the user has there is shown read-only in it; what the CLI writes is the
private home's alone. An agent may write that folder, so it is not trusted: nothing here follows a link in it, opens
what is no plain file, or takes from it more than the fields of a login.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from touchline.agents.port import PrivateHome
from touchline.transcripts.shapes import mapping

_MOST = 1 << 20
"""Bytes of a login that are read."""
_RENEWED: Mapping[str, type] = {"refresh": str, "access": str, "expires": int}
"""What a renewal of a login changes."""


def furnish(home: PrivateHome) -> tuple[str, ...]:
    """Make the private home ready; returns the names of what is to be shown of the user's.

    Each of these gets an empty place, for the sandbox to put the user's over it: made there, and not by the sandbox,
    which would go through a link that an agent has left.
    """
    for folder in (home.usual, home.private):
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    shown: list[str] = []
    for name in sorted(os.listdir(home.usual)):
        if name == home.tokens:
            continue
        if _fits(name, home.copied):
            _copy(home.usual / name, home.private / name)
        elif not _fits(name, home.own) and (home.usual / name).exists():
            _make_place(home.private / name, folder=(home.usual / name).is_dir())
            shown.append(name)
    share_tokens(home)
    return tuple(shown)


def share_tokens(home: PrivateHome) -> None:
    """A login that the CLI renewed in its private home is renewed in the user's file; then both say the same.

    Of entries that the user has, and that are `oauth` on both sides, only the tokens are taken, and only newer ones. A
    new entry is not: it may name an address from which the user's next session would take settings.
    """
    if not home.tokens:
        return
    usual, private = home.usual / home.tokens, home.private / home.tokens
    ours = _read(usual.resolve())
    if ours is None:
        return
    renewed = dict(ours)
    for name, entry in (_read(private) or {}).items():
        before, after = mapping(ours.get(name)), mapping(entry)
        if before.get("type") == after.get("type") == "oauth" and _expires(after) > _expires(before):
            taken = {key: after[key] for key, kind in _RENEWED.items() if isinstance(after.get(key), kind)}
            renewed[name] = {**before, **taken}
    if renewed != ours:
        _write(usual.resolve(), json.dumps(renewed, indent=2).encode())
    _write(private, json.dumps(renewed, indent=2).encode())


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _make_place(path: Path, *, folder: bool) -> None:
    if path.is_symlink() or (path.exists() and path.is_dir() is not folder):
        _remove(path)
    if folder:
        path.mkdir(exist_ok=True)
    elif not path.exists():
        _write(path, b"")


def _copy(source: Path, target: Path) -> None:
    """Unless the copy is newer: then it was renewed."""
    with suppress(OSError):
        there = target.lstat() if os.path.lexists(target) else None
        if there is None or not stat.S_ISREG(there.st_mode) or there.st_mtime < source.stat().st_mtime:
            _remove(target)
            _write(target, source.read_bytes())


def _read(path: Path) -> dict[str, Any] | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        value = json.loads(os.read(handle, _MOST))
    except (OSError, ValueError):
        return None
    finally:
        os.close(handle)
    return value if isinstance(value, dict) else None


def _write(path: Path, content: bytes) -> None:
    """All or nothing, and never through a link that lies there."""
    new = path.with_name(f".{path.name}.touchline")
    with suppress(OSError):
        _remove(new)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        new.replace(path)


def _expires(entry: Mapping[str, Any]) -> float:
    value = entry.get("expires")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
