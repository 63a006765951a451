"""Is asking again the purpose of this call?

Waiting declares itself: by the tool, by a command of the shell line, or by a press on something outside. The words are
in `thrash.toml`. Only such calls may repeat, and `loops` counts even them.
"""

from __future__ import annotations

from touchline.supervision.facts import Call, Result
from touchline.supervision.prepared import shape
from touchline.supervision.remembering import cache
from touchline.supervision.sameness import is_outage, thrash_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

LINE_CHARS = 4_000
"""A line longer than this is a script, which does more than wait."""
BUSY = frozenset({"test", "typecheck", "lint", "build", "edit", "commit", "push"})
"""What a line that waits does not do besides."""
_LINES = ("command", "cmd", "script", "commands")
_START = r"(?:^|[;&|({`\n]|\b(?:do|then|else|until|while|if)\s|-\w*c\s+[\"'])[ \t]*"
_BEFORE = r"(?:(?:!|sudo|time|env|\w+=\S*|timeout(?:\s+-\S+)*\s+\S+)\s+)*"
_BETWEEN = r"(?:\s+-\S+(?:\s+[^-\s]\S*)?)*?\s+"
_BACKGROUND = r"\s&(?:\s|$)"


@cache
def _commands() -> tuple[str, ...]:
    return tuple(thrash_data("waiting")["commands"])


@cache
def _heads() -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.split()[0] for each in _commands()))


@cache
def _waiting() -> re.Pattern[str]:
    # No `re.escape`: the words are our own, and `re` is not loaded for it.
    either = "|".join(_BETWEEN.join(each.split()) for each in _commands())
    return shape(f"{_START}{_BEFORE}(?:{either})(?![\\w-])")


@cache
def _acts() -> frozenset[str]:
    return frozenset(thrash_data("waiting")["acts"])


@cache
def _actions() -> frozenset[str]:
    return frozenset(thrash_data("waiting")["actions"])


def waits(call: Call) -> bool:
    """A shell line that waits, or asks how something outside is getting on."""
    line = _line(call)
    if not line or len(line) > LINE_CHARS or not any(head in line for head in _heads()):
        return False
    if _waiting().search(line) is None or shape(_BACKGROUND).search(line) is not None:
        return False
    return _only_waits(line, call)


def _only_waits(line: str, call: Call) -> bool:
    """The words may stand in quotes, and beside a check or an edit they are no reason to do that again."""
    from touchline.supervision.commands import plan_of  # hooks count milliseconds, and few lines come so far
    from touchline.supervision.tools import command_of

    plan = plan_of(command_of(call.args) or line)
    return not plan.kinds & BUSY and any(_waiting().match(" ".join(part.words)) for part in plan.parts)


def acts_outside(call: Call) -> bool:
    """A press, click or the like: what it does shows elsewhere, not in its answer."""
    action = call.args.get("action")
    return _is_act(call.tool) or (isinstance(action, str) and (action in _actions() or _is_act(action)))


def may_repeat(call: Call, result: Result | None) -> bool:
    """Whether the call that ended so is no repeat of any other."""
    if waits(call):
        return True
    return result is not None and (is_outage(result) if result.failed else acts_outside(call))


def _is_act(name: str) -> bool:
    small = name[:200].lower()
    if not any(word in small for word in _acts()):
        return False
    from touchline.supervision.tools import tokens_of  # most tools need none

    return not _acts().isdisjoint(tokens_of(name))


def _line(call: Call) -> str:
    """The command line; each word of a list on a line of its own, so that a script in it has a beginning."""
    for name in _LINES:
        value = call.args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple):
            return "\n".join(str(each) for each in value)
    return ""
