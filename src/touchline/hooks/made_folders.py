"""Which folders did `install` make? Only those go with its file, when they are empty again.

A note in the state folder: an empty folder does not tell who made it. Where no note can be written the folder stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from touchline.hooks.memory import state_folder


def note_of(env: Mapping[str, str]) -> Path:
    return Path(state_folder(env)) / "hook-folders.json"


def make(folder: Path, note: Path) -> None:
    """Make the folder and those above it, and note which were missing."""
    missing = {str(each) for each in (folder, *folder.parents) if not each.exists()}
    folder.mkdir(parents=True, exist_ok=True)
    if missing:
        _write(note, _noted(note) | missing)


def tidy(folder: Path, note: Path) -> None:
    """Remove the folder, and those above it, as far as they were made for our file and hold nothing."""
    noted = _noted(note)
    ours = {str(each) for each in (folder, *folder.parents)} & noted
    if not ours:
        return
    try:
        for each in (folder, *folder.parents):
            if str(each) not in ours:
                break
            each.rmdir()
    except OSError:
        pass  # somebody else has put something into it: it is theirs now
    _write(note, noted - ours)


def _noted(note: Path) -> set[str]:
    try:
        found = json.loads(note.read_text())
    except (OSError, ValueError):
        return set()
    return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()


def _write(note: Path, folders: set[str]) -> None:
    try:
        if not folders:
            note.unlink(missing_ok=True)
            return
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        note.write_text(json.dumps(sorted(folders)) + "\n")
    except OSError:
        pass
