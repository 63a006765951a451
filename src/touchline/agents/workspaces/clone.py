"""Where does the agent work? In a clone of its own, made from one commit; the user's checkout is only read.

The clone holds what that commit reaches and nothing else: no other branch, no stash, no tag, no remote. It shares no
file with the user's repository. Contents are exactly those of the commit: no line ends are converted, no filter runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from touchline.agents.workspaces.hardening import SETTINGS
from touchline.agents.workspaces.host_git import HostGit, user_settings
from touchline.agents.workspaces.repository import Repository, Unsaved, excludes, find_repository, unsaved
from touchline.errors import WorkspaceError
from touchline.store.locks import process_lock

CLONE_SECONDS = 1_800.0
_RAW = "* -text !eol -ident !filter !working-tree-encoding\n"
_RECORD = "workspace.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who is named in commits."""

    name: str
    email: str


AGENT = Identity(name="Touchline agent", email="agent@touchline.invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The folder that an agent works in."""

    name: str
    """The run's; names its references in the user's repository."""
    path: Path
    """The clone. After the agent began nobody runs git here on the host."""
    repository: Path
    """The top of the user's checkout."""
    base: str
    """The commit that the work starts from."""
    branch: str
    """The clone's branch."""
    inside: str = ""
    """The subfolder that the user was in; empty at the top."""
    unsaved: tuple[Unsaved, ...] = ()
    """What the user had not committed: it is not part of the run."""
    submodules: tuple[str, ...] = ()
    """Submodules of the repository: their folders are empty here."""
    identity: Identity = AGENT
    """Who commits in the clone."""

    @property
    def folder(self) -> Path:
        """Around the clone, out of the agent's sight in a sandbox."""
        return self.path.parent


def prepare(
    repository: Path,
    *,
    folder: Path,
    name: str,
    base: str | None = None,
    start: str | None = None,
    identity: Identity = AGENT,
    env: Mapping[str, str] | None = None,
) -> Workspace:
    """A fresh clone under `folder`, at the repository's HEAD or at `base`; with the work up to `start`, if given.

    Done twice it gives the workspace that is there: whoever was killed in between can simply do it again, and who comes
    while another is at it waits. A clone appears under its name only when it is complete.
    """
    if not _NAME.fullmatch(name) or name.endswith(".lock"):
        raise WorkspaceError(f"{name!r} cannot name a workspace.", hint="Use letters, digits, '-' and '_'.")
    env = os.environ if env is None else env
    found = find_repository(repository, env)
    home = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with process_lock(folder / f"{name}.lock"):
        if (home / _RECORD).exists():
            return _again(home, found)
        return _made(found, home, base, start, identity, env)


def opened(repository: Path, *, folder: Path, name: str, env: Mapping[str, str]) -> Workspace:
    """The workspace that is there. `WorkspaceError` when it is gone: a new one would hold nothing of the work."""
    if not (folder / name / _RECORD).exists():
        raise WorkspaceError(f"The clone {folder / name} is gone.", hint="What was collected from it before is kept.")
    return _again(folder / name, find_repository(repository, env))


def _made(
    found: Repository,
    home: Path,
    base: str | None,
    start: str | None,
    identity: Identity,
    env: Mapping[str, str],
) -> Workspace:
    name = home.name
    commit = _start_of(found, base)
    first = commit if start is None else _start_of(found, start)
    under = home.with_name(f"{name}.new")
    shutil.rmtree(under, ignore_errors=True)
    under.mkdir(parents=True, mode=0o700)
    top = found.root.name.removesuffix(".git") or "repository"
    workspace = Workspace(
        name=name,
        path=home / top,
        repository=found.root,
        base=commit,
        branch=f"touchline/{name}",
        inside=found.inside,
        unsaved=unsaved(found, user_settings(found.root, env)),
        submodules=_submodules(found, commit),
        identity=identity,
    )
    found.git.run("update-ref", f"refs/touchline/{name}/base", commit)
    _clone(found, under / top, workspace, first, excludes(found, env))
    (under / _RECORD).write_text(_written(workspace), encoding="utf-8")
    os.rename(under, home)
    return workspace


def remove(folder: Path) -> None:
    """Delete a clone with the folder around it. What was collected stays in the user's repository."""
    _unlock(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise WorkspaceError(f"{folder} could not be removed.", hint="Remove it yourself.")


def _unlock(folder: Path) -> None:
    """Make folders writable that an agent made read-only; links are not followed."""
    for parent, folders, _ in os.walk(folder):
        for each in folders:
            path = Path(parent, each)
            if not path.is_symlink():
                path.chmod(0o700)


def _start_of(found: Repository, base: str | None) -> str:
    commit = found.commit(base or "HEAD")
    if commit is not None:
        return commit
    if base is None:
        raise WorkspaceError(
            f"{found.root} has no commit yet, so there is nothing to clone.",
            hint="Commit something first: git add -A && git commit -m Start (or --allow-empty).",
        )
    raise WorkspaceError(f"{found.root} has no commit {base!r}.", hint="Look it up: git log --oneline")


def left_out_of(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is not in the clone of this folder: uncommitted files, each with how it stands, and submodules.

    As the clone's own record says it, which lies beside the clone and out of the agent's reach.
    """
    try:
        kept = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        unsaved = tuple(f"{each['path']} ({each['how']})" for each in kept["unsaved"])
        return unsaved, tuple(map(str, kept["submodules"]))
    except (OSError, ValueError, KeyError, TypeError):
        return (), ()


def _submodules(found: Repository, commit: str) -> tuple[str, ...]:
    listed = found.git.run("ls-tree", "-r", "-z", "--full-tree", commit).parts()
    return tuple(entry.partition("\t")[2] for entry in listed if entry.startswith("160000 "))


def _clone(found: Repository, path: Path, workspace: Workspace, commit: str, ignored: str) -> None:
    """Made by fetching one commit: that is what `git clone` does, without its copies of everything unreachable."""
    hint = "Is the repository sound? Ask: git fsck"
    if found.git.run("config", "--get-regexp", r"^remote\..*\.promisor$", codes=(0, 1)).text:
        hint = (
            "This is a partial clone, and parts of its history are only on the server. Fetch the rest first: "
            "git config --unset remote.origin.partialclonefilter; git fetch --refetch"
        )
    empty = HostGit(folder=path.parent)
    empty.run("init", "--quiet", "--template=", f"--object-format={found.hash_name}", str(path))
    # The user's history is trusted, and old histories hold what git today would refuse from a stranger.
    git = HostGit(folder=path, settings={"fetch.fsckObjects": "false", "transfer.fsckObjects": "false"})
    info = path / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text(_RAW, encoding="utf-8")
    (info / "exclude").write_text(ignored, encoding="utf-8", errors="surrogateescape")
    # The agent may change its copy; what is taken back goes by this one.
    (path.parent / "exclude").write_text(ignored, encoding="utf-8", errors="surrogateescape")
    git.run("config", "user.name", workspace.identity.name)
    git.run("config", "user.email", workspace.identity.email)
    git.run("config", "gc.auto", "0")
    git.run(
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--update-shallow",
        f"--upload-pack={_UPLOAD}",
        str(found.git_dir if found.bare else found.root),
        f"{commit}:refs/heads/{workspace.branch}",
        seconds=CLONE_SECONDS,
        hint=hint,
    )
    git.run("symbolic-ref", "HEAD", f"refs/heads/{workspace.branch}")
    git.run("reset", "--quiet", "--hard", seconds=CLONE_SECONDS, hint=hint)


# The other end runs in the user's repository. Git does not hand our settings on to it; and who owns the folder was
# asked when the repository was found. Objects are sent as they are: searching for smaller forms takes longer than the
# copy, which lives for one run.
_SENDING = {**SETTINGS, "safe.directory": "*", "pack.window": "0", "pack.compression": "1"}
_UPLOAD = " ".join(["git", *(f"-c '{name}={value}'" for name, value in _SENDING.items()), "upload-pack"])


def _written(workspace: Workspace) -> str:
    return json.dumps(asdict(workspace), default=str, indent=1)


def _again(home: Path, found: Repository) -> Workspace:
    value = json.loads((home / _RECORD).read_text(encoding="utf-8"))
    workspace = Workspace(
        **{
            **value,
            "path": Path(value["path"]),
            "repository": Path(value["repository"]),
            "unsaved": tuple(Unsaved(**each) for each in value["unsaved"]),
            "submodules": tuple(value["submodules"]),
            "identity": Identity(**value["identity"]),
        }
    )
    if workspace.repository != found.root:
        raise WorkspaceError(
            f"The workspace {home} belongs to {workspace.repository}, not to {found.root}.", hint="Use another name."
        )
    return workspace
