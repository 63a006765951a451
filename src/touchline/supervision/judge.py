"""What may a language model be asked about a stop, and what may it answer?

Asked only where the rules are unsure. Its answer is typed and checked; it can neither overrule process facts nor
un-reject a completion. Who asks which model, and how, lives elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

from touchline.supervision.stops import Kind
from touchline.supervision.values import Value


class Question(Value):
    """What the judge is told."""

    text: str
    """The agent's final message."""
    task: str
    """What the agent was asked to do; may be empty."""
    guess: Kind
    """What the rules would say."""
    confidence: float
    reason: str
    """Which rule guessed it."""


class Verdict(Value):
    """What the judge answers."""

    kind: Kind
    confidence: float
    """0 to 1."""
    missing: tuple[str, ...] = ()
    """What would prove a completion."""
    quote: str = ""
    """The words it rests on; they must occur in the message, or the verdict is thrown away."""


Judge = Callable[[Question], Verdict]


def fault_of(verdict: object, text: str) -> str:
    """Why a verdict cannot be used, or an empty text when it can."""
    if not isinstance(verdict, Verdict):
        return "its answer was not a verdict"
    kind: object = verdict.kind
    if not isinstance(kind, Kind):
        return "its answer named no kind of stop"
    confidence: object = verdict.confidence
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.0 <= confidence <= 1.0:
        return "its confidence was not between 0 and 1"
    quote: object = verdict.quote
    if not isinstance(quote, str) or not _occurs(quote, text):
        return "the words it quoted do not occur in the message"
    missing: object = verdict.missing
    if not isinstance(missing, tuple | list) or not all(isinstance(m, str) for m in missing):
        return "its list of what is missing was malformed"
    return ""


def _occurs(quote: str, text: str) -> bool:
    return " ".join(quote.split()) in " ".join(text.split())
