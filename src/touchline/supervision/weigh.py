"""Which kind of stop do the words and the record make likeliest?

An ordered list of rules over the signals, the first that fits decides; each carries the confidence it earned.
"""

from __future__ import annotations

from itertools import islice

from touchline.supervision.evidence import Ledger
from touchline.supervision.phrases import matches, pattern
from touchline.supervision.prepared import shape
from touchline.supervision.prose import Prose, lowered
from touchline.supervision.signals import Signals, of_the_agent, signals_in
from touchline.supervision.stops import Claim, Kind, Span, Standing
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_WORK = frozenset({"fixed", "implemented", "committed", "pushed", "pr_opened", "file_created"})
_FIRST_PERSON = shape(r"\b(?:i|we|let me|let's)\b")
_WORD = shape(r"[^\W\d_]{2,}")
_LABEL = 2
"""Words up to which the text around a code block is only its label."""
_SHORT = 300
"""Characters up to which a message says one thing only."""
_TELLS = 800
"""Characters from which a message without claims or proposals is an answer in itself."""


class Weighed(Value):
    """The kind the rules settle on."""

    kind: Kind
    confidence: float
    reason: str
    spans: tuple[Span, ...] = ()
    told: bool = False
    """An answer that was all that was asked for: what it says was done is told, not claimed."""


def abnormal(prose: Prose, claims: Sequence[Claim]) -> Span | None:
    """Where the text is itself the end of a run (an API error, a traceback), not words of an agent."""
    # What is quoted in a code block is not how the run ended, where somebody tells of it.
    told = len(_WORD.findall(prose.unquoted, 0, 2_000)) > _LABEL
    body = prose.unquoted if told else lowered(prose.looked_at)
    lead = len(body) - len(body.lstrip(" \n\r\t❌⚠️✗•-*"))
    worked = any(c.what in _WORK for c in claims)
    if not _speaks(prose, 0):
        # One raw error line may be quoted; two, and nobody speaking, is a run that fell over.
        raw = list(islice(matches("abnormal.inside", body), 2))
        if len(raw) > 1 or (raw and not worked):
            return prose.span(raw[0].start(), raw[0].end())
    if worked and len(body) > _SHORT:
        return None
    start = pattern("abnormal.start").match(body, lead)
    if start and (len(prose.sentences) <= 6 or len(body) < 2 * _SHORT) and not _speaks(prose, start.end()):
        return prose.span(start.start(), start.end())
    return None


def _speaks(prose: Prose, offset: int) -> bool:
    return bool(_FIRST_PERSON.search(prose.words, offset))


def weigh(prose: Prose, claims: Sequence[Claim], *, task: str, ledger: Ledger | None) -> Weighed:
    """Decide among completion, status, question and blocker."""
    seen = signals_in(prose)
    if borne_out := _borne_out(claims, ledger):
        seen = of_the_agent(prose, seen)
    work = _work(prose, seen, claims)
    asked = _is_question(task)
    told = asked and _only_tells(prose, claims, task, ledger)
    return (
        _blocked(seen, work, asked=asked)
        or _deferred_first(prose, seen)
        or _question(prose, seen, work, asked=asked)
        or _going_on(prose, seen, work, asked=asked, borne_out=borne_out)
        or _finished(prose, seen, claims, work, asked=asked, told=told, wanted=is_work(task), ledger=ledger)
    )


def _borne_out(claims: Sequence[Claim], ledger: Ledger | None) -> bool:
    """The record proves what the message claims, after the last change."""
    if ledger is None or not ledger.writes or not ledger.verified_after_last_edit:
        return False
    standings = {c.standing for c in claims}
    return Standing.PROVED in standings and Standing.CONTRADICTED not in standings


def _work(prose: Prose, seen: Signals, claims: Sequence[Claim]) -> list[Span]:
    """Claims of work done. In lists alone they may be headlines of a plan ("Simplified set-up")."""
    told: list[Span] = []
    listed: list[Span] = []
    for claim in claims:
        if claim.what in _WORK:
            sentence = prose.sentence_at(prose.offset(claim.span))
            (listed if sentence and sentence.item else told).append(claim.span)
    if told or (len(listed) > 1 and not seen.proposal):
        return told + listed
    return []


def is_work(task: str) -> bool:
    """Whether the task orders something to be changed."""
    head = task.strip()[:300].lower()
    return bool(pattern("tasks.work").search(head) or pattern("tasks.order").search(head))


def _is_question(task: str) -> bool:
    tail = task.strip()[-300:].lower()
    head = task.strip()[:300].lower()
    if not head or pattern("tasks.work").search(head) or pattern("tasks.also_work").search(task[:2_000].lower()):
        return False
    return bool(pattern("tasks.question").search(head) or pattern("tasks.question").search(tail))


def _only_tells(prose: Prose, claims: Sequence[Claim], task: str, ledger: Ledger | None) -> bool:
    """A question, nothing done since: deeds in the answer are those of a commit, a version, a day before.

    "I fixed it" to somebody who asked only why it fails is a claim all the same.
    """
    if ledger is None or ledger.writes or ledger.commits or ledger.pushes:
        return False
    sentences = (prose.sentence_at(prose.offset(c.span)) for c in claims if c.what in _WORK)
    own = any(s is not None and _FIRST_PERSON.search(prose.words, s.start, s.end) for s in sentences)
    return not own or bool(pattern("tasks.past").search(task[:2_000].lower()))


def _blocked(seen: Signals, work: list[Span], *, asked: bool) -> Weighed | None:
    if seen.deferral:
        return None
    if seen.stuck and not work:
        return Weighed(kind=Kind.BLOCKER, confidence=0.85, reason="blocked", spans=seen.stuck)
    # An answer that tells a person what to install hands nothing over: nobody waits for it.
    short_of = seen.unable if asked else seen.unable + seen.lacking
    if short_of and seen.hand_over and len(work) <= 1:
        confidence = 0.75 if work else 0.85
        return Weighed(
            kind=Kind.BLOCKER, confidence=confidence, reason="needs_someone", spans=short_of + seen.hand_over
        )
    if seen.stuck and len(work) <= 2:
        return Weighed(kind=Kind.BLOCKER, confidence=0.65, reason="blocked", spans=seen.stuck)
    return None


def _deferred_first(prose: Prose, seen: Signals) -> Weighed | None:
    if seen.deferral is None or seen.decisions:
        return None
    confidence = 0.95 if ends_open(prose.words) else 0.85
    return Weighed(kind=Kind.STATUS, confidence=confidence, reason="deferral", spans=(seen.deferral,))


def ends_open(text: str) -> bool:
    """The message breaks off, as before a step that did not come."""
    return text.rstrip(" \n-_").endswith((":", "...", "…"))


def _question(prose: Prose, seen: Signals, work: list[Span], *, asked: bool) -> Weighed | None:
    if seen.decisions:
        confidence = 0.7 if len(work) > 2 else 0.9
        return Weighed(kind=Kind.QUESTION, confidence=confidence, reason="question_at_end", spans=seen.decisions)
    if seen.gates and len(work) <= 2:
        return Weighed(kind=Kind.QUESTION, confidence=0.8 if work else 0.85, reason="approval_gate", spans=seen.gates)
    if seen.permissions and not work:
        return Weighed(kind=Kind.QUESTION, confidence=0.85, reason="permission_asked", spans=seen.permissions)
    laid_out = bool(seen.proposal) or seen.options >= 2
    # A long text that proposes nothing and claims nothing has told something: the offer after it can wait.
    told = asked or len(prose.words) > _TELLS
    if seen.offers and not work and (laid_out or not told):
        confidence = 0.85 if laid_out else 0.7
        return Weighed(kind=Kind.QUESTION, confidence=confidence, reason="offer_before_work", spans=seen.offers)
    return None


def _going_on(prose: Prose, seen: Signals, work: list[Span], *, asked: bool, borne_out: bool) -> Weighed | None:
    if seen.progress and (len(prose.text) <= _SHORT or not work):
        return Weighed(kind=Kind.STATUS, confidence=0.85, reason="in_progress", spans=seen.progress)
    if asked:
        return None
    if seen.remaining:
        return Weighed(kind=Kind.STATUS, confidence=0.8, reason="work_remaining", spans=seen.remaining)
    if (left := seen.unfinished + seen.failing) and len(work) <= 1:
        # A failure that the record does not show is for a person to weigh.
        confidence = 0.75 if borne_out and not seen.unfinished else 0.8
        return Weighed(kind=Kind.STATUS, confidence=confidence, reason="unfinished", spans=left)
    return None


def _finished(
    prose: Prose,
    seen: Signals,
    claims: Sequence[Claim],
    work: list[Span],
    *,
    asked: bool,
    told: bool,
    wanted: bool,
    ledger: Ledger | None,
) -> Weighed:
    if told:
        return Weighed(kind=Kind.COMPLETION, confidence=0.9, reason="answer", told=True)
    unchanged = ledger is not None and not ledger.writes and not ledger.commits
    # Words about a thing that was to be changed, and was not, answer nothing.
    if not work and (asked or (unchanged and not wanted)):
        return Weighed(kind=Kind.COMPLETION, confidence=0.9, reason="answer")
    if not work and (len(prose.words) > _TELLS or pattern("answers.explains").search(prose.words)):
        return Weighed(kind=Kind.COMPLETION, confidence=0.8, reason="explanation")
    if claims:
        confidence = 0.9 if len(work) > 1 and not (seen.unfinished or seen.failing) else 0.85
        return Weighed(
            kind=Kind.COMPLETION, confidence=confidence, reason="claims", spans=tuple(c.span for c in claims[:8])
        )
    return Weighed(kind=Kind.COMPLETION, confidence=0.6, reason="unclear")
