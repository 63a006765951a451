"""What does a command see inside of bubblewrap? The line of options that says so; later ones win over earlier ones."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.agents.port import PrivateHome
from touchline.errors import SandboxError

_HIDDEN = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/media", "/mnt")  # noqa: S108
"""Where people keep what is theirs, and where the sockets are through which other programs can be told to do things."""
_SECRET_FILES = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/krb5.keytab")
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
"""Root may write these by owning them, without any capability; bubblewrap 0.8 leaves them open in a user namespace."""
_NAMES_OF_HOSTS = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/nscd")
"""Where /etc/resolv.conf may lead to."""
_TOOLCHAINS = (
    *(".asdf", ".bun", ".cargo/bin", ".cargo/env", ".deno", ".fnm", ".local/bin", ".local/share/mise"),
    *(".local/share/pnpm", ".local/share/uv", ".nvm", ".pyenv", ".rbenv", ".rustup", ".sdkman", ".volta", "go/bin"),
)
"""Below a home: programs, no secrets. A build needs them, and their folders on the PATH are only doors to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What a command may see and do."""

    program: Path
    """Bubblewrap."""
    workspace: Path
    cwd: Path
    readable: tuple[Path, ...] = ()
    """Shown although they lie in a hidden place."""
    writable: tuple[Path, ...] = ()
    homes: tuple[tuple[PrivateHome, tuple[str, ...]], ...] = ()
    """Private homes, each with the names of what is shown in it."""
    read_only: bool = False
    """The workspace cannot be written."""
    network: bool = True
    """False: not even the loopback of the machine can be reached."""


def bubblewrap_line(wanted: Confinement, env: Mapping[str, str]) -> list[str]:
    """The options up to the `--` before the command. `SandboxError` for a folder that would show the user's home."""
    homes = _homes()
    own = Path(env.get("HOME") or homes[0]).resolve()
    hidden = _hidden((*homes, own))
    workspace = wanted.workspace.resolve()
    for path in (workspace, *wanted.writable, *wanted.readable, *(home.usual for home, _ in wanted.homes)):
        for home in homes:
            if home.is_relative_to(path.resolve()):
                raise SandboxError(
                    f"{path} cannot be shown in the sandbox: the home {home} is in it, with all its secrets.",
                    hint="Let the agent work in a folder of its own, below the home or elsewhere.",
                )
    line = [str(wanted.program), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for name in filter(os.path.exists, _KERNEL):
        line += ["--ro-bind", name, name]
    for path in hidden:
        line += ["--tmpfs", str(path)]
    if any(own.is_relative_to(path) for path in hidden):
        line += ["--dir", str(own)]
    for name in filter(os.path.exists, _SECRET_FILES):
        line += ["--ro-bind", os.devnull, name]
    for name in _NAMES_OF_HOSTS:
        line += ["--ro-bind-try", name, name]
    for shown, (how, what) in _mounts(wanted, workspace, hidden, (*_tools(env, (*homes, own)), *wanted.readable)):
        line += [how, str(what.resolve()), str(shown)]
    line += ["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if not wanted.network:
        line.append("--unshare-net")
    line += ["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--chdir", str(wanted.cwd.resolve()), "--"]
    return line


def _mounts(
    wanted: Confinement, workspace: Path, hidden: Iterable[Path], readable: Iterable[Path]
) -> list[tuple[Path, tuple[str, Path]]]:
    """Where something is shown, how, and what; outer folders first, because a later mount covers what an earlier one
    put below it."""
    mounts: dict[Path, tuple[str, Path]] = {}
    for path in filter(Path.exists, readable):
        for name in _names(path):
            if any(name.is_relative_to(folder) for folder in hidden) and not name.is_relative_to(workspace):
                mounts[name] = ("--ro-bind", name)
    for path in filter(Path.exists, wanted.writable):
        mounts |= {name: ("--bind", name) for name in _names(path)}
    for home, shown in wanted.homes:
        for place in _names(home.usual):
            mounts[place] = ("--bind", home.private)
            for entry in shown:
                mounts[place / entry] = ("--bind" if entry in home.written else "--ro-bind", home.usual / entry)
    mounts[workspace] = ("--ro-bind" if wanted.read_only else "--bind", workspace)
    return sorted(mounts.items(), key=lambda mount: len(mount[0].parts))


def _names(path: Path) -> set[Path]:
    """What a path leads to, and its own name when that is a link."""
    return {path.resolve(), path.parent.resolve() / path.name}


def _homes() -> list[Path]:
    """The user's home, as the machine says and as the variable does."""
    try:
        known = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container may run us as somebody whom the machine does not know
        known = ""
    named = (Path(each).resolve() for each in (known, os.environ.get("HOME")) if each)
    return [home for home in dict.fromkeys(named) if home != Path("/")] or [Path("/nonexistent")]


def _hidden(homes: Iterable[Path]) -> list[Path]:
    """Outer ones first, and none within another: one empty folder covers all that is below."""
    # A path that is a link, such as /var/tmp on some machines, is covered through what it leads to.
    real = {Path(name).resolve() for name in (*_HIDDEN, *map(str, homes)) if os.path.isdir(name)}
    return sorted(path for path in real if not any(path != other and path.is_relative_to(other) for other in real))


def _tools(env: Mapping[str, str], homes: tuple[Path, ...]) -> Iterator[Path]:
    for home in homes:
        yield from (home / name for name in _TOOLCHAINS)
    for name in env.get("PATH", "").split(os.pathsep):
        folder = Path(name)
        if not folder.is_absolute() or folder.resolve() in (Path("/"), *homes):
            continue
        yield folder
        # A virtual environment or an interpreter below a home: its libraries are beside its programs.
        around = folder.resolve().parent
        bare = {path for home in homes for path in (home, home / ".local")}
        if (around / "lib").is_dir() and around not in bare and not any(home.is_relative_to(around) for home in homes):
            yield around
