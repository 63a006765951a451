"""What is set, where somebody waits for every millisecond? Nothing is loaded when nothing is set.

Each gives what `loading` would. A broken file is no reason to stop here; `touchline doctor` tells of it.
"""

from __future__ import annotations

from posix import getcwd, readlink

from touchline.plain_os import abspath, dirname, exists, home_of, isabs, join
from touchline.settings.folders import PROJECT_FILE, USER_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from touchline.settings.settings import Settings

_MOST_BYTES = 256 * 1024 + 1
"""One more than `files` takes, so that what it refuses is refused here too."""
_FOR_HOOKS = ("hooks", "limits")


def settings_if_any(env: Mapping[str, str], folder: Path, home: Path, *, section: str) -> Settings | None:
    """The settings; None when no file and no variable of the section is there, so that all is at its default."""
    head = f"TOUCHLINE_{section.upper()}_"
    if not any(name.startswith(head) for name in env) and not any(_files(env, str(folder), str(home), links=True)):
        return None
    from touchline.settings.loading import settings_for

    return settings_for({}, env, folder, home)


def said_for_hooks(env: Mapping[str, str], folder: str) -> bytes:
    """All that may set a number of the rules, to see whether it changed; empty when nothing does."""
    heads = tuple(f"TOUCHLINE_{section.upper()}_" for section in _FOR_HOOKS)
    said = [f"{name}={text}".encode("utf-8", "surrogateescape") for name, text in env.items() if name.startswith(heads)]
    for path in _files(env, folder or getcwd(), home_of(env)):
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES)
        if any(_names_hooks(line) for line in text.splitlines()):
            said.append(text)
    return b"\0".join(said)


def hook_limits(env: Mapping[str, str], folder: str) -> dict[str, Any]:
    """The numbers of the rules that are not at their default, for a hook; none when a file is wrong."""
    from pathlib import Path

    from touchline.errors import SettingsError
    from touchline.settings.loading import settings_for, without_slips
    from touchline.supervision.limits import LIMITS
    from touchline.supervision.values import names_of

    try:
        home = Path(home_of(env))
        found = settings_for({}, without_slips(env), Path(folder or getcwd()), home)
    except (SettingsError, OSError, RuntimeError):
        return {}
    limits = found.limits()
    numbers = {name: getattr(limits, name) for name in names_of(limits)}
    if found.hooks.cap is not None:
        numbers["continue_cap"] = found.hooks.cap
    return {name: number for name, number in numbers.items() if number != getattr(LIMITS, name)}


def _names_hooks(line: bytes) -> bool:
    """Whether a line of TOML may be about hooks or limits; one with an escape may hide any name."""
    words = line.lstrip()
    return not words.startswith(b"#") and any(word in words for word in (b"hooks", b"limits", b"\\u", b"\\U"))


def _is_link(path: str) -> bool:
    try:
        readlink(path)
    except OSError:
        return False
    return True


def _files(env: Mapping[str, str], folder: str, home: str, *, links: bool = False) -> Iterator[str]:
    """The files of `folders` that are there, with `links` also links to nothing; told without `pathlib`."""
    config = env.get("XDG_CONFIG_HOME", "")
    config = config if isabs(config) else join(home, ".config")
    user = join(config, "touchline", USER_FILE)
    if exists(user) or (links and _is_link(user)):
        yield user
    here = abspath(folder)
    while not exists(join(here, ".git")):
        here, below = dirname(here), here
        if here == below:
            return
    project = join(here, PROJECT_FILE)
    if exists(project) or (links and _is_link(project)):
        yield project
