"""What did earlier work in this repository teach? Short notes under `.touchline/lessons/`, told as a session starts."""

from __future__ import annotations

import os

CHARS = 4_000
"""All lessons together: more would be read once and weigh on every turn."""
EACH = 1_200
FILES = 40
HEADING = "[System Coach] Lessons from earlier work in this repository (.touchline/lessons):"


def lessons_of(folder: str) -> str:
    """The lessons of the repository around a folder, newest first; an empty text when there are none."""
    home = _lessons_folder(folder)
    if home is None:
        return ""
    # A link may lead anywhere on this machine, and what it leads to would be told to a model.
    files = [e for e in os.scandir(home) if e.name.endswith(".md") and not e.name.startswith(".") and _is_own(e)]
    files.sort(key=lambda e: (e.stat().st_mtime, e.name), reverse=True)
    parts = [HEADING]
    left = CHARS
    for file in files[:FILES]:
        with open(file.path, encoding="utf-8", errors="replace") as opened:
            words = opened.read(EACH + 1).strip()
        if len(words) > EACH:
            words = words[:EACH].rstrip() + f"… (more in {file.name})"
        if not words or len(words) > left:
            continue
        left -= len(words)
        parts.append(words)
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _is_own(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _lessons_folder(folder: str) -> str | None:
    """The nearest one, not looked for beyond the repository or the person's home."""
    if not os.path.isabs(folder):
        return None
    here = folder
    while True:
        found = os.path.join(here, ".touchline", "lessons")
        if os.path.isdir(found):
            return (
                found
                if os.path.realpath(found) == os.path.join(os.path.realpath(here), ".touchline", "lessons")
                else None
            )
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")) or here == os.path.expanduser("~"):
            return None
        here = above
