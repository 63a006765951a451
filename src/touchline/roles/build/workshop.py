"""Where do finished tasks come together? In a repository of the build's own; the person's checkout is only read.

A task becomes one commit on the build's branch, computed without a checkout. The branch moves in one atomic step, so a
build that is killed in between has either the commit or not.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from touchline.agents.workspaces import clone
from touchline.agents.workspaces.changes import patch_text
from touchline.agents.workspaces.clone import AGENT
from touchline.agents.workspaces.host_git import HostGit
from touchline.agents.workspaces.repository import find_repository
from touchline.errors import BuildError
from touchline.store.fault_points import fault_point

BRANCH = "refs/heads/build"
TRAILER = "Touchline-Task"
_TURN_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A task's change on top of the branch, not yet on it."""

    commit: str
    onto: str
    """The branch's commit that it is built on."""
    tree: str
    conflicts: tuple[str, ...] = ()
    """Files in which the change and the branch contradict each other; then there is no commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """The build's own repository."""

    path: Path
    env: Mapping[str, str]

    @property
    def git(self) -> HostGit:
        return HostGit(folder=self.path, variables={"GIT_DIR": str(self.path)})

    def make(self, repository: Path) -> str:
        """Fill it with the person's newest commit, once; which commit that is. The person's repository is only read."""
        if self.path.is_dir() and (head := self.commit(BRANCH)) is not None:
            return self.commit("refs/touchline/base") or head
        found = find_repository(repository, self.env)
        base = found.commit("HEAD")
        if base is None:
            raise BuildError(
                f"{found.root} has no commit yet, so there is nothing to build on.",
                hint="Make one: git commit --allow-empty -m 'Begin'",
            )
        self.path.mkdir(parents=True, exist_ok=True)
        HostGit(folder=self.path).run("init", "--bare", "--quiet", f"--object-format={found.hash_name}", ".")
        self.git.run("fetch", "--quiet", "--no-tags", str(found.git_dir), f"+{base}:refs/touchline/base", seconds=1800)
        self.git.run("symbolic-ref", "HEAD", BRANCH)
        fault_point("build.fetched")
        self.git.run("update-ref", BRANCH, base)
        return base

    def commit(self, name: str) -> str | None:
        answer = self.git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", codes=(0, 1, 128))
        return answer.text if answer.code == 0 else None

    def head(self) -> str:
        found = self.commit(BRANCH)
        if found is None:
            raise BuildError(f"{self.path} is no workshop of a build.", hint="Start the build anew.")
        return found

    def done(self, task: str) -> str | None:
        """The commit that already carries this task, if one does: after a crash nothing is committed twice."""
        wanted = f"^{TRAILER}: {re.escape(task)}$"
        found = self.git.run("log", "-E", "--format=%H", f"--grep={wanted}", f"refs/touchline/base..{BRANCH}").text
        return found.splitlines()[0] if found else None

    def merge(self, head: str, *, message: str, task: str) -> Merged:
        """The change up to `head` as one commit on top of the branch, without moving the branch."""
        onto = self.head()
        answer = self.git.run(
            "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", onto, head, codes=(0, 1)
        )
        parts = answer.out.decode("utf-8", "replace").split("\0")
        tree = parts[0].strip()
        if answer.code:
            return Merged(commit="", onto=onto, tree=tree, conflicts=tuple(sorted({p for p in parts[1:] if p})))
        who = {
            "GIT_AUTHOR_NAME": AGENT.name,
            "GIT_AUTHOR_EMAIL": AGENT.email,
            "GIT_COMMITTER_NAME": AGENT.name,
            "GIT_COMMITTER_EMAIL": AGENT.email,
        }
        text = f"{message}\n\n{TRAILER}: {task}\n"
        made = replace(self.git, variables={**self.git.variables, **who}).run(
            "commit-tree", tree, "-p", onto, "-F", "-", stdin=text.encode()
        )
        return Merged(commit=made.text, onto=onto, tree=tree)

    def advance(self, merged: Merged) -> None:
        """Put the commit on the branch. WorkspaceError when the branch moved meanwhile."""
        self.git.run("update-ref", BRANCH, merged.commit, merged.onto)
        fault_point("build.advanced")

    def tree(self, commit: str) -> str:
        return self.git.run("rev-parse", f"{commit}^{{tree}}").text

    def names(self, commit: str) -> frozenset[str]:
        """The paths of all files in a commit."""
        return frozenset(filter(None, self.git.run("ls-tree", "-r", "-z", "--name-only", commit).text.split("\0")))

    def diff(self, base: str, commit: str, *, limit: int = 200_000) -> str:
        return patch_text(self.git, base, commit, limit=limit)

    def checkout(self, commit: str, name: str) -> Path:
        """A scratch clone of one commit that nothing is run in; made once per name."""
        with self.locked("clones"):
            return clone.prepare(self.path, folder=self.scratch, name=name, base=commit, env=self.env).path

    @contextmanager
    def trying(self, commit: str, name: str) -> Iterator[Path]:
        """A scratch clone for running checks in: new, and gone afterwards. What a killed one left is no part of it."""
        shutil.rmtree(self.scratch / name, ignore_errors=True)
        try:
            yield self.checkout(commit, name)
        finally:
            shutil.rmtree(self.scratch / name, ignore_errors=True)

    @property
    def scratch(self) -> Path:
        return self.path.parent / "checks"

    @contextmanager
    def locked(self, what: str, must_stop: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """One at a time, over threads and processes of this machine; a killed one lets go by itself.

        BuildError when it is told to stop while it waits for its turn."""
        with (self.path.parent / f"{what}.lock").open("w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if must_stop():
                        raise BuildError(f"The build was stopped before its turn came ({what}).") from None
                    time.sleep(_TURN_SECONDS)
            yield
