"""Which numbers do the rules use? One place, each with its reason; a caller may pass its own."""

from __future__ import annotations

from touchline.supervision.values import Value


class Limits(Value):
    """Defaults of every threshold in `supervision`."""

    continue_cap: int = 3
    """Continuations of one stop before a person sees it: more does not help an agent told twice."""
    sure: float = 0.80
    """Below this confidence a stop is shown to a person rather than continued silently."""
    criteria_chars: int = 500
    """Success criteria are quoted up to here: longer quotes bury the message."""

    failure_window: int = 10
    """Warning: how many of the last calls the failure rate looks at."""
    failure_rate: float = 0.5
    """Warning above (not at) this share of failed calls; as a loop rule it would flag 14 % of right runs."""

    same_result: int = 3
    """The same call with the same result this often in a row; once more is a loop, refused where possible."""
    same_wait: int = 60
    """Waiting calls that told nothing new before it is a loop: with half a minute each, half an hour of silence."""
    cycle_longest: int = 5
    """Calls in the longest cycle looked for; longer ones were never seen."""
    cycle_repeats: int = 3
    """Rounds of the same calls with the same results that make a cycle: two happen in healthy work."""
    few_distinct: tuple[int, int] = (3, 10)
    """So few distinct calls with their results among so many of the last calls."""
    nothing_new: tuple[tuple[int, int], ...] = ((8, 10), (12, 20))
    """So many of the last calls told nothing new: the short window finds loops early, the long one slow ones."""
    news_memory: int = 50
    """Calls for which a result is remembered: an agent that lost its context may read again what is older."""
    same_message: int = 3
    """The same closing message this often in a row."""
    short_message: int = 80
    """A closing message shorter than this repeats in healthy work, so work in between clears it."""
    idle_turns: int = 5
    """Turns in a row that changed, passed and learned nothing, before it is called wandering."""
    wander_turns: int = 10
    """Turns in a row that only read something new; exploring gets twice the patience."""
    wander_rate: float = 3.0
    """Wandering also needs this many times the tokens per turn that the task spent before."""
    refusals: int = 2
    """Refusals of a repeated call before a reviewer looks."""

    consecutive_failures: int = 3
    """Failed attempts in a row that are retried; the next one is `budget_exhausted`."""
    planning_turns: int = 10
    """Turns in planning before the architect looks."""
    coding_turns: int = 12
    """Turns in coding before the architect looks."""
    warn_turns_before: int = 2
    """The agent is told of its limit with the message that begins each of so many last turns."""
    streak_warns: int = 3
    """Consecutive `needs_changes` from which the review request carries a warning."""
    streak_ends: int = 6
    """The `needs_changes` in a row that ends the task without asking a model again."""
    review_context_tokens: int = 10_000
    """Recent context in a review request; more makes reviewers praise instead of read."""

    nudge_seconds: int = 60
    """A nudge asks for one line; a session that needs longer is doing something else."""
    retry_delays: tuple[float, ...] = (5.0, 15.0, 45.0, 120.0, 300.0)
    """Seconds to wait before each retry of a transient provider fault; then it is delivered as an error."""


LIMITS = Limits()
BOUNDS: dict[str, tuple[int, int]] = {
    "continue_cap": (0, 100),
    "failure_window": (1, 1_000),
    "same_result": (1, 1_000),
    "same_wait": (1, 10_000),
    "cycle_longest": (1, 100),
    "cycle_repeats": (2, 100),
    "news_memory": (1, 10_000),
    "same_message": (1, 1_000),
    "idle_turns": (1, 1_000),
    "wander_turns": (1, 1_000),
}
"""The least and the most of numbers with which a rule would count nothing, or an agent be sent back for ever."""
