"""How is a missing package installed? By the ecosystem that the repository shows, into the task's own clone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import replace

from touchline.roles.validation.results import Outcome
from touchline.roles.validation.running import Site, run_command

PACKAGES = ".touchline-packages"
"""Where pip puts what it installs: inside the scratch clone, never in the user's own environment."""
_NAME = re.compile(r"@?[A-Za-z0-9][A-Za-z0-9._/-]*")
_BY_FILE = (
    ("package.json", "npm install --no-audit --no-fund {name}"),
    ("go.mod", "go get {name}"),
    ("Cargo.toml", "cargo add {name}"),
)


def install_command(files: Collection[str], package: str) -> str:
    """The command for what lies at the top of the repository; Python where nothing else is declared. Empty when the
    name is none that a package can have: it comes from a program's output."""
    if not _NAME.fullmatch(package):
        return ""
    for file, command in _BY_FILE:
        if file in files:
            return command.format(name=shlex.quote(package))
    return f"python3 -m pip install --quiet --disable-pip-version-check --target {PACKAGES} {shlex.quote(package)}"


def install(site: Site, package: str, *, name: str, seconds: float) -> Site | None:
    """Install it in the site's clone; the site as the check must see it then, or None when that did not work."""
    files = [each.name for each in site.workspace.iterdir()]
    command = install_command(files, package)
    if run_command(command, site, name=name, seconds=seconds).outcome is not Outcome.PASSED:
        return None
    known = site.env.get("PYTHONPATH", "")
    paths = ":".join(filter(None, (str(site.workspace / PACKAGES), known)))
    return replace(site, env={**site.env, "PYTHONPATH": paths})
