"""What must an event carry? Each type's current version and the fields of its payload, as data (`known_events`).

Events are checked when they are written. What an older Touchline wrote is lifted to the current version when it is
read (`upcast`); nothing in the log is ever edited.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from touchline.errors import EventError


class Kind(StrEnum):
    """What a field of a payload may hold."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a payload."""

    name: str
    kind: Kind = Kind.TEXT
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventType:
    """What is known about events of one name."""

    name: str
    version: int = 1
    """The version in which new events are written."""
    fields: tuple[Field, ...] = ()
    kinds: Mapping[str, Kind] = field(init=False, repr=False, compare=False)
    required: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", {each.name: each.kind for each in self.fields})
        object.__setattr__(self, "required", tuple(each.name for each in self.fields if each.required))


KNOWN: dict[str, EventType] = {}
_LOADING, _LOADED = threading.Lock(), threading.Event()


def register(event_type: EventType) -> None:
    """Make a type known. The same name twice is a mistake, not an update."""
    if event_type.name in KNOWN:
        raise EventError(f"The event {event_type.name} is known already.", hint="Choose another name.")
    KNOWN[event_type.name] = event_type


def known_type(name: str) -> EventType:
    found = KNOWN.get(name) or _all().get(name)
    if found is None:
        near = sorted(each for each in KNOWN if each.split(".")[0] == name.split(".")[0]) or sorted(KNOWN)
        raise EventError(
            f"The event type {name!r} is not known.",
            hint=f"Known are {', '.join(near)}. A newer Touchline may have written it: upgrade.",
        )
    return found


def validate(name: str, version: int, payload: Mapping[str, Any]) -> EventType:
    """The event's type, when the payload fits its current version; else EventError says which field does not."""
    found = known_type(name)
    if version != found.version:
        raise wrong_version(found, version)
    kinds = found.kinds
    for each, value in payload.items():
        kind = kinds.get(each)
        if kind is None:
            allowed = ", ".join(kinds) or "none"
            raise EventError(f"{name}: the field {each!r} ({_short(value)}) is not known.", hint=f"Fields: {allowed}.")
        if value is not None and not _FITS[kind](value):
            raise EventError(
                f"{name}: the field {each!r} must be of kind {kind.value}, but is {_short(value)}.",
                hint=f"Write a value of kind {kind.value}.",
            )
    for each in found.required:
        if payload.get(each) is None:
            raise EventError(f"{name}: the field {each!r} is missing.", hint=f"Needed: {', '.join(found.required)}.")
    return found


def wrong_version(found: EventType, version: int) -> EventError:
    if version > found.version:
        return EventError(
            f"{found.name}: version {version} is newer than version {found.version}, the newest known here.",
            hint="Upgrade Touchline on this machine.",
        )
    return EventError(
        f"{found.name}: version {version} is not written any more.", hint=f"Write version {found.version}."
    )


def _all() -> dict[str, EventType]:
    # The data is read at the first use, not at import; by one thread, and the others wait until it has them all.
    if not _LOADED.is_set():
        with _LOADING:
            if not _LOADED.is_set():
                from touchline.store.known_events import load

                load()
                _LOADED.set()
    return KNOWN


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is(kinds: type | tuple[type, ...], value: object) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


_FITS: dict[Kind, Callable[[object], bool]] = {
    Kind.TEXT: partial(_is, str),
    Kind.INTEGER: partial(_is, int),
    Kind.NUMBER: partial(_is, (int, float)),
    Kind.FLAG: lambda value: isinstance(value, bool),
    Kind.LIST: partial(_is, (list, tuple)),
    Kind.OBJECT: partial(_is, dict),
}
