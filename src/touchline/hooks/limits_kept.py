"""Which numbers do the rules use in this session? Those that a person set, kept in the session's state.

Reading settings costs more than a whole hook, so it is done only when what the files say has changed since.
"""

from __future__ import annotations

from touchline.digests import digest
from touchline.settings.quick import said_for_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from touchline.hooks.memory import Memory
    from touchline.supervision.limits import Limits


def keep_up(memory: Memory, env: Mapping[str, str], folder: str) -> None:
    """Bring the numbers in the state up to date; settings that cannot be read leave every number at its default."""
    state = memory.state
    try:
        said = said_for_hooks(env, folder)
    except OSError:
        said = b""
    mark = digest(said.decode("utf-8", "surrogateescape")) if said else ""
    if state.get("limits_mark") == mark:
        return
    state["limits_mark"], state["limits"] = mark, {}
    if said:
        from touchline.settings.quick import hook_limits

        state["limits"] = hook_limits(env, folder)
        memory.keep()


def limits_of(state: Mapping[str, Any]) -> Limits:
    """All numbers; those that nobody set are at their default."""
    from touchline.supervision.limits import LIMITS
    from touchline.supervision.values import names_of, replace

    kept = state.get("limits") or {}
    names = names_of(LIMITS)
    return replace(LIMITS, **{name: _frozen(number) for name, number in kept.items() if name in names})


def _frozen(number: Any) -> Any:
    """JSON keeps what was a tuple as a list."""
    return tuple(map(_frozen, number)) if isinstance(number, list) else number
