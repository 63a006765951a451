"""What exactly is running here? `touchline --version --json`, for bug reports and for programs; starts nothing."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from pathlib import Path
from typing import Any

from touchline import __version__
from touchline.cli.sheet import print_json
from touchline.own_package import needed


def print_version_json() -> None:
    print_json("touchline.version/1", version_facts())


def version_facts() -> dict[str, Any]:
    from touchline.agents.registry import driver_names

    return {
        "version": __version__,
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "platform": {"system": platform.system(), "release": platform.release(), "machine": platform.machine()},
        "executable": sys.executable,
        "installed": str(Path(__file__).parents[1]),
        "database_revision": newest_revision(),
        "agents": list(driver_names()),
        "packages": {name: _version(name) for name in sorted({*needed(), *needed("fast"), *needed("models")})},
    }


def newest_revision() -> str:
    """The newest state of the tables that this program knows; read from the names of the migrations, which are loaded
    only where a database is."""
    from touchline import store

    folder = Path(store.__file__ or "").with_name("migrations") / "versions"
    found = sorted(match[0] for each in folder.glob("*.py") if (match := re.match(r"\d{4}", each.name)))
    return found[-1] if found else ""


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
