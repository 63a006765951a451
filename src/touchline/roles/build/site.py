"""What does a task of this build find around it? The workshop, the checks' place, the repository's rules, the judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from touchline.agents.environment import environment_for
from touchline.agents.port import Abilities
from touchline.agents.port import Level as Confinement
from touchline.agents.sandbox import choose
from touchline.errors import BuildError
from touchline.models.opening import model_line
from touchline.roles.build.rows import BuildRow, TaskRow, build_row, task_row
from touchline.roles.build.workshop import Workshop
from touchline.roles.validation.running import Site
from touchline.sessions.room import Room

_CONVENTION_CHARS = 12_000


def builds_folder(room: Room) -> Path:
    """Where builds keep their repositories, outputs and scratch clones."""
    return room.folder.with_name("builds")


def workshop_of(build: BuildRow, room: Room) -> Workshop:
    return Workshop(path=Path(build.workshop), env=room.env)


def confinement_of(build: BuildRow, room: Room) -> Confinement:
    """How checks are confined: as the agents are, where that is ours to do."""
    wanted = build.settings.sandbox
    if wanted is None:
        return choose(None, room.probe(), Abilities(own_sandbox=True)).level
    return wanted


def site_at(build: BuildRow, room: Room, folder: Path, *, must_stop: Callable[[], bool] = lambda: False) -> Site:
    """Where a check is run: in that folder, confined, without secrets."""
    return Site(
        workspace=folder,
        confinement=confinement_of(build, room),
        env=environment_for(room.env, driver="checks", allow=build.settings.environment),
        records=room.records,
        outputs=Path(build.workshop).parent / "outputs",
        must_stop=must_stop,
    )


def conventions_of(build: BuildRow, room: Room) -> str:
    """The repository's own rules for agents, from the commit the build began with."""
    shop = workshop_of(build, room)
    parts = []
    for name in ("CLAUDE.md", "AGENTS.md", "CONTRIBUTING.md"):
        answer = shop.git.run("show", f"refs/touchline/base:{name}", codes=(0, 128))
        if answer.code == 0 and answer.text:
            parts.append(f"From {name}:\n{answer.text[:_CONVENTION_CHARS]}")
    return "\n\n".join(parts)


def idea_of(build: BuildRow, room: Room) -> str:
    """What the product is about: what the specification wants, else the beginning of the repository's README."""
    if objective := build.agreement.get("objective"):
        return objective
    answer = workshop_of(build, room).git.run("show", "refs/touchline/base:README.md", codes=(0, 128))
    return answer.text[:2000] if answer.code == 0 else ""


def judge_of(build: BuildRow, room: Room) -> str:
    """The line of the model that reviews: the build's own, else the configured one; empty when there is none."""
    return model_line(room.env, build.settings.judge)


def rows_of(room: Room, task: str) -> tuple[BuildRow, TaskRow]:
    """A task and its build, whose workshop is there."""
    with room.database.reading() as connection:
        row = task_row(connection, task)
        build = build_row(connection, row.build_id)
    if not build.workshop:
        raise BuildError(f"The build {build.id} has no workshop yet.", hint="Start it:", then="build resume")
    return build, row
