"""Where is a demo played? In a folder and a database of its own, removed afterwards or kept for a look."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from touchline.audit.visible import one_line
from touchline.cli.exits import Exit
from touchline.cli.place import command, meant
from touchline.cli.terminal import say
from touchline.errors import InputError
from touchline.store.place import Place

if TYPE_CHECKING:
    from touchline.agents.port import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A demo's folder and database."""

    folder: Path
    place: Place
    kept: bool

    def say_where(self, commands: Sequence[str]) -> None:
        """How a person looks at what was kept."""
        say(f"\nAll of it is in {self.folder}. Look around:")
        for each in commands:
            say(f"  {command(each)}")


def on_stage(keep: Path | None, play: Callable[[Stage], int]) -> int:
    """Play it and leave nothing behind, or all of it in a folder."""
    if keep is None:
        # An agent's last process may still write while the folder goes.
        with TemporaryDirectory(prefix="touchline-demo-", ignore_cleanup_errors=True) as folder:
            return play(_stage(Path(folder), kept=False))
    try:
        keep.mkdir(parents=True, exist_ok=True)
        taken = any(keep.iterdir())
    except OSError as error:
        raise InputError(
            f"--keep: {keep} cannot be made ({error.strerror}).", hint="Name a new folder where you may write."
        ) from error
    if taken:
        raise InputError(f"--keep: {keep} is not empty.", hint="Name a new folder.")
    return play(_stage(keep.resolve(), kept=True))


def _stage(folder: Path, *, kept: bool) -> Stage:
    # For this process alone: the agent's sessions go into the demo's folder, and `python3` is the one that runs us.
    os.environ["TOUCHLINE_SCRIPTED_HOME"] = str(folder / "agent")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    place = Place(url=f"sqlite:///{folder / 'demo.db'}", origin="given")
    if kept:
        meant(place)
    return Stage(folder=folder, place=place, kept=kept)


def level() -> Level | None:
    """Where bubblewrap cannot be used, a demo says so and runs all the same: its commands are harmless."""
    from touchline.agents.sandbox import probe

    found = probe(os.environ)
    if found.bubblewrap:
        return None
    say(f"No sandbox on this machine ({one_line(found.why_not, 200)}), so the scripted agent runs without one.")
    return "none"


def came_to(stages: Sequence[str], seen: Collection[str], code: int) -> int:
    """The exit code: a demo that left out what its script brings about went wrong, however it ended."""
    if missing := [stage for stage in stages if stage not in seen]:
        say(f"The demo did not come to: {', '.join(missing)}. The result above says why.")
        return code or Exit.FOUND
    return code
