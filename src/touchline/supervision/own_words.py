"""Which words has a person of their own? `coach.toml` and `phases.toml` in a folder that a door names, laid over ours.

Only what such a file says is different; the rest stays as it comes with Touchline. A word that nobody would fill in, or
a phase that nothing could prove, is an error that names the file.
"""

from __future__ import annotations

from touchline.plain_os import home_of, isabs, isfile, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

NAMES = ("coach.toml", "phases.toml")
_PHASE = frozenset({"trigger", "needs", "hint"})

_folder = ""


def look_in(folder: str) -> None:
    """Where a person's own files are, from now on. Nothing is read before somebody asks for the words."""
    global _folder
    _folder = folder


def look_in_settings(env: Mapping[str, str]) -> None:
    """Where they are by the XDG rules: beside the person's own settings."""
    config = env.get("XDG_CONFIG_HOME", "")
    if not isabs(config):
        config = join(home_of(env), ".config")
    look_in(join(config, "touchline"))


def own_file(name: str) -> str | None:
    """The person's own file of that name, where there is one."""
    if not _folder or name not in NAMES:
        return None
    path = join(_folder, name)
    return path if isfile(path) else None


def laid_over(name: str, usual: dict[str, Any], path: str) -> dict[str, Any]:
    """Ours with theirs over it. Raises `SettingsError`."""
    import tomllib

    try:
        with open(path, "rb") as file:
            theirs = tomllib.load(file)
    except (OSError, ValueError) as error:
        _wrong(path, f"it cannot be read ({error})")
    return _words(usual, theirs, path) if name == "coach.toml" else _phases(usual, theirs, path)


def _words(usual: dict[str, Any], theirs: dict[str, Any], path: str, at: str = "") -> dict[str, Any]:
    merged = dict(usual)
    for key, value in theirs.items():
        ours, where = usual.get(key), f"{at}{key}"
        if isinstance(ours, dict) and isinstance(value, dict):
            merged[key] = _words(ours, value, path, f"{where}.")
        elif isinstance(ours, str) and isinstance(value, str):
            if unknown := _placeholders(value, path, where) - _placeholders(ours, path, where):
                _wrong(path, f"nothing fills in {{{min(unknown)}}} in {where}", "Of placeholders it may use", ours)
            merged[key] = value
        else:
            _wrong(path, f"there is no {where} of that kind", "It has", ", ".join(f"{at}{each}" for each in usual))
    return merged


def _phases(usual: dict[str, Any], theirs: dict[str, Any], path: str) -> dict[str, Any]:
    from touchline.supervision.phases import NEEDS

    for name, phase in theirs.items():
        if not isinstance(phase, dict) or set(phase) != _PHASE:
            _wrong(path, f"the phase {name} has not just {', '.join(sorted(_PHASE))}")
        if not isinstance(phase["trigger"], str) or not phase["trigger"].strip() or " " in phase["trigger"].strip():
            _wrong(path, f"the trigger of {name} is no single word", "Such as", '"/do-release"')
        if not isinstance(phase["hint"], str) or not phase["hint"].strip():
            _wrong(path, f"{name} has no hint", "Say what the agent is to show", "")
        needs = phase["needs"]
        if not isinstance(needs, list) or not needs or not set(map(str, needs)) <= set(NEEDS):
            _wrong(path, f"{name} needs {needs!r}, which nothing checks", "What can be checked", ", ".join(NEEDS))
    return {**usual, **theirs}


def _placeholders(words: str, path: str, where: str) -> set[str]:
    from string import Formatter

    try:
        return {name for _, name, _, _ in Formatter().parse(words) if name is not None}
    except ValueError as error:
        _wrong(path, f"the braces in {where} do not fit ({error})", "A brace itself is written", "{{")


def _wrong(path: str, what: str, hint: str = "", names: str = "") -> NoReturn:
    from touchline.errors import SettingsError

    raise SettingsError(f"{path}: {what}.", hint=f"{hint}: {names}" if names else hint or "Mend it, or move it away.")
