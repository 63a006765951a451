"""Where do settings live? The user's folders by the XDG rules, and the root of the project around a folder."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROJECT_FILE = "touchline.toml"
USER_FILE = "config.toml"


def config_folder(env: Mapping[str, str], home: Path) -> Path:
    """The user's folder for settings."""
    return _folder(env, "XDG_CONFIG_HOME", home / ".config")


def state_folder(env: Mapping[str, str], home: Path) -> Path:
    """The user's folder for what programs remember by themselves: trust and logs."""
    return _folder(env, "XDG_STATE_HOME", home / ".local" / "state")


def _folder(env: Mapping[str, str], variable: str, usual: Path) -> Path:
    given = env.get(variable, "")
    # The XDG rules: a relative path is to be ignored. (Any path makes another; `pathlib` itself is dear to load.)
    return (usual / given if given.startswith("/") else usual) / "touchline"


def git_root(folder: Path) -> Path | None:
    """The root of the repository around a folder; None where there is none."""
    here = folder.absolute()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)


def bare_root(folder: Path) -> Path | None:
    """The repository without a checkout around a folder; None where there is none."""
    here = folder.absolute()
    return next((each for each in (here, *here.parents) if _is_bare(each)), None)


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def user_file(env: Mapping[str, str], home: Path) -> Path:
    return config_folder(env, home) / USER_FILE


def project_file(folder: Path) -> Path | None:
    """The settings file of the project around a folder, there or not; None outside of a repository."""
    root = git_root(folder)
    return None if root is None else root / PROJECT_FILE
