"""Does the request fit the driver? Checks of settings that only a driver understands, and the files of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from touchline.errors import SettingsError


def checked_settings(driver: str, settings: Mapping[str, Any], *, known: Sequence[str]) -> Mapping[str, Any]:
    """The settings, when the driver knows each of them."""
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise SettingsError(
            f"{driver} has no setting {unknown[0]!r}.", hint=f"Its settings are {', '.join(sorted(known)) or 'none'}."
        )
    return settings


def variables_in(driver: str, settings: Mapping[str, Any], name: str = "env") -> dict[str, str]:
    """A table of texts, such as variables for the process."""
    value = settings.get(name, {})
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in (*value, *value.values())):
        raise SettingsError(f"{driver}: {name} is {value!r}.", hint="It must be a table of names and texts.")
    return dict(value)


def texts_in(driver: str, settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts."""
    value = settings.get(name, ())
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise SettingsError(f"{driver}: {name} is {value!r}.", hint="It must be a list of texts.")
    return tuple(value)


def whole_number_in(driver: str, settings: Mapping[str, Any], name: str) -> int | None:
    """A whole number from 0 on, where it is given."""
    value = settings.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SettingsError(f"{driver}: {name} is {value!r}.", hint="It must be a whole number from 0 on.")
    return value


def program_files(path: Path) -> tuple[Path, ...]:
    """What a sandbox must show of a program: the file as it is called, and what it really is.

    A program in an npm package reaches into its neighbours: the outermost `node_modules` around it is shown.
    """
    real = path.resolve()
    packages = [folder for folder in real.parents if folder.name == "node_modules"]
    return tuple(dict.fromkeys((path, packages[-1] if packages else real)))
