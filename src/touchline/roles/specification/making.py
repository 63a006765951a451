"""How is a specification made, and made anew? Context, model, files and row, in this order; nothing half-way stays."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa

from touchline.coordination.leases import file_resource
from touchline.errors import SpecError, TouchlineError
from touchline.models.asking import Asker
from touchline.models.booking import book
from touchline.roles.specification.context import SpecContext, load_context
from touchline.roles.specification.keeping import SpecRow, ask_revision, find_spec, keep, next_number, read_files
from touchline.roles.specification.spec import Spec
from touchline.roles.specification.writing import Draft, draft_spec, write_files
from touchline.store.columns import new_id
from touchline.store.database import Database
from touchline.store.tables import builds, owners

FOLDER = "specs"
"""Where specifications go in a repository, each in a folder of its own."""
_RUNNING = ("requested", "primed", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A specification that was written."""

    row: SpecRow
    draft: Draft


def make_spec(database: Database, asker: Asker, source: Path, *, repository: Path, folder: Path | None = None) -> Made:
    """From a brief or an idea's folder to files and a row that waits for approval. SpecError or ModelError else."""
    context = load_context(source, repository)
    if folder is not None and (folder / "spec.md").exists():
        raise SpecError(
            f"{folder / 'spec.md'}:1: there is a specification already.",
            hint="Name another --folder, or change that one:",
            then="spec revise",
        )
    id = new_id("spec")
    with _paid_for(database, asker):
        draft = draft_spec(
            context,
            asker,
            id=id,
            owners=_owners(database, repository),
            allocate=lambda place, least: _number(database, repository, place, least),
            idea=source.name if source.is_dir() else "",
        )
    place = folder or _free_folder(repository / FOLDER, draft.spec.title)
    draft = replace(draft, spec=replace(draft.spec, source=os.path.relpath(source, place)))
    paths = write_files(place, draft.spec, draft.tasks)
    return Made(row=_kept(database, draft, paths), draft=draft)


def revise_spec(database: Database, asker: Asker, row: SpecRow, what: str, *, repository: Path, by: str) -> Made:
    """Ask for a change, and write the files anew with it. What people added to them is shown to the model and kept."""
    _require_unbuilt(database, row)
    spec, _ = read_files(row)
    now_is = "\n\n".join(
        f"{path.name} as it is now, with what people changed in it:\n{path.read_text(encoding='utf-8')}"
        for path in (row.path, row.tasks_path)
    )
    context = _context_again(row, spec, repository)
    with _paid_for(database, asker):
        draft = draft_spec(
            context,
            asker,
            id=row.id,
            owners=_owners(database, repository),
            allocate=lambda folder, least: _number(database, repository, folder, least),
            revision=f"{what.strip()}\n\n{now_is}",
            before=spec,
            version=row.version + 1,
            idea=spec.idea,
        )
    draft = replace(draft, spec=replace(draft.spec, source=spec.source))
    with database.writing() as connection:
        ask_revision(connection, row, what, by=by)
    paths = write_files(row.path.parent, draft.spec, draft.tasks)
    return Made(row=_kept(database, draft, paths), draft=draft)


def _context_again(row: SpecRow, spec: Spec, repository: Path) -> SpecContext:
    """What the specification rests on, read again; what it names besides stays named. Where the brief itself is gone,
    the specification says what it asked for."""
    source = row.path.parent / spec.source
    if spec.source and source.exists():
        context = load_context(source, repository)
    else:
        with TemporaryDirectory(prefix="touchline-spec-") as place:
            brief = Path(place) / "brief.md"
            brief.write_text(f"# {spec.title}\n\n{spec.objective}\n", encoding="utf-8")
            context = load_context(brief, repository)
            names = context.names[1:] if spec.context else context.names
            context = replace(context, names=names)
    return replace(context, names=tuple(dict.fromkeys((*spec.context, *context.names))))


def _require_unbuilt(database: Database, row: SpecRow) -> None:
    """A build that runs writes into these files, and goes by the tasks that it began with."""
    with database.reading() as connection:
        query = sa.select(builds.c.id, builds.c.status).where(builds.c.spec_id == row.id, builds.c.status.in_(_RUNNING))
        build = connection.execute(query).first()
    if build is not None:
        raise SpecError(
            f"{row.path}:1: the build {build.id} of it is {build.status}.",
            hint="Let it come to its end, or stop it:",
            then=f"build stop {build.id}",
        )


@contextmanager
def _paid_for(database: Database, asker: Asker) -> Iterator[None]:
    """What a draft has cost is in the books also when nothing came of it; else it is booked with the row."""
    before = len(asker.paid)
    try:
        yield
    except TouchlineError:
        with database.writing() as connection:
            book(connection, asker.paid[before:])
        raise


def slug(title: str) -> str:
    """A folder's name made from a title."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "untitled"


def _free_folder(place: Path, title: str) -> Path:
    name = slug(title)
    for number in range(1, 1000):
        folder = place / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise SpecError(f"{place}: there is no free name for {name!r}.", hint="Name a --folder.")


def _kept(database: Database, draft: Draft, paths: tuple[Path, Path]) -> SpecRow:
    absolute = (Path(os.path.abspath(paths[0])), Path(os.path.abspath(paths[1])))
    with database.writing() as connection:
        keep(connection, draft.spec, absolute, tasks=len(draft.tasks), answers=draft.answers)
        return find_spec(connection, draft.spec.id)


def _number(database: Database, repository: Path, folder: str, at_least: int) -> int:
    with database.writing() as connection:
        return next_number(connection, repository, folder, at_least)


def _owners(database: Database, repository: Path) -> dict[str, str]:
    """Whose each owned file of the repository is, by its path."""
    prefix = file_resource("x", repository).removesuffix("x")
    with database.reading() as connection:
        rows = connection.execute(
            sa.select(owners.c.resource, owners.c.owner).where(owners.c.resource.startswith(prefix, autoescape=True))
        )
        return {row.resource.removeprefix(prefix): row.owner for row in rows}
