"""Which repository of the user is meant, and what is there? Found as the user's git finds it, then read hardened."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from touchline.agents.workspaces.host_git import HostGit, as_user
from touchline.errors import WorkspaceError

NEEDED = (2, 38)
"""The first git that merges without a checkout."""
BY_THEMSELVES = "__pycache__/\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/"
"""What programs write beside the code that they run: a check must not become a part of the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository of the user."""

    root: Path
    """The top of the checkout; the git folder itself when there is no checkout."""
    git_dir: Path
    """The git folder of this checkout; a linked work tree has one of its own."""
    shared_dir: Path
    """The git folder that all checkouts share: objects, branches."""
    bare: bool
    inside: str
    """Where in the checkout the search began: empty at the top, else such as `packages/api`."""
    hash_name: str
    """`sha1` or `sha256`."""

    @property
    def git(self) -> HostGit:
        """Git here, hardened, with the repository's own configuration."""
        tree = {} if self.bare else {"GIT_WORK_TREE": str(self.root)}
        return HostGit(folder=self.root, variables={"GIT_DIR": str(self.git_dir), **tree})

    @property
    def objects(self) -> Path:
        return self.shared_dir / "objects"

    @property
    def shallow(self) -> str:
        """Commits at which a shallow history ends, one per line; empty when it is complete."""
        try:
            return (self.shared_dir / "shallow").read_text(encoding="ascii")
        except FileNotFoundError:
            return ""

    def commit(self, name: str) -> str | None:
        """The full hash of a commit; None when there is none of that name."""
        answer = self.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", codes=(0, 1, 128)
        )
        return answer.text if answer.code == 0 else None


def find_repository(folder: Path, env: Mapping[str, str]) -> Repository:
    """The repository that a folder is in. `WorkspaceError` when there is none that can be used."""
    require_git(folder, env)
    wanted = (
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--absolute-git-dir",
        "--path-format=absolute",
        "--git-common-dir",
        "--show-object-format",
    )
    found = as_user("rev-parse", *wanted, "--show-toplevel", "--show-prefix", folder=folder, env=env)
    if found.code and "work tree" in found.errors:
        found = as_user("rev-parse", *wanted, folder=folder, env=env)
    if found.code:
        if "not a git repository" in found.errors:
            raise WorkspaceError(
                f"{folder} is not in a git repository. Agents work in a clone, so that your files stay as they are.",
                hint=f"Make it one: cd {folder} && git init && git add -A && git commit -m Start",
            )
        raise WorkspaceError(f"The repository of {folder} cannot be used: {found.errors}")
    bare, inside_git, git_dir, shared, hash_name, *rest = found.text.splitlines()
    if bare != "true" and inside_git == "true":
        raise WorkspaceError(f"{folder} is inside the folder that git keeps for itself.", hint="Go to your files.")
    top, inside = (rest[0], "".join(rest[1:]).rstrip("/")) if rest else (git_dir, "")
    return Repository(
        root=Path(top),
        git_dir=Path(git_dir),
        shared_dir=Path(shared),
        bare=bare == "true",
        inside=inside,
        hash_name=hash_name,
    )


def require_git(folder: Path, env: Mapping[str, str]) -> None:
    """`WorkspaceError` when git is missing or too old."""
    words = _version(shutil.which("git", path=env.get("PATH")) or "git", folder, tuple(env.items()))
    number = re.search(r"(\d+)\.(\d+)", words)
    if number is None or (int(number[1]), int(number[2])) < NEEDED:
        raise WorkspaceError(
            f"This needs git {NEEDED[0]}.{NEEDED[1]} or newer, and this is {words or 'unknown'}.", hint="Update git."
        )


@lru_cache(maxsize=8)
def _version(_program: str, folder: Path, env: tuple[tuple[str, str], ...]) -> str:
    """Asked once per program; a git that is replaced while we run is none of our worries."""
    return as_user("version", folder=folder, env=dict(env)).text


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """A file of the user's checkout that differs from the last commit."""

    path: str
    how: str
    """`untracked`, `conflict`, `changed`: the index, the file or both differ from the commit."""


def unsaved(repository: Repository, conversions: Mapping[str, str], *, untracked: bool = True) -> tuple[Unsaved, ...]:
    """What of the user's checkout is not committed; ignored files left out, submodules not looked into."""
    if repository.bare:
        return ()
    answer = repository.git.adding(settings=conversions).run(
        "status",
        "--porcelain=v2",
        "-z",
        "--no-renames",
        "--ignore-submodules=all",
        f"--untracked-files={'normal' if untracked else 'no'}",
    )
    found: list[Unsaved] = []
    for line in answer.parts():
        match line[:1]:
            case "?":
                found.append(Unsaved(path=line[2:], how="untracked"))
            case "u":
                found.append(Unsaved(path=line.split(" ", 10)[10], how="conflict"))
            case "1":
                found.append(Unsaved(path=line.split(" ", 8)[8], how="changed"))
    return tuple(found)


def excludes(repository: Repository, env: Mapping[str, str]) -> str:
    """Patterns of files that are ignored outside the repository's own `.gitignore` files, which may say otherwise."""
    configured = as_user("config", "--type=path", "core.excludesFile", folder=repository.root, env=env).text
    home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", os.devnull)) / ".config")
    texts = [BY_THEMSELVES]
    for path in (Path(configured) if configured else home / "git" / "ignore", repository.shared_dir / "info/exclude"):
        try:
            texts.append(path.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n"))
        except OSError:
            continue
    return "".join(f"{text}\n" for text in texts if text)
