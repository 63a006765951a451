"""Which file changes, and how? Reads an agent's settings, plans the change, and writes it whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from tempfile import NamedTemporaryFile

from touchline.errors import InputError
from touchline.hooks import entry_path, made_folders, opencode, settings_text
from touchline.hooks.agents_known import HOMES, Home, Level, entry_of, hooks_of, programs_of, settings_file
from touchline.hooks.switches import switched_off
from touchline.supervision.values import Value

BOM = "\ufeff"


class Change(Value):
    """A file as it is and as it would be; None where there is no file."""

    path: Path
    before: str | None
    after: str | None
    note: Path
    """Where folders are noted that are made for the file."""

    @property
    def needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change, for people."""
        old, new = (self.before or "").splitlines(), (self.after or "").splitlines()
        names = (str(self.path) if self.before is not None else "/dev/null", str(self.path))
        if self.after is None:
            names = (names[0], "/dev/null")
        return "\n".join(unified_diff(old, new, *names, n=2, lineterm=""))


class Standing(Value):
    """How hooks stand in one settings file."""

    agent: str
    level: Level
    path: Path
    result: str
    """`installed`, `partly`, `outdated`, `broken`, `off`, `absent` or `unreadable`."""
    detail: str = ""
    fix: str = ""
    """What a person can do about it; empty where nothing is wrong."""


def home_of(agent: str) -> Home:
    """What is known of an agent. Raises `InputError` for an unknown one."""
    if agent not in HOMES:
        raise InputError(f"Unknown agent {agent!r}.", hint=f"Known are {', '.join(HOMES)}.")
    return HOMES[agent]


def plan_install(agent: str, level: Level, *, folder: Path, env: Mapping[str, str]) -> Change:
    """The change that puts our hooks in place."""
    path, comments = _place(agent, level, folder, env), home_of(agent).comments
    text = _read(path)
    with _about(path):
        if agent == "opencode":
            after: str | None = opencode.installed(text)
        else:
            after = _edited(text, lambda t: settings_text.installed(t, hooks_of(agent), comments=comments))
    return Change(path=path, before=text, after=after, note=made_folders.note_of(env))


def plan_uninstall(agent: str, level: Level, *, folder: Path, env: Mapping[str, str]) -> Change:
    """The change that takes our hooks out."""
    path, comments = _place(agent, level, folder, env), home_of(agent).comments

    def taken_out(text: str | None) -> str | None:
        if text is None:
            return None
        return opencode.removed(text) if agent == "opencode" else settings_text.removed(text, comments=comments)

    text = _read(path)
    with _about(path):
        after = _edited(text, taken_out)
    return Change(path=path, before=text, after=after, note=made_folders.note_of(env))


def apply(change: Change) -> None:
    """Write the file, all of it at once. Raises `InputError` when it cannot be written, and leaves it as it was."""
    # A settings file may be a link into somebody's collection of such files; the link stays.
    path = Path(os.path.realpath(change.path))
    try:
        if _read(path) != change.before:
            raise InputError(f"{change.path} changed meanwhile.", hint="Nothing was written. Try again.")
        if change.after is None:
            path.unlink()
            made_folders.tidy(path.parent, change.note)
            return
        made_folders.make(path.parent, change.note)
        known = path.stat() if path.exists() else None
        with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(change.after.encode())
                file.flush()
                os.fsync(file.fileno())
                if known is not None and (known.st_uid, known.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), known.st_uid, known.st_gid)
                os.fchmod(file.fileno(), known.st_mode & 0o7777 if known is not None else 0o644)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise InputError(
            f"{change.path} could not be written ({error.strerror}).",
            hint="Nothing was changed. Check who may write it.",
        ) from error


def standing(agent: str, level: Level, *, folder: Path, env: Mapping[str, str]) -> Standing | None:
    """How our hooks stand at one level; None where the agent has no such level."""
    path = settings_file(home_of(agent), level, folder=folder, env=env)
    if path is None:
        return None

    again = f"touchline hook install {agent}" + ("" if level == "project" else f" --{level}")

    def found(result: str, detail: str = "", fix: str = again) -> Standing:
        fine = result in ("installed", "absent")
        return Standing(agent=agent, level=level, path=path, result=result, detail=detail, fix="" if fine else fix)

    try:
        text = _read(path)
        if text is None:
            return found("absent")
        if agent == "opencode":
            return found(*opencode.standing(text))
        commands = settings_text.commands_in(text.removeprefix(BOM), comments=home_of(agent).comments)
    except InputError as error:
        return found("unreadable", error.message, error.hint)
    if not commands:
        return found("absent")
    entries = {entry_of(command) for command in commands.values()}
    if gone := [place for command in commands.values() for place in programs_of(command) if not os.path.isfile(place)]:
        return found("broken", f"{gone[0]} is not there any more; run install again")
    if off := switched_off(agent, folder=folder, env=env):
        return found("off", off.detail, off.fix)
    wanted = hooks_of(agent)
    if missing := [event for event in wanted if event not in commands]:
        return found("partly", f"not at {', '.join(missing)}; run install again")
    if entries != {entry_path()}:
        return found("outdated", "another Touchline put them there; run install again to use this one")
    return found("installed")


def _place(agent: str, level: Level, folder: Path, env: Mapping[str, str]) -> Path:
    home = home_of(agent)
    path = settings_file(home, level, folder=folder, env=env)
    if path is None:
        raise InputError(f"{home.title} has no {level} settings file.", hint="Leave the option out, or use --user.")
    return path


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Errors about a file's content name the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error.message}", hint=f"Nothing was changed. {error.hint}") from error


def _edited(text: str | None, edit: Callable[[str | None], str | None]) -> str | None:
    """A byte order mark at the head of a file stays there."""
    if text is None or not text.startswith(BOM):
        return edit(text)
    edited = edit(text[1:])
    return None if edited is None else BOM + edited


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError(
                f"{path} is a link to a file that is not there.", hint="Mend or remove the link."
            ) from None
        return None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: it is not UTF-8 ({error.reason}).", hint="Mend the file, then try again.") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}).", hint="Check what it is, and who may read it."
        ) from error
