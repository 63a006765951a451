"""How is a repository set up for Touchline? Look, show, ask, write; then say what to do next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from touchline.agents.workspaces.repository import find_repository
from touchline.audit.visible import visible
from touchline.cli.asking import agree
from touchline.cli.init_found import Seen, see, settings_text
from touchline.cli.sheet import print_facts, print_json
from touchline.cli.terminal import say
from touchline.errors import InputError, SettingsError, WorkspaceError
from touchline.settings.files import read_file
from touchline.settings.folders import PROJECT_FILE
from touchline.settings.loading import project_root
from touchline.settings.trust import guarded_of, remember


def run(*, yes: bool, force: bool, dry_run: bool, as_json: bool) -> None:
    """Set up the repository around the present folder."""
    root = project_root(Path.cwd())
    path = root / PROJECT_FILE
    if not dry_run:
        _require_writable(path, force=force)
    seen = see(root, os.environ)
    text = settings_text(seen)
    next_step = _next(seen, has_commit=_has_commit(root))
    if not as_json:
        print_facts(_facts(seen))
        print(f"\n{visible(text)}")
    if not dry_run:
        if not yes:
            agree(f"Write {path}?")
        _write(path, text, force=force)
        _trust(path)
    if as_json:
        print_json("touchline.init/1", _as_dict(seen, path, text, written=not dry_run, next_step=next_step))
        return
    if not dry_run:
        say(f"Written: {path}")
    say(f"Next: {next_step}")


def _require_writable(path: Path, *, force: bool) -> None:
    """Told before anything is looked for."""
    if os.path.lexists(path) and not force:
        raise InputError(
            f"{path} is there already.",
            hint="See what it says with: touchline config show --origin   or replace it: touchline init --force",
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path.parent} may not be written.", hint="As its owner: chmod u+w, or work in a copy.")


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        # Without --force a file that came meanwhile stays; a link is never followed.
        if force and path.is_symlink():
            raise InputError(f"{path} is a link.", hint="Remove it, or edit the file it leads to.")
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} is there already.", hint="Replace it with: touchline init --force") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).", hint="Check who may write there.") from error


def _trust(path: Path) -> None:
    """Who had the file made has seen what it says."""
    file = read_file(path)
    guarded = guarded_of(file.values()) if file is not None else {}
    if not guarded:
        return
    try:
        remember(path.parent, guarded, env=os.environ, home=Path.home())
    except SettingsError as error:
        say(f"{error.message} Until it can be, this is not used: {', '.join(guarded)}.")


def _has_commit(root: Path) -> bool:
    """An agent works in a clone of the last commit, so a run needs one."""
    try:
        return find_repository(root, os.environ).commit("HEAD") is not None
    except WorkspaceError:
        return True  # no git, or one that is too old: a run says what to do


def _next(seen: Seen, *, has_commit: bool) -> str:
    if seen.agent is None:
        return "touchline doctor   (no agent starts here; it says what to do)"
    if not seen.sandbox.bubblewrap and not seen.agent.own_sandbox:
        return "touchline doctor   (no sandbox works here; it says what to do)"
    run = 'touchline run "Say what the agent is to do"'
    return run if has_commit else f"git add -A && git commit -m Start   (agents work in a clone of it); then: {run}"


def _facts(seen: Seen) -> dict[str, str]:
    facts = {"repository": str(seen.root)}
    for each in seen.agents:
        words = f"{each.version or 'does not say its version, so it may not start'} ({each.path})"
        facts[f"agent {each.name}"] = f"{words}\n{each.warning}".strip()
    if not seen.agents:
        facts["agents"] = "none is on the PATH"
    for check in seen.checks:
        facts[check.kind] = f"{check.command} ({check.found_in})"
    if not seen.checks:
        facts["commands"] = "none found for tests, build or style"
    works = "bubblewrap works" if seen.sandbox.bubblewrap else f"no bubblewrap: {seen.sandbox.why_not}"
    return {**facts, "sandbox": works}


def _as_dict(seen: Seen, path: Path, text: str, *, written: bool, next_step: str) -> dict[str, Any]:
    return {
        "root": str(seen.root),
        "file": str(path),
        "written": written,
        "text": text,
        "agents": [
            {"name": a.name, "path": a.path, "version": a.version, "starts": a.starts, "warning": a.warning}
            for a in seen.agents
        ],
        "checks": [{"kind": c.kind, "command": c.command, "found_in": c.found_in} for c in seen.checks],
        "languages": dict(seen.languages),
        "sandbox": {"bubblewrap": seen.sandbox.bubblewrap, "why_not": seen.sandbox.why_not, "hint": seen.sandbox.hint},
        "next": next_step,
    }
