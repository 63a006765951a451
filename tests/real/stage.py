"""A real CLI on a stage: its model is played by the rehearsal server, its sessions are run by the durable loop."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.agents.confined import probed
from tests.clis import clean_env
from tests.sessions.house import MARK, House, Story, alive, place_of, repository

from touchline.agents.port import Level
from touchline.rehearsal.pointing import Cli, point
from touchline.rehearsal.runs import Played
from touchline.rehearsal.script import parse_script
from touchline.rehearsal.server import RehearsalServer
from touchline.sessions.asked import Asked
from touchline.sessions.room import working_sessions
from touchline.supervision.limits import LIMITS

QUICK = replace(LIMITS, retry_delays=(0.1, 0.1), nudge_seconds=120)
REPLY = {"input": 1000, "cache_read": 200, "output": 50}
"""What one reply of the rehearsal costs."""


def level() -> Level:
    """The strongest confinement that serves every CLI here."""
    return "bubblewrap" if probed().bubblewrap else "none"


def environment(cli: Cli, url: str, folder: Path) -> dict[str, str]:
    """What a user's shell would have who points the CLI at the rehearsal server."""
    pointing = point(cli, url, folder / "home")
    pointing.write()
    env = clean_env(**pointing.env)
    # Tests that an agent runs need the interpreter, which is not always called python3 elsewhere.
    path = f"{env['PATH']}{os.pathsep}{Path(sys.executable).parent}"
    return {**env, "PATH": path, "TMPDIR": str(folder / "tmp"), MARK: str(folder)}


@dataclass
class Stage(House):
    """One CLI's sessions in this process, and the model they talk to. One script at a time."""

    cli: Cli
    server: RehearsalServer | None
    """None in a process that is going to be killed: there the model lives in the test's."""

    def ask(self, script: str, task: str = "Write the sum function.", **asked: Any) -> Asked:
        if self.server is not None:
            self.server.url(self.cli, parse_script(script))
        values: dict[str, Any] = {
            "task": task,
            "repository": str(self.repo),
            "agent": self.cli,
            "sandbox": level(),
            "environment": (MARK,),
        }
        return Asked(**{**values, **asked})

    def run(self, script: str, task: str = "Write the sum function.", **asked: Any) -> Story:
        """Play a script to a new session, and wait until the session rests. Nothing of it may be left running."""
        story = super().run(script, task, **asked)
        assert not alive(self.folder), "processes are left"
        return story

    def rest(self, id: str, *, unlike: str = "", seconds: float = 200.0) -> Story:
        return super().rest(id, unlike=unlike, seconds=seconds)

    @property
    def played(self) -> tuple[Played, ...]:
        """What the model was asked, without titles and the like."""
        assert self.server is not None
        return tuple(each for each in self.server.played(self.cli) if not each.aside)

    def heard(self, words: str) -> list[Played]:
        """The requests that brought these words to the model."""
        return [each for each in self.played if words in each.heard]

    def file(self, story: Story, name: str) -> str:
        """A file of the agent's clone."""
        return (Path(story.session.workspace) / name).read_text()


def tokens(story: Story) -> dict[str, int]:
    """What the session is said to have spent, over all models."""
    models = story.session.spent["models"].values()
    return {kind: sum(each[kind] for each in models) for kind in REPLY}


def cost_of(replies: int, *, cached_apart: bool = True) -> dict[str, int]:
    """What so many replies cost. Some CLIs tell cached input within the input only."""
    spent = {kind: each * replies for kind, each in REPLY.items()}
    if not cached_apart:
        spent = {**spent, "input": spent["input"] + spent["cache_read"], "cache_read": 0}
    return spent


@contextmanager
def staged(folder: Path, cli: Cli, url: str, server: RehearsalServer | None) -> Iterator[Stage]:
    """The stage in a folder, made when it is not there."""
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    repo = folder / "repo"
    if not repo.exists():
        repository(repo)
    with working_sessions(
        place_of(folder),
        env=environment(cli, url, folder),
        home=folder / "home",
        purpose="test",
        poll=0.02,
        limits=QUICK,
    ) as (engine, database):
        yield Stage(folder=folder, repo=repo, engine=engine, database=database, cli=cli, server=server)
    shutil.rmtree(folder / "tmp", ignore_errors=True)
