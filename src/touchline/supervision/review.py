"""When does an architect look at a task, what is he shown, and what follows from his verdict?

Pure: whoever answers (a model that is not the author, or a person) is the caller's. The number of reviews is no
signal; the number of `needs_changes` in a row is, and it ends the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from touchline.errors import ReviewError
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.values import Value
from touchline.supervision.words import Word

Origin = Literal["planning", "coding"]
ALERT = "**ALERT**"
_CHARS_PER_TOKEN = 4
_MESSAGE_CHARS = 2_000


class Verdict(Word):
    """What a reviewer may say."""

    APPROVED = "approved"
    NEEDS_CHANGES = "needs_changes"
    ABANDON = "abandon"


class Message(Value):
    """One message of the recent context."""

    role: str
    text: str


class Request(Value):
    """Everything a reviewer gets."""

    origin: Origin
    used: int
    limit: int
    task_id: str
    task_type: str
    requirements: str
    plan: str
    analysis: str
    """`pattern_report` of the task's calls."""
    context: Sequence[Message] = ()
    streak: int = 0
    """`needs_changes` in a row before this request."""


class Ruling(Value):
    """What follows from a verdict."""

    verdict: Verdict
    next_state: Literal["planning", "coding", "abandoned"]
    resets_counter: bool
    guidance: str
    """Delivered to the agent on every verdict, `approved` too."""
    streak: int
    lesson: str = ""
    """Written into the task before it is queued again, when it was abandoned."""
    asked: bool = True
    """False when the streak ended the task without asking anybody."""


def stage(used: int, allowed: int, limits: Limits = LIMITS) -> Literal["free", "warned", "review"]:
    """Whether the agent works on, is told that its last turns come, or pauses for a review."""
    left = allowed - used
    if left <= 0:
        return "review"
    return "warned" if left <= limits.warn_turns_before else "free"


def streak_ruling(streak: int, limits: Limits = LIMITS) -> Ruling | None:
    """The ruling that needs no reviewer: the request that would bring the last allowed `needs_changes` ends it."""
    if streak + 1 < limits.streak_ends:
        return None
    lesson = f"{limits.streak_ends} reviews in a row asked for changes and none led to progress."
    return Ruling(
        verdict=Verdict.ABANDON,
        next_state="abandoned",
        resets_counter=False,
        guidance=lesson,
        streak=streak + 1,
        lesson=lesson,
        asked=False,
    )


def render(request: Request, limits: Limits = LIMITS) -> str:
    """The request as text. A request without task or analysis is an error, and the limit still holds."""
    for name in ("task_id", "requirements", "analysis"):
        if not str(getattr(request, name)).strip():
            raise ReviewError(
                f"The review request of task {request.task_id or '(no id)'} has no {name}.",
                hint="The task stays paused; give the request what it lacks.",
            )
    recent, shown = recent_context(request.context, limits)
    warning = ""
    if request.streak >= limits.streak_warns:
        warning = (
            f"\nThis is review {request.streak + 1} in a row after {request.streak} that asked for changes. "
            f"At {limits.streak_ends} the task ends. Say what is different this time, or abandon it.\n"
        )
    return f"""## Budget review
The {request.origin} budget is used up: {request.used} of {request.limit} turns.
{warning}
## Task {request.task_id} ({request.task_type})
{request.requirements}

## Plan
{request.plan.strip() or "(none yet)"}

## Automated pattern analysis
{request.analysis}

## Recent context, newest first ({shown} messages, at most {limits.review_context_tokens} tokens)
{recent or "(nothing recorded)"}

Is the agent making progress, or going in circles? Answer with a verdict (approved, needs_changes, abandon) and with
guidance that names what to do differently. The guidance reaches the agent on every verdict.
"""


def recent_context(context: Sequence[Message], limits: Limits = LIMITS) -> tuple[str, int]:
    """The newest messages that fit, newest first, without the system prompt, long ones cut; and how many."""
    left = limits.review_context_tokens * _CHARS_PER_TOKEN
    parts: list[str] = []
    for message in reversed(context):
        if message.role == "system":
            continue
        text = message.text
        if len(text) > _MESSAGE_CHARS:
            text = (
                f"{text[: _MESSAGE_CHARS // 2]}\n[... {len(text) - _MESSAGE_CHARS} characters cut ...]\n"
                + (text[-_MESSAGE_CHARS // 2 :])
            )
        part = f"[{message.role}] {text}"
        if len(part) > left:
            break
        parts.append(part)
        left -= len(part) + 1
    return "\n".join(parts), len(parts)


def rule(
    verdict: str, guidance: str, *, origin: str | None, analysis: str, streak: int, asked_again: bool = False
) -> Ruling | None:
    """What follows from a reviewer's answer; None when he must be asked once more.

    `approved` without guidance while the analysis says ALERT is not taken: asked once more, then it counts as
    `needs_changes`. An unknown verdict or a lost origin is an error, never a silent continuation.
    """
    if origin == "planning":
        back: Origin = "planning"
    elif origin == "coding":
        back = "coding"
    else:
        raise ReviewError(
            f"The state the review came from is lost (got {origin!r}).", hint="It must be planning or coding."
        )
    try:
        said = Verdict(verdict)
    except ValueError:
        raise ReviewError(
            f"The reviewer's verdict {verdict!r} is not known.", hint=f"Known: {', '.join(Verdict)}."
        ) from None
    guidance = guidance.strip()
    if said is Verdict.APPROVED and ALERT in analysis and not guidance:
        if not asked_again:
            return None
        said = Verdict.NEEDS_CHANGES
        guidance = f"The reviewer gave no guidance. The analysis of your calls says:\n{analysis}"
    match said:
        case Verdict.APPROVED:
            return Ruling(verdict=said, next_state=back, resets_counter=True, guidance=guidance, streak=0)
        case Verdict.NEEDS_CHANGES:
            return Ruling(verdict=said, next_state=back, resets_counter=True, guidance=guidance, streak=streak + 1)
        case Verdict.ABANDON:
            lesson = guidance or "Abandoned by the reviewer without a word of why."
            return Ruling(
                verdict=said,
                next_state="abandoned",
                resets_counter=False,
                guidance=guidance,
                streak=0,
                lesson=lesson,
            )
