"""Is this machine ready for Touchline? The checks of `touchline doctor` about programs and packages.

Each looks and says what it saw; none makes, changes or starts anything but `--version` of a program.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from touchline import __version__
from touchline.audit.visible import one_line
from touchline.own_package import how_to_install, needed
from touchline.store.checked import Checked, ok, problem, warning

LEAST_PYTHON = (3, 11)
LEAST_SQLITE = (3, 35, 0)
AGENTS = ("claude", "codex", "gemini", "opencode")
ANSWER_SECONDS = 15
"""How long a program may take to say its version."""
# Saying a version must not become an update.
_QUIET = {"DISABLE_AUTOUPDATER": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Packages that serve one purpose."""

    id: str
    """The check's name."""
    packages: tuple[str, ...]
    purpose: str
    extra: str = ""
    """The extra that brings them."""


_CLI = ("typer", "rich")


def groups() -> tuple[Group, ...]:
    """All that the package says it needs, by purpose."""
    engine = tuple(each for each in needed() if each not in _CLI)
    return (
        Group(id="packages.cli", packages=_CLI, purpose="the command line"),
        Group(id="packages.engine", packages=engine, purpose="the database, events, workers and models' answers"),
        Group(id="extra.fast", packages=needed("fast"), purpose="reading logs faster", extra="fast"),
    )


def check_packages() -> Iterator[Checked]:
    """Python, Touchline, and what it stands on."""
    running = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= LEAST_PYTHON:
        yield ok("python", f"{running} ({sys.executable})")
    else:
        yield problem("python", running, fix=f"Use Python {'.'.join(map(str, LEAST_PYTHON))} or newer.")
    yield ok("touchline", f"{__version__} ({Path(__file__).parents[1]})")
    for group in groups():
        yield check_group(group)
    yield check_sqlite(sqlite3.sqlite_version)


def check_sqlite(version: str) -> Checked:
    if tuple(map(int, version.split("."))) >= LEAST_SQLITE:
        return ok("sqlite", version)
    least = ".".join(map(str, LEAST_SQLITE[:2]))
    return problem("sqlite", f"{version}, needed is {least}", fix="Use a Python with a newer SQLite, or PostgreSQL.")


def check_programs(path: str | None = None) -> Iterator[Checked]:
    """git, bubblewrap, and the agents' command lines on the PATH, asked at the same time."""
    names = ("git", "bwrap", *AGENTS)
    with ThreadPoolExecutor(len(names)) as pool:
        said = dict(zip(names, pool.map(lambda name: _asked(name, path), names), strict=True))
    yield said["git"] or warning("git", "not found", fix="Install git: agents work in clones of a repository.")
    yield said["bwrap"] or warning(
        "bwrap", "not found", fix="Install bubblewrap: without it agents have only the sandbox of their own CLI."
    )
    found = [each for name in AGENTS if (each := said[name]) is not None]
    yield from found
    if not found:
        yield warning(
            "agents",
            f"none of {', '.join(AGENTS)} was found on the PATH",
            fix="Install one of them: `touchline run` says how. `touchline demo` and `touchline audit` work without.",
        )


def check_group(group: Group) -> Checked:
    """Are these packages there?"""
    if not group.packages:
        found = "not known: Touchline runs here without being installed"
        return warning(group.id, found, fix=how_to_install(group.extra))
    versions: list[str] = []
    missing: list[str] = []
    for package in group.packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    if not missing:
        return ok(group.id, ", ".join(versions))
    return warning(
        group.id, f"not installed: {', '.join(missing)} (for {group.purpose})", fix=how_to_install(group.extra)
    )


def _asked(name: str, path: str | None) -> Checked | None:
    """The program's answer to `--version`; None when there is no such program."""
    found = shutil.which(name, path=path)
    if found is None:
        return None
    check = f"agent.{name}" if name in AGENTS else name
    fix = f"Try it by hand: {found} --version"
    try:
        process = subprocess.Popen(  # noqa: S603
            [found, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **_QUIET},
        )
    except OSError as error:
        return warning(check, f"{found} does not start ({error.strerror})", fix=fix)
    try:
        output, _ = process.communicate(timeout=ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        # With all it started: it has a process group of its own.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return warning(check, f"{found} did not say its version within {ANSWER_SECONDS} s", fix=fix)
    version = one_line(output[:400].decode(errors="replace"), 60)
    if process.returncode != 0 or not version:
        return warning(check, f"{found} --version ended with exit code {process.returncode}", fix=fix)
    return ok(check, f"{version} ({found})")
