"""Does the user agree to what a project's file wants? Shown, asked and written down."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from touchline.audit.visible import visible
from touchline.cli.asking import agree
from touchline.cli.exits import Exit
from touchline.cli.sheet import print_json
from touchline.cli.terminal import say
from touchline.settings.files import read_file
from touchline.settings.folders import PROJECT_FILE
from touchline.settings.keys import require_key
from touchline.settings.loading import project_root
from touchline.settings.trust import guarded_of, is_trusted, remember
from touchline.settings.values import shown


def run(*, yes: bool, forget: bool, as_json: bool) -> None:
    """Show what needs trust, ask, and remember."""
    env, home, root = os.environ, Path.home(), project_root(Path.cwd())
    if forget:
        remember(root, None, env=env, home=home)
        _tell("forgotten", {}, as_json, f"{root / PROJECT_FILE} is not trusted any more.")
        return
    file = read_file(root / PROJECT_FILE)
    if file is None:
        say(f"There is no {root / PROJECT_FILE}. Make one with: touchline init")
        raise typer.Exit(Exit.NOTHING)
    guarded = guarded_of(file.values())
    lines = {name: shown(require_key(name), value) for name, value in guarded.items()}
    if not guarded:
        _tell("nothing", lines, as_json, f"{file.path} holds nothing that needs trust.")
        return
    if not as_json:
        for name, value in lines.items():
            print(visible(f"{file.path.name}:{file.lines.get(name, 0)}: {name} = {value}"))
    if is_trusted(root, guarded, env=env, home=home):
        _tell("trusted", lines, as_json, "This is trusted already.")
        return
    if not yes:
        agree(f"Let {file.path} decide this?")
    where = remember(root, guarded, env=env, home=home)
    _tell("trusted", lines, as_json, f"Trusted, until one of these values changes. Written down in {where}.")


def _tell(result: str, settings: dict[str, str], as_json: bool, words: str) -> None:
    if as_json:
        print_json("touchline.trust/1", {"result": result, "settings": settings})
    else:
        say(words)
