"""What is set, where somebody waits for every millisecond? Nothing is loaded when nothing is set.

Each gives what `loading` would. A broken file is no reason to stop here; `touchline doctor` tells of it.
"""

from __future__ import annotations

import os

from touchline.errors import SettingsError
from touchline.settings.folders import PROJECT_FILE, USER_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from touchline.settings.settings import Settings


def settings_if_any(env: Mapping[str, str], folder: Path, home: Path, *, section: str) -> Settings | None:
    """The settings; None when no file and no variable of the section is there, so that all is at its default."""
    if not _something_set(env, str(folder), str(home), section):
        return None
    from touchline.settings.loading import settings_for

    return settings_for({}, env, folder, home)


def hook_cap(env: Mapping[str, str], folder: str) -> int | None:
    """How often a stop is sent back; None for the default. Never raises."""
    try:
        home = env.get("HOME") or os.path.expanduser("~")
        folder = folder or os.getcwd()
        if not _something_set(env, folder, home, "hooks"):
            return None
        from pathlib import Path

        found = settings_if_any(env, Path(folder), Path(home), section="hooks")
    except (SettingsError, OSError, RuntimeError):
        return None
    return None if found is None else found.hooks.cap


def _something_set(env: Mapping[str, str], folder: str, home: str, section: str) -> bool:
    """Whether a file of `folders` is there, or a variable of the section; told without `pathlib`."""
    head = f"TOUCHLINE_{section.upper()}_"
    if any(name.startswith(head) for name in env):
        return True
    config = env.get("XDG_CONFIG_HOME", "")
    config = config if os.path.isabs(config) else os.path.join(home, ".config")
    if os.path.exists(os.path.join(config, "touchline", USER_FILE)):
        return True
    here = os.path.abspath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        here, below = os.path.dirname(here), here
        if here == below:
            return False
    return os.path.exists(os.path.join(here, PROJECT_FILE))
