"""Where is Codex itself? Its npm package puts a Node launcher on the PATH, whose death the agent survives."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

_SYSTEMS = {"linux": "unknown-linux-musl", "darwin": "apple-darwin"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def native_program(path: Path) -> Path | None:
    """The native program behind a launcher of the npm package; the path itself when it is native already.

    None when the launcher's program is not where the package puts it.
    """
    real = path.resolve()
    if real.suffix not in (".js", ".mjs", ".cjs"):
        return path
    package = real.parent.parent
    machine, system = _MACHINES.get(platform.machine().lower()), _SYSTEMS.get(sys.platform)
    if machine is None or system is None:
        return None
    vendor = f"vendor/{machine}-{system}"
    # npm puts the platform's package beside this one, below it, or (older versions) its content into this one.
    places = (package.parent, package / "node_modules" / "@openai")
    candidates = [
        *(found for place in places for found in sorted(place.glob(f"codex-*/{vendor}/bin/codex"))),
        package / vendor / "bin" / "codex",
        package / vendor / "codex" / "codex",
    ]
    return next((found for found in candidates if found.is_file()), None)
