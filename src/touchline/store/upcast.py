"""How is an event of an older version read today? By one function per step, from a version to the next.

    @from_version("task.failed", 1)
    def _(payload): return {**payload, "reason": payload.get("error", "unknown")}

The log keeps what was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchline.errors import EventError
from touchline.store.event_types import known_type, validate, wrong_version

Payload = dict[str, Any]
Upcast = Callable[[Payload], Payload]
UPCASTS: dict[tuple[str, int], Upcast] = {}


def from_version(name: str, version: int) -> Callable[[Upcast], Upcast]:
    """Register the step from `version` to the next one."""

    def registered(function: Upcast) -> Upcast:
        if (name, version) in UPCASTS:
            raise EventError(f"{name}: there is a step from version {version} already.", hint="Remove one of them.")
        UPCASTS[name, version] = function
        return function

    return registered


def upcast(name: str, version: int, payload: Payload) -> Payload:
    """The payload as the current version has it. EventError for a newer version, or a step that is missing."""
    known = known_type(name)
    if version == known.version:
        return payload
    if version > known.version:
        raise wrong_version(known, version)
    for each in range(version, known.version):
        step = UPCASTS.get((name, each))
        if step is None:
            raise EventError(
                f"{name}: nothing leads from version {each} to {each + 1}.",
                hint=f"Add from_version({name!r}, {each}) to touchline.store.upcast.",
            )
        payload = step(payload)
    validate(name, known.version, payload)
    return payload
