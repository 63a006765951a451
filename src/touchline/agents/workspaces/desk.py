"""Where is an agent's commit looked at before anybody accepted it? At a desk: the user's objects, no settings.

A desk is an empty repository of ours that uses the object store of the user's. Neither the user's configuration nor
the commit's attributes can have a filter, a merge driver or a text conversion started here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.agents.workspaces.hardening import make_repository
from touchline.agents.workspaces.host_git import HostGit
from touchline.agents.workspaces.repository import Repository


@contextmanager
def desk(repository: Repository) -> Iterator[HostGit]:
    """Git with the objects of a repository and nothing else of it."""
    with TemporaryDirectory(prefix="touchline-desk-") as name:
        folder = Path(name)
        bare, nothing = folder / "desk.git", folder / "nothing"
        nothing.mkdir()
        make_repository(bare, repository.hash_name)
        if repository.shallow:
            (bare / "shallow").write_text(repository.shallow, encoding="ascii")
        yield HostGit(
            folder=nothing,
            variables={
                "GIT_DIR": str(bare),
                "GIT_WORK_TREE": str(nothing),
                "GIT_OBJECT_DIRECTORY": str(repository.objects),
            },
        )
