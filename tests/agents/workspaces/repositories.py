"""Repositories of a user, and what an agent does in its clone, for the tests of workspaces."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.agents.port import Level
from touchline.agents.sandbox import confined_command
from touchline.agents.workspaces.clone import Workspace, prepare
from touchline.agents.workspaces.collect import Collected, Limits, collect


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A user with a home and a repository, on a machine of their own."""

    top: Path
    env: Mapping[str, str]

    @property
    def repo(self) -> Path:
        return self.top / "project"

    @property
    def canary(self) -> Path:
        """Appears when code of the agent's ran where it must not."""
        return self.top / "canary"

    def sh(self, script: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["sh", "-ec", script], cwd=cwd or self.repo, env=self.env, capture_output=True, check=False
        )
        out = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, f"{script}\n{out}{done.stderr!r}"
        return out.strip()

    def commit(self, **files: str) -> str:
        """Write files, `__` standing for a slash and `_` for a dot, and commit them."""
        for name, content in files.items():
            path = self.repo / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return self.sh("git add -A; git commit -qm change --allow-empty; git rev-parse HEAD")

    def prepare(self, name: str = "run1") -> Workspace:
        return prepare(self.repo, folder=self.top / "workspaces", name=name, env=self.env)

    def agent(self, workspace: Workspace, script: str, *, level: Level = "none") -> None:
        """Let the agent do something in its clone, confined as it would be."""
        launch = confined_command(["sh", "-ec", script], level=level, workspace=workspace.path, env=self.env)
        done = subprocess.run(
            launch.argv,
            cwd=launch.cwd or workspace.path,
            env={**self.env, **launch.env, "CANARY": str(self.canary)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        # What the agent itself did is its own affair; what others do for it is not.
        self.canary.unlink(missing_ok=True)

    def collect(self, workspace: Workspace, *, level: Level = "none", limits: Limits | None = None) -> Collected:
        return collect(workspace, level=level, env=self.env, records=self.top / "records", limits=limits)

    def show(self, commit: str, path: str) -> str:
        return self.sh(f"git show {commit}:{shlex.quote(path)}")

    def files(self, commit: str) -> set[str]:
        return set(self.sh(f"git ls-tree -r -z --name-only {commit} | tr '\\n\\0' '?\\n'").splitlines())


def house_in(top: Path) -> House:
    home = top / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Una User\n\temail = una@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    house = House(top=top, env={"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"})
    house.sh("git init -q project", cwd=top)
    return house
