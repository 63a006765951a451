"""May the agent do what it asks for? The answer to a `session/request_permission`, from the turn's request alone.

Read-only: looking is allowed, nothing else. Where the process is confined, or a person chose no confinement, all is
allowed. Else only what names files inside the workspace, or names none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchline.agents.port import Request
from touchline.transcripts.shapes import items, mapping, text

LOOKING = frozenset({"read", "search"})
"""Kinds of tools that change nothing; what an agent does not name a kind of is not among them."""
CANCELLED: Mapping[str, Any] = {"outcome": "cancelled"}


def allowed(request: Request, call: Mapping[str, Any]) -> bool:
    """Whether the call may go on."""
    if request.read_only:
        return call.get("kind") in LOOKING
    if request.confined:
        return True
    rooms = (request.workspace, *request.folders)
    places = [text(mapping(place).get("path")) for place in items(call.get("locations"))]
    return all(_within(place, rooms, request.workspace) for place in places)


def outcome(options: Any, *, allow: bool) -> Mapping[str, Any]:
    """The option to choose: this once, as nothing is to outlast the turn. `cancelled` where no option fits."""
    wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    offered = [mapping(option) for option in items(options)]
    for kind in wanted:
        for option in offered:
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return {"outcome": "selected", "optionId": option["optionId"]}
    return CANCELLED


def _within(place: str, rooms: tuple[Path, ...], workspace: Path) -> bool:
    try:
        path = (workspace / place).resolve()
        return any(path.is_relative_to(room.resolve()) for room in rooms)
    except (OSError, ValueError, RuntimeError):
        return False
