"""How does an agent's work come into the user's repository? As a bundle that git checks object by object.

`gather` makes the bundle, in the sandbox; `importing` checks it, and sets `refs/touchline/<run>/head`:
no branch and no file of the user is touched. On the host git never runs in the agent's folder.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from touchline.agents.port import Launch, Level
from touchline.agents.workspaces import gather
from touchline.agents.workspaces.changes import Changes, changes_between
from touchline.agents.workspaces.clone import Workspace
from touchline.agents.workspaces.desk import desk
from touchline.agents.workspaces.importing import take_in
from touchline.agents.workspaces.repository import BY_THEMSELVES, Repository, find_repository
from touchline.errors import WorkspaceError

_OUTBOX = "outbox"
_CHECKED = (".gitmodules",)
"""Git looks into these when it checks a commit, and may refuse what they say."""
_MESSAGE = "Work that the agent left uncommitted"
_SUBJECT = 72
"""Characters of a commit's first line, as git itself likes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a run may bring."""

    files: int = 20_000
    """Files that differ from the base."""
    file_bytes: int = 100 * 1024 * 1024
    """One uncommitted file; a larger one stays where it is."""
    bundle_bytes: int = 1024 * 1024 * 1024
    """All new objects together, as git packs them."""
    seconds: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What came of a run."""

    commit: str
    """The base itself when nothing was changed."""
    base: str
    files: int
    insertions: int
    deletions: int
    committed_by_agent: int
    """Commits the agent made itself; 0 when its files were taken as one commit."""
    uncommitted: int
    """Files that it had changed without committing them."""
    leftovers: tuple[str, ...]
    """What was not taken, and what is odd; a sentence each, for a person."""
    changes: Changes


def collect(
    workspace: Workspace,
    *,
    level: Level,
    env: Mapping[str, str],
    records: Path,
    limits: Limits | None = None,
    task: str = "",
    left_out: tuple[str, ...] = (),
) -> Collected:
    """Bring the work of a clone, committed or not, into the user's repository. May be done again at any time.

    What the agent did not commit becomes a commit that is named after the `task`. Of that, the files in `left_out` stay
    as they were before.

    The agent must have ended. `WorkspaceError` when the work is over the limits or git finds it unsound; the clone
    stays as it is.
    """
    limits = limits or Limits()
    repository = find_repository(workspace.repository, env)
    if repository.commit(workspace.base) is None:
        raise WorkspaceError(f"{repository.root} no longer has the commit {workspace.base} that the run began with.")
    found = _best(workspace, repository, level, env, records, limits, message_for(task), left_out)
    return _collected(workspace, repository, found, limits)


def message_for(task: str) -> str:
    """The message of the commit that holds what an agent did not commit itself."""
    subject = next((line.strip() for line in task.splitlines() if line.strip()), "")
    if not subject:
        return _MESSAGE
    if len(subject) > _SUBJECT:
        subject = subject[: _SUBJECT - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
    return f"{subject}\n\n{_MESSAGE}."


def _best(
    workspace: Workspace,
    repository: Repository,
    level: Level,
    env: Mapping[str, str],
    records: Path,
    limits: Limits,
    message: str,
    never: tuple[str, ...],
) -> dict[str, Any]:
    """Import all of the work; where git or we refuse it, the files without the history; or those that are sound."""
    tries = (
        (True, (), ""),
        (False, (), "the agent's commits were refused and its files taken as one commit"),
        (False, _CHECKED, "the agent's commits and some of its files were refused, the others taken as one commit"),
    )
    why = ""
    for commits, refused, remark in tries:
        left_out = (*never, *refused)
        try:
            found = _gathered(
                workspace,
                repository,
                level,
                env,
                records,
                limits,
                message,
                commits=commits,
                left_out=left_out,
            )
            _import(workspace, repository, found, limits)
        except WorkspaceError as error:
            why, last = why or error.message, error
            continue
        if remark:
            found["remarks"].append(f"{remark}: {why}")
        return found
    raise last


def _gathered(
    workspace: Workspace,
    repository: Repository,
    level: Level,
    env: Mapping[str, str],
    records: Path,
    limits: Limits,
    message: str,
    *,
    commits: bool,
    left_out: tuple[str, ...],
) -> dict[str, Any]:
    from touchline.agents.sandbox import confine
    from touchline.processes.children import run_process

    outbox = workspace.folder / _OUTBOX
    shutil.rmtree(outbox, ignore_errors=True)
    outbox.mkdir(mode=0o700)
    work = gather.Gathering(
        clone=str(workspace.path),
        outbox=str(outbox),
        base=workspace.base,
        hash_name=repository.hash_name,
        objects=str(repository.objects),
        shallow=repository.shallow,
        excludes=(workspace.folder / "exclude").read_text(encoding="utf-8", errors="surrogateescape"),
        commits=commits,
        left_out=list(left_out),
        name=workspace.identity.name,
        email=workspace.identity.email,
        message=message,
        files=limits.files,
        file_bytes=limits.file_bytes,
        bundle_bytes=limits.bundle_bytes,
    )
    request = outbox / gather.REQUEST
    request.write_text(json.dumps(asdict(work)), encoding="ascii")
    launch = confine(
        Launch(
            argv=_program(request),
            cwd=Path("/"),
            needs=(Path(sys.base_prefix), _SOURCES / "touchline", *_stores(repository.objects)),
            keeps=(outbox,),
        ),
        level=level,
        workspace=workspace.path,
        read_only=True,
        network=False,
        env=env,
    )
    log = workspace.folder / "gather.log"
    log.unlink(missing_ok=True)
    ended = run_process(
        launch.argv,
        records=records,
        cwd=launch.cwd,
        env={"PATH": env.get("PATH", os.defpath), **launch.env},
        output=log,
        timeout=limits.seconds,
    )
    return _answer(outbox, log, how=f"{ended.how}, code {ended.exit_code}")


_SOURCES = Path(__file__).parents[3]


def _program(request: Path) -> tuple[str, ...]:
    """Python with its own library and this package, found by its path: neither the agent's folder nor any
    installed package has a say in what is imported."""
    start = f"import sys; sys.path.append({str(_SOURCES)!r}); from {gather.__name__} import main; main()"
    return (os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", start, str(request))


def _stores(objects: Path, depth: int = 0) -> list[Path]:
    """An object store of the user's, and those that it borrows from."""
    found = [objects]
    try:
        lines = (objects / "info" / "alternates").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line and not line.startswith("#") and depth < 5:
            found += _stores(Path(objects, line.strip('"')), depth + 1)
    return [path for path in found if path.is_dir()]


def _answer(outbox: Path, log: Path, *, how: str) -> dict[str, Any]:
    """What the gatherer says; it read what the agent wrote, so that nothing in it is taken on trust."""
    try:
        value = json.loads((outbox / gather.ANSWER).read_bytes())
        if "failed" in value:
            raise WorkspaceError(f"The agent's work cannot be collected: {value['failed']}.{_words(log)}")
        return {
            "head": str(value["head"]),
            "agent_head": str(value["agent_head"]),
            "uncommitted": int(value["uncommitted"]),
            **{name: [str(each)[:500] for each in value[name]][:200] for name in ("remarks", "refused", "ignored")},
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"The agent's work cannot be collected ({how}).{_words(log)}") from error


def _words(log: Path) -> str:
    try:
        words = log.read_text(encoding="utf-8", errors="replace").strip()[-1_000:]
    except OSError:
        words = ""
    return f" {words}" if words else ""


def _import(workspace: Workspace, repository: Repository, found: Mapping[str, Any], limits: Limits) -> None:
    ref, commit = f"refs/touchline/{workspace.name}/head", found["head"]
    if commit == workspace.base:
        repository.git.run("update-ref", ref, commit)
        return
    bundle = workspace.folder / _OUTBOX / gather.BUNDLE
    take_in(repository, bundle, base=workspace.base, commit=commit, ref=ref, limit=limits.bundle_bytes)


def _collected(workspace: Workspace, repository: Repository, found: Mapping[str, Any], limits: Limits) -> Collected:
    ref = f"refs/touchline/{workspace.name}/head"
    commit = repository.commit(ref)
    assert commit is not None
    with desk(repository) as git:
        changes = changes_between(git, workspace.base, commit)
        own = git.run("rev-list", "--count", f"{workspace.base}..{commit}").text
    if len(changes.files) > limits.files:
        repository.git.run("update-ref", "-d", ref)
        raise WorkspaceError(f"The agent changed {len(changes.files)} files; the limit is {limits.files}.")
    shutil.rmtree(workspace.folder / _OUTBOX, ignore_errors=True)
    usual = set(BY_THEMSELVES.replace("/", "").split())
    ignored = [each for each in found["ignored"] if not usual.intersection(each.split("/"))]
    return Collected(
        commit=commit,
        base=workspace.base,
        files=len(changes.files),
        insertions=changes.insertions,
        deletions=changes.deletions,
        committed_by_agent=int(own) - (found["head"] != found["agent_head"]),
        uncommitted=found["uncommitted"],
        leftovers=(
            *found["remarks"],
            *(f"not taken: {each}" for each in found["refused"]),
            *(
                [f"ignored, so not taken: {', '.join(ignored[:20])}{' …' if len(ignored) > 20 else ''}"]
                if ignored
                else []
            ),
        ),
        changes=changes,
    )
