"""How does the scripted agent read a script fast? From a plain copy: reading YAML takes longer than all else it does.

Whoever starts the agent checks the script and leaves the copy. Without one the agent reads the script itself.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from functools import lru_cache
from pathlib import Path

from touchline.errors import ScriptError
from touchline.rehearsal.fields import Source
from touchline.rehearsal.script import load_script, script_of
from touchline.rehearsal.turns import Script

ENDING = ".script.json"


def write_copy(path: Path, folder: Path) -> Path:
    """Check a script and leave a copy of it under `folder`. Raises `ScriptError`.

    The copy is named after the script's content: a changed script has another one.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ScriptError(
            f"{path}: the script cannot be read ({error.strerror}).", hint="Check the path and its rights."
        ) from None
    copy = folder / f"{len(content)}-{zlib.crc32(content):08x}-{zlib.adler32(content):08x}{ENDING}"
    plain = _plain(path, content)
    if not copy.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = copy.with_suffix(f".{os.getpid()}.part")
        part.write_text(plain, encoding="utf-8")
        part.replace(copy)
    return copy


def read_script(path: Path) -> Script:
    """The script in a file or in a copy. Raises `ScriptError`."""
    if not path.name.endswith(ENDING):
        if sys.flags.no_site:
            import site

            site.main()  # the agent starts without the installed packages, and the YAML reader is one
        return load_script(path)
    try:
        kept = json.loads(path.read_bytes())
        lines = {tuple(place): line for place, line in kept["lines"]}
        source = Source(file=kept["file"], data=kept["data"], lines=lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScriptError(f"{path}: this copy of a script cannot be read ({error}).", hint="Name the script.") from None
    return script_of(source)


@lru_cache(maxsize=64)
def _plain(path: Path, content: bytes) -> str:
    """The copy's text. The content is what is remembered by; a session asks for the same one every turn."""
    from touchline.rehearsal.yaml_source import source_of

    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScriptError(f"{path}: the script is not UTF-8 text ({error.reason}).", hint="Save it as UTF-8.") from None
    source = source_of(text, file=str(path))
    script_of(source)
    lines = [[list(place), line] for place, line in source.lines.items()]
    return json.dumps({"file": source.file, "data": source.data, "lines": lines})
