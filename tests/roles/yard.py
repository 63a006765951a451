"""A repository, an approved specification and a script, and a build of it by the scripted agent."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.glances import Glances, T
from tests.sessions.house import DRIVERS, FAST, MARK, environment, place_of, repository

from touchline.agents.port import Driver
from touchline.engine.port import Engine
from touchline.roles.build.controlling import start_build
from touchline.roles.build.rows import BuildRow, TaskRow, build_row, tasks_of
from touchline.roles.build.settings import BuildSettings
from touchline.roles.specification.keeping import approve, find_spec, keep
from touchline.roles.specification.spec import PlannedFile, Requirement, Spec
from touchline.roles.specification.task import Task, TaskAction, TaskCheck
from touchline.roles.specification.writing import write_files
from touchline.store.database import Database
from touchline.store.events import Event, read
from touchline.store.place import Place

FIND = 'find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}\n'


def task(id: str, file: str, *, check: str = "", needs: tuple[str, ...] = (), **also: Any) -> Task:
    values: dict[str, Any] = {
        "phase": "services",
        "action": TaskAction.CREATE,
        "title": f"Make {file}",
        "requirements": (f"{file} exists",),
        "satisfies": ("FR-001",),
        "check": TaskCheck(command=check or f"test -f {file}"),
        "depends_on": needs,
    }
    return Task(id=id, file=file, **{**values, **also})


def plan_turns(id: str, words: str = "") -> str:
    """A conversation that plans a task at once."""
    text = words or f"The plan: write the file of {id} and run its check."
    return (
        f"  - name: plan-{id}\n    when: '/You plan one task[\\s\\S]*Task {id}:/'\n    {FIND.strip()}\n"
        f'    turns:\n      - text: "{text}\\n${{marker}}"\n'
    )


def code_turns(id: str, *turns: str) -> str:
    """A conversation that builds a task; each turn is a line of YAML."""
    lines = "".join(f"      - {turn}\n" for turn in turns)
    when = f"/You build one task[\\s\\S]*Task {id}:/"
    return f"  - name: code-{id}\n    when: '{when}'\n    {FIND.strip()}\n    turns:\n{lines}"


def asked_with(words: str, id: str, *turns: str) -> str:
    """A conversation for a task whose prompt holds these words; to be put before the ordinary one."""
    when = f"/You build one task[\\s\\S]*Task {id}:[\\s\\S]*{words}/"
    made = code_turns(id, *turns).replace(f"/You build one task[\\s\\S]*Task {id}:/", when)
    return made.replace(f"name: code-{id}", f"name: again-{id}")


DONE = '{text: "It is done, and the check passes with exit code 0.\\n${marker}"}'


def sh(command: str) -> str:
    """A turn that runs a command."""
    return "{calls: [{shell: " + json.dumps(command) + "}]}"


def waits_for(path: Path) -> str:
    """A turn that goes on when the file is there."""
    return sh(f"for i in $(seq 3000); do test -e {path} && break; sleep 0.1; done; test -e {path}")


def writes(file: str, content: str = "x = 1\\n", check: str = "") -> tuple[str, str, str]:
    """Write the file, run its check, say so."""
    return (
        f'{{calls: [{{write: {file}, content: "{content}"}}]}}',
        f'{{calls: [{{shell: "{check or f"test -f {file}"}"}}]}}',
        '{text: "Written, and the check passes with exit code 0.\\n${marker}"}',
    )


@dataclass
class Yard:
    """One process's builds."""

    folder: Path
    repo: Path
    engine: Engine
    database: Database
    glance: Glances = field(init=False)

    def __post_init__(self) -> None:
        self.glance = Glances(self.database)

    def start(
        self,
        tasks: tuple[Task, ...],
        script: str,
        *,
        id: str | None = None,
        edit: Callable[[str], str] = lambda text: text,
        said: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> str:
        """Approve a specification and start a build of it; `edit` is what a person then does to tasks.md,
        `said` what the specification says besides."""
        number = time.monotonic_ns()
        path = self.folder / f"script-{number}.yaml"
        path.write_text("conversations:\n" + script)
        spec = Spec(
            id=f"spec-{number}",
            title="Sample",
            status="waiting",
            objective="A sample.",
            success_criteria=("it is there",),
            requirements=(Requirement(id="FR-001", text="It is there", acceptance="one sees it"),),
            new_files=tuple(PlannedFile(path=t.file, purpose="sample") for t in tasks if t.file),
        )
        spec = replace(spec, **(said or {}))
        paths = write_files(self.folder / "specs" / spec.id, spec, tasks)
        with self.database.writing() as connection:
            keep(connection, spec, paths, tasks=len(tasks), answers=())
        with self.database.writing() as connection:
            approve(connection, find_spec(connection, spec.id), by="Ann")
        with self.database.reading() as connection:
            row = find_spec(connection, spec.id)
        chosen = BuildSettings(
            **{"agent": "scripted", "sandbox": "none", "agent_settings": {"script": str(path)}, **settings}
        )
        row.tasks_path.write_text(edit(row.tasks_path.read_text()))
        return start_build(self.engine, self.database, row, repository=self.repo, settings=chosen, id=id)

    def answers(self, text: str) -> str:
        """The line of a scripted model with these answers."""
        path = self.folder / f"answers-{time.monotonic_ns()}.yaml"
        path.write_text(text)
        return f"scripted:{path}"

    def meeting(self) -> Path:
        """A folder that agents, checks and tests see alike."""
        path = self.folder / f"meeting-{time.monotonic_ns()}"
        path.mkdir()
        return path

    def until(self, happened: Callable[[], Any], what: str, seconds: float = 90.0) -> Any:
        until = time.monotonic() + seconds
        while not (found := happened()):
            assert time.monotonic() < until, f"it never came: {what}"
            time.sleep(0.05)
        return found

    def tasks_file(self, build: str) -> Path:
        with self.database.reading() as connection:
            return find_spec(connection, self.build(build).spec_id or "").tasks_path

    def build(self, id: str) -> BuildRow:
        return self._read(("build", id), lambda connection: build_row(connection, id))

    def tasks(self, id: str) -> dict[str, TaskRow]:
        return dict(
            self._read(("tasks", id), lambda connection: {row.task.id: row for row in tasks_of(connection, id)})
        )

    def events(self, id: str, *types: str) -> list[Event]:
        found = self._read("events", lambda connection: read(connection, limit=100_000))
        return [e for e in found if e.ids.build == id and (not types or e.type in types)]

    def _read(self, key: Any, asked: Callable[[sa.Connection], T]) -> T:
        def looked() -> T:
            with self.database.reading() as connection:
                return asked(connection)

        return self.glance(key, looked)

    def events_of_session(self, id: str) -> list[Event]:
        with self.database.reading() as connection:
            return [e for e in read(connection, limit=100_000) if e.ids.session == id]

    def end(self, id: str, name: str = "", *, seconds: float = 90.0) -> BuildRow:
        """Wait until it has ended."""
        until = time.monotonic() + seconds
        while not (row := self.build(id)).ended:
            if time.monotonic() > until:
                told = {name: (t.task.status, str(t.state), t.reason) for name, t in self.tasks(id).items()}
                raise AssertionError(f"{name} {row.status}: {told}")
            time.sleep(0.05)
        return row

    def git(self, *arguments: str, at: Path | None = None) -> str:
        done = subprocess.run(["git", *arguments], cwd=at or self.repo, check=True, capture_output=True, text=True)
        return done.stdout.strip()


@contextmanager
def opened(
    folder: Path,
    env: Mapping[str, str] | None = None,
    driver: Callable[[str], Driver] | None = DRIVERS.__getitem__,
    place: Place | None = None,
) -> Iterator[Yard]:
    """The yard in a folder, made when it is not there. `driver` None takes the installed CLIs."""
    from touchline.roles.working import working

    repo = folder / "repo" if (folder / "repo").exists() else repository(folder / "repo")
    for name in ("home", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    with working(
        place or place_of(folder),
        env={**environment(folder), MARK: str(folder)} if env is None else env,
        home=folder / "home",
        purpose="test",
        poll=0.1,
        limits=FAST,
        driver=driver,
    ) as (engine, database):
        yield Yard(folder=folder, repo=repo, engine=engine, database=database)
