"""What did earlier work in this repository teach? Short notes under `.touchline/lessons/`, told as a session starts."""

from __future__ import annotations

import posix

from touchline.plain_os import dirname, exists, isabs, isdir, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import DirEntry

CHARS = 4_000
"""All lessons together: more would be read once and weigh on every turn."""
EACH = 1_200
FILES = 40
HEADING = "[System Coach] Lessons from earlier work in this repository (.touchline/lessons):"


def lessons_of(folder: str, home: str) -> str:
    """The lessons of the repository around a folder, newest first; an empty text when there are none."""
    place = _lessons_folder(folder, home)
    if place is None:
        return ""
    # A link may lead anywhere on this machine, and what it leads to would be told to a model.
    files = [e for e in posix.scandir(place) if e.name.endswith(".md") and not e.name.startswith(".") and _is_own(e)]
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


def _is_own(entry: DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _lessons_folder(folder: str, home: str) -> str | None:
    """The nearest one, not looked for beyond the repository or the person's home."""
    if not isabs(folder):
        return None
    here = folder
    while True:
        found = join(here, ".touchline", "lessons")
        if isdir(found):
            from os.path import realpath  # only where there are lessons

            return found if realpath(found) == join(realpath(here), ".touchline", "lessons") else None
        above = dirname(here)
        if above == here or exists(join(here, ".git")) or here == home:
            return None
        here = above
