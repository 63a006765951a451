"""How do settings read in a terminal, and as JSON?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from touchline.audit.visible import visible
from touchline.cli.sheet import print_facts, print_json
from touchline.cli.terminal import say
from touchline.settings.folders import project_file, user_file
from touchline.settings.keys import ANY_AGENT, Key, key_named, keys, require_key, suggestion
from touchline.settings.loading import Found, find_settings
from touchline.settings.sections import AGENTS
from touchline.settings.trust import trust_file
from touchline.settings.values import shown, wanted_words, without_password


def found_here() -> Found:
    """The settings of this folder."""
    return find_settings({}, os.environ, Path.cwd(), Path.home())


def print_settings(*, origin: bool, as_json: bool) -> None:
    found = found_here()
    if as_json:
        print_json("touchline.settings/1", {"settings": dict(_rows(found)), "ignored": _ignored(found)})
        return
    section = ""
    for key in _keys(found):
        if key.section != section:
            print(f"\n[{key.section}]" if section else f"[{key.section}]")
            section = key.section
        value = shown(key, found.settings.value(key.name))
        line = f"{key.short} = {value}" if value else f"# {key.short} is not set"
        where = f"  # {found.where(key.name)}" if origin else ""
        print(visible(f"{line}{where}"))
    if found.notice:
        say(found.notice)


def print_paths(*, as_json: bool) -> None:
    project = project_file(Path.cwd())
    files = {
        "project": project,
        "user": user_file(os.environ, Path.home()),
        "trust": trust_file(os.environ, Path.home()),
    }
    if as_json:
        rows = {name: {"path": str(path), "exists": path.exists()} if path else None for name, path in files.items()}
        print_json("touchline.settings-files/1", rows)
        return
    facts = {name: f"{path}{'' if path.exists() else ' (not there)'}" for name, path in files.items() if path}
    if project is None:
        facts["project"] = "none: this folder is in no git repository"
    print_facts(facts)


def print_key(name: str, *, as_json: bool) -> None:
    from touchline.errors import SettingsError

    key = keys().get(name) or key_named(name)
    if key is None:
        raise SettingsError(f"There is no setting {name!r}.", hint=suggestion(name))
    found = None if ANY_AGENT in name else found_here()
    here = shown(key, found.settings.value(name)) if found else ""
    facts = {
        "key": key.name,
        "meaning": key.meaning,
        "takes": wanted_words(key),
        "default": shown(key, key.default) or "not set",
        "here": f"{here or 'not set'} ({found.where(name)})" if found else "",
        "variable": key.variable,
        "project file": "counts only when trusted: touchline config trust" if key.guarded else "counts",
    }
    if as_json:
        print_json("touchline.setting/1", {**_described(key), **({"here": _row(found, key)} if found else {})})
    else:
        print_facts(facts)


def _keys(found: Found) -> Iterator[Key]:
    of_agent = [key.short for key in keys().values() if ANY_AGENT in key.name]
    for key in keys().values():
        if ANY_AGENT not in key.name:
            yield key
        elif key.short == of_agent[0]:
            for agent in sorted(found.settings.agents):
                yield from (require_key(f"{AGENTS}.{agent}.{each}") for each in of_agent)


def _rows(found: Found) -> Iterator[tuple[str, dict[str, Any]]]:
    for key in _keys(found):
        yield key.name, _row(found, key)


def _row(found: Found, key: Key) -> dict[str, Any]:
    origin = found.origins.get(key.name)
    source = origin.source if origin else "default"
    return {"value": _plain(key, found.settings.value(key.name)), "source": source, "where": found.where(key.name)}


def _described(key: Key) -> dict[str, Any]:
    return {
        "key": key.name,
        "meaning": key.meaning,
        "takes": wanted_words(key),
        "default": key.default,
        "variable": key.variable,
        "guarded": key.guarded,
    }


def _ignored(found: Found) -> dict[str, Any]:
    return {name: _plain(key_named(name), value) for name, value in found.ignored.items()}


def _plain(key: Key | None, value: Any) -> Any:
    hidden = key is not None and key.name == "database.url" and "://" in str(value)
    return without_password(str(value)) if hidden else value
