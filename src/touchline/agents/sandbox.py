"""How is a command confined, and can it be here? Levels are found by trying, and chosen in the open.

`sandbox_line` says what a command sees inside of bubblewrap. A CLI's own mode is its driver's work.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import assert_never

from touchline.agents.port import Abilities, Launch, Level
from touchline.agents.private_home import furnish
from touchline.agents.sandbox_line import Confinement, bubblewrap_line
from touchline.errors import SandboxError

_PROBE_SECONDS = 20.0
_INSTALL = "Install it: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`."
_NAMESPACES = (
    "Allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu also "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for bwrap; in a container, start "
    "it with a seccomp profile that lets them be made."
)
_UNCONFINED = "To run it without any confinement, say so: `--sandbox none`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What this machine has for confining commands."""

    bubblewrap: bool
    """It was run, with the very namespaces and mounts that an agent gets, and worked."""
    why_not: str
    """What stood in the way; empty when it works."""
    hint: str
    """What a person can do about it; empty when it works."""
    processes: str
    """What limits the number of a child's processes, or that nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The level that is used, to be shown and recorded."""

    level: Level
    why: str


def probe(env: Mapping[str, str]) -> Probe:
    """Run bubblewrap once. Takes some ten milliseconds; ask once per command."""
    from touchline.processes import limits

    why_not, hint = _try_bubblewrap(env)
    return Probe(bubblewrap=not why_not, why_not=why_not, hint=hint, processes=str(limits.means()))


def choose(
    wanted: Level | None, probed: Probe, abilities: Abilities, *, read_only: bool = False, checked: bool = False
) -> Chosen:
    """The level wanted, or the best there is. `SandboxError` when that is none and nobody said so, or when a check of
    ours runs in the agent's workspace (`checked`) and the level is not around that."""
    chosen = _chosen(wanted, probed, abilities, read_only=read_only)
    if checked and chosen.level == "own":
        better = "Leave out `--sandbox own`: bubblewrap works here." if probed.bubblewrap else probed.hint
        raise SandboxError(
            "The check would run unconfined: the agent's own sandbox is around its tools, not around what we run.",
            hint=f"{better} Or say `--sandbox none`, when the agent's code may run freely here.",
        )
    return chosen


def _chosen(wanted: Level | None, probed: Probe, abilities: Abilities, *, read_only: bool) -> Chosen:
    own = abilities.own_sandbox or (read_only and abilities.read_only)
    match wanted:
        case "bubblewrap" if not probed.bubblewrap:
            raise SandboxError(f"The sandbox bubblewrap cannot be used: {probed.why_not}", hint=probed.hint)
        case "bubblewrap":
            return Chosen(level="bubblewrap", why="asked for")
        case "own" if not own:
            raise SandboxError(
                "This agent has no sandbox of its own.",
                hint="Leave out `--sandbox own`, or take an agent that has one; `touchline doctor` lists them.",
            )
        case "own":
            return Chosen(level="own", why="asked for")
        case "none":
            return Chosen(level="none", why="asked for: the agent may do all that you may")
        case None if probed.bubblewrap:
            return Chosen(level="bubblewrap", why="it works here")
        case None if own:
            return Chosen(level="own", why=f"bubblewrap cannot be used: {probed.why_not}")
        case None:
            raise SandboxError(
                f"The agent cannot be confined: it has no sandbox of its own, and bubblewrap cannot be used: "
                f"{probed.why_not}",
                hint=f"{probed.hint} {_UNCONFINED}",
            )
        case _:
            assert_never(wanted)


def confine(
    launch: Launch,
    *,
    level: Level,
    workspace: Path,
    read_only: bool = False,
    folders: Sequence[Path] = (),
    network: bool = True,
    env: Mapping[str, str],
) -> Launch:
    """The same launch inside the sandbox; unchanged at the other levels.

    Inside, the workspace and `launch.keeps` can be written, and the rest of the machine can be read but for what lies
    in homes and other places of the user: of those only `launch.needs`, `folders`, and the programs on the PATH of
    `env`. Folders in `launch.keeps` that are missing are made; files are not, and what the command writes there is
    lost. In the place of `launch.homes` are the session's private ones. `read_only` takes the right to write from the
    workspace.
    """
    if level != "bubblewrap":
        return launch
    for folder in launch.keeps:
        if not folder.exists() and not folder.suffix:  # what has a suffix is a file
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)  # another agent may have made it meanwhile
    line = bubblewrap_line(
        Confinement(
            program=_bubblewrap(env),
            workspace=workspace,
            cwd=launch.cwd or workspace,
            readable=(*launch.needs, *folders),
            writable=launch.keeps,
            homes=tuple((home, furnish(home)) for home in launch.homes),
            read_only=read_only,
            network=network,
        ),
        env,
    )
    # The folder for short-lived files may be one that cannot be seen inside.
    return replace(launch, argv=(*line, *launch.argv), env={**launch.env, "TMPDIR": "/tmp"})  # noqa: S108


def confined_command(
    argv: Sequence[str],
    *,
    level: Level,
    workspace: Path,
    env: Mapping[str, str],
    read_only: bool = False,
    network: bool = True,
) -> Launch:
    """A command of ours in the agent's workspace, such as a declared check: confined as the agent was.

    At the levels `own` and `none` it is as free as the caller: nothing of the CLI's own sandbox is around it.
    """
    launch = Launch(argv=tuple(argv), cwd=workspace)
    return confine(launch, level=level, workspace=workspace, read_only=read_only, network=network, env=env)


def _bubblewrap(env: Mapping[str, str]) -> Path:
    found = shutil.which("bwrap", path=env.get("PATH", ""))
    if found is None:
        raise SandboxError("The sandbox bubblewrap cannot be used: `bwrap` is not on the PATH.", hint=_INSTALL)
    return Path(found).absolute()


def _try_bubblewrap(env: Mapping[str, str]) -> tuple[str, str]:
    """Why it cannot be used and what to do; two empty strings when it can."""
    if sys.platform != "linux":
        return "it needs Linux.", "Run Touchline in a Linux machine or container."
    try:
        program = _bubblewrap(env)
    except SandboxError:
        return "it is not installed: `bwrap` is not on the PATH.", _INSTALL
    try:
        temporary = TemporaryDirectory(prefix="touchline-probe-")
    except OSError as error:
        return f"it cannot be tried: {error.strerror}", "Name a folder for temporary files: export TMPDIR=/some/folder"
    with temporary as folder:
        launch = confined_command(["true"], level="bubblewrap", workspace=Path(folder), env=env)
        try:
            done = subprocess.run(  # noqa: S603 - our own line
                launch.argv, stdin=subprocess.DEVNULL, capture_output=True, env=dict(env), timeout=_PROBE_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{program} does not run: {error}", _INSTALL
    if done.returncode == 0:
        return "", ""
    said = done.stderr.decode(errors="replace").strip() or f"it ended with code {done.returncode}"
    blocked = any(word in said for word in ("namespace", "uid map", "Operation not permitted", "Permission denied"))
    return f"{program} was refused: {said}.", _NAMESPACES if blocked else _INSTALL
