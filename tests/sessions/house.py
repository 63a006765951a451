"""A repository, a database and a script, and the scripted agent working on them through the real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.glances import Glances

from touchline.agents.port import Driver, Launch
from touchline.engine.port import Engine
from touchline.rehearsal.driver import Scripted
from touchline.sessions.asked import Asked
from touchline.sessions.records import (
    DecisionRecord,
    SessionRecord,
    TurnRecord,
    decisions_of_session,
    session_record,
    turns_of_session,
)
from touchline.sessions.room import working_sessions
from touchline.sessions.starting import start_session
from touchline.sessions.stopping import parked_job
from touchline.store.database import Database
from touchline.store.events import Event, read
from touchline.store.log_tables import events, outbox
from touchline.store.place import Place
from touchline.supervision.facts import Call, Result
from touchline.supervision.limits import LIMITS, Limits

MARK = "TOUCHLINE_SESSIONS_TEST"
FAST = replace(LIMITS, retry_delays=(0.1, 0.1), nudge_seconds=30)
PASSING = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1 + 1, 2)\n"
RESTING = frozenset({"delivered", "failed", "waiting", "stopped", "dropped"})


class Mute(Scripted):
    """The scripted agent as a CLI that takes no message in mid-turn."""

    name = "mute"
    abilities = replace(Scripted.abilities, speak=False)


class Silent(Scripted):
    """The scripted agent as a CLI that does not tell what it costs."""

    name = "silent"

    def converse(self, request: Any, *, spent_before: Any = None) -> Any:
        conversation = super().converse(request, spent_before=spent_before)
        finish = conversation.finish
        conversation.finish = lambda **known: replace(finish(**known), cost_usd=None)  # type: ignore[method-assign]
        return conversation


class Sessionless(Scripted):
    """The scripted agent as a CLI that cannot go on with a session."""

    name = "sessionless"
    abilities = replace(Scripted.abilities, resume=False)


class Liar(Scripted):
    """A CLI that writes whatever the lines in its settings say, and means none of it."""

    name = "liar"

    def launch(self, request: Any, found: Any, env: Any) -> Launch:
        lines = [json.dumps(line) for line in request.settings["lines"]]
        return Launch(argv=("printf", r"%s\n", *lines), talks=True)


class Forgetful(Scripted):
    """The scripted agent as a CLI that has lost every conversation it is to go on with."""

    name = "forgetful"

    def launch(self, request: Any, found: Any, env: Any) -> Launch:
        if request.session is not None:
            (Path(env["TOUCHLINE_SCRIPTED_HOME"]) / "sessions" / f"{request.session}.jsonl").unlink()
        return super().launch(request, found, env)


class Timeless(Scripted):
    """The scripted agent as a CLI that tells no time of anything it does."""

    name = "timeless"

    def converse(self, request: Any, *, spent_before: Any = None) -> Any:
        conversation = super().converse(request, spent_before=spent_before)
        finish = conversation.finish

        def timeless(**known: Any) -> Any:
            turn = finish(**known)
            told = [replace(each, at=None) if isinstance(each, Call | Result) else each for each in turn.events]
            return replace(turn, events=tuple(told))

        conversation.finish = timeless  # type: ignore[method-assign]
        return conversation


class Fenced(Scripted):
    """The scripted agent as a CLI that confines its tools by itself."""

    name = "fenced"
    abilities = replace(Scripted.abilities, own_sandbox=True)


DRIVERS: dict[str, Driver] = {
    driver.name: driver
    for driver in (Scripted(), Mute(), Silent(), Liar(), Forgetful(), Timeless(), Sessionless(), Fenced())
}


def repository(folder: Path) -> Path:
    """A small repository with one commit."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("A sample.\n")
    (folder / "test_sample.py").write_text(PASSING)
    (folder / ".gitignore").write_text("__pycache__/\n")
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Ann"],
        ["config", "user.email", "ann@example.org"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Begin"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder


def place_of(folder: Path) -> Place:
    return Place(url=f"sqlite:///{folder / 'app.db'}", origin="given")


def environment(folder: Path) -> dict[str, str]:
    """What a user's shell would have, with a secret in it."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "TOUCHLINE_SCRIPTED_HOME": str(folder / "scripted"),
        "GITHUB_TOKEN": "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
        MARK: str(folder),
    }


@dataclass
class House:
    """One process's sessions."""

    folder: Path
    repo: Path
    engine: Engine
    database: Database
    glance: Glances = field(init=False)

    def __post_init__(self) -> None:
        self.glance = Glances(self.database)

    def ask(self, script: str, task: str = "Write the sum function.", **asked: Any) -> Asked:
        path = self.folder / f"script-{time.monotonic_ns()}.yaml"
        path.write_text(script)
        values: dict[str, Any] = {
            "task": task,
            "repository": str(self.repo),
            "agent": "scripted",
            "sandbox": "none",
            "settings": {"script": str(path)},
            "environment": (MARK,),
        }
        return Asked(**{**values, **asked})

    def run(self, script: str, task: str = "Write the sum function.", **asked: Any) -> Story:
        """Start a session and wait until it rests."""
        return self.rest(start_session(self.engine, self.database, self.ask(script, task, **asked)))

    def rest(self, id: str, *, unlike: str = "", seconds: float = 60.0) -> Story:
        """Wait until it rests, in another status than `unlike`."""
        until = time.monotonic() + seconds
        while True:
            session = self.session(id)
            if session.status in RESTING - {unlike}:
                answering = session.state.answering
                job = self.engine.status(parked_job(answering) if answering else session.job)
                if job is None or job.state.ended:
                    return self.story(id)
            assert time.monotonic() < until, f"{id} is still {session.status}: {self.story(id).told()}"
            time.sleep(0.02)

    def until(self, id: str, happened: Callable[[Story], bool], seconds: float = 60.0) -> Story:
        until = time.monotonic() + seconds
        while not happened(story := self.story(id)):
            assert time.monotonic() < until, f"it never came: {story.told()}"
            time.sleep(0.02)
        return story

    def prompts(self, story: Story) -> list[str]:
        """What the scripted agent's process was told, word for word."""
        memory = self.folder / "scripted" / "sessions" / f"{story.session.cli_session_id}.jsonl"
        return [said["user"] for said in map(json.loads, memory.read_text().splitlines()) if "user" in said]

    def session(self, id: str) -> SessionRecord:
        def read() -> SessionRecord:
            with self.database.reading() as connection:
                return session_record(connection, id)

        return self.glance(("session", id), read)

    def story(self, id: str) -> Story:
        return self.glance(("story", id), lambda: story_of(self.database, id))


@dataclass
class Story:
    """All that is left of a session."""

    session: SessionRecord
    turns: tuple[TurnRecord, ...]
    decisions: tuple[DecisionRecord, ...]
    events: list[Event]
    parcels: list[tuple[str, str]]

    @property
    def actions(self) -> list[str]:
        return [f"{each.action}:{each.reason}" for each in self.decisions]

    @property
    def kinds(self) -> list[str | None]:
        return [turn.kind for turn in self.turns]

    def of(self, type: str) -> list[dict[str, Any]]:
        return [event.payload for event in self.events if event.type == type]

    def told(self) -> str:
        last = [(event.type, event.payload) for event in self.events[-8:]]
        return f"{self.session.reason} {self.session.detail} {self.actions} {last}"


def story_of(database: Database, id: str) -> Story:
    with database.reading() as connection:
        query = sa.select(outbox.c.key, outbox.c.status).where(outbox.c.key.like(f"{id}/%"))
        first = connection.scalar(sa.select(sa.func.min(events.c.seq)).where(events.c.session_id == id)) or 0
        return Story(
            session=session_record(connection, id),
            turns=turns_of_session(connection, id),
            decisions=decisions_of_session(connection, id),
            events=[event for event in read(connection, first - 1, limit=100_000) if event.ids.session == id],
            parcels=[(key, status) for key, status in connection.execute(query)],
        )


@contextmanager
def opened(folder: Path, place: Place | None = None, limits: Limits = FAST) -> Iterator[House]:
    """The house in a folder, made when it is not there; with a database in it, or in another place."""
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    repo = folder / "repo"
    if not repo.exists():
        repository(repo)
    with working_sessions(
        place or place_of(folder),
        env={**environment(folder), "XDG_DATA_HOME": str(folder / "data")},
        home=folder / "home",
        purpose="test",
        poll=0.02,
        limits=limits,
        driver=DRIVERS.__getitem__,
    ) as (engine, database):
        yield House(folder=folder, repo=repo, engine=engine, database=database)


def alive(folder: Path) -> list[int]:
    """Processes that carry the mark of this house."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(name) != os.getpid() and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found
