"""Which patterns of thrash are there? The values that the finders return; `loops` and `thrash` find them."""

from __future__ import annotations

from touchline.supervision.sameness import thrash_data
from touchline.supervision.values import Literal, Value
from touchline.supervision.words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Grade = Literal["warning", "loop"]


class Rule(Word):
    """Each rule in one sentence."""

    REPEAT = "repeat"
    """The same call gets the same result again and again, with nothing else in between."""
    CYCLE = "cycle"
    """The same few calls go round with the same results."""
    FEW_DISTINCT = "few_distinct"
    """The last calls are only a few different ones, with the same results."""
    NOTHING_NEW = "nothing_new"
    """Most of the last calls told nothing that an earlier call had not told already."""
    SAME_MESSAGE = "same_message"
    """The agent closes with the same message again and again."""
    WAITING = "waiting"
    """Call after call waits, or acts on something outside, and none tells anything new."""
    WANDERING = "wandering"
    """Turn after turn changes nothing and passes no check, at far more tokens than the task used to need."""
    FAILURE_RATE = "failure_rate"
    """More than half of the last calls failed."""
    FAILING_AGAIN = "failing_again"
    """The same call failed twice in a row."""


class Thrash(Value):
    """A pattern that was found, where it began, and where it became known."""

    rule: Rule
    grade: Grade
    """A warning is shown and may be coached; a loop acts."""
    began: int
    """Index of the call where the pattern began; -1 when no call was made."""
    at: int
    """Index of the call at which it is known; -1 when no call was made."""
    refused: bool = False
    """True when the call at `at` has not run yet and should not."""
    message: str = ""
    """One sentence for people."""
    calls: tuple[int, ...] = ()
    """The calls it rests on, as far as they are still remembered."""
    detail: str = ""
    """First line of the result that keeps coming back."""


def found(which: str, **values: Any) -> str:
    """The sentence for people that goes with a finding."""
    return str(thrash_data("found")[which]).format(**values)
