"""What do all the audited sessions show together?

Counts and shares over all sessions, by project, by agent and by day, and the sessions most worth a look. A share of
nothing is None, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from touchline.audit.findings import SessionFinding, TurnFinding, Verdict
from touchline.supervision.facts import Ended

BAD_ENDS = frozenset(
    end.value for end in (Ended.API_ERROR, Ended.CRASHED, Ended.KILLED, Ended.TIMED_OUT, Ended.UNKNOWN)
)
"""A log whose last turn has no end was cut off, unless its session is still running."""
NO_PROJECT = "(not in the log)"

# Saying what the evidence denies is worse than saying what it does not show; a loop lies between. A loop that
# ate the whole session still weighs less than one contradicted completion.
_POINTS_CONTRADICTED = 5.0
_POINTS_LOOP = 3.0
_POINTS_UNPROVED = 2.0
_POINTS_BAD_END = 1.0
_POINTS_ALL_WASTED = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts over some sessions. Proved, nothing to prove, unproved and contradicted add up to `completions`."""

    name: str
    sessions: int
    turns: int
    calls: int
    completions: int
    proved: int
    nothing_to_prove: int
    unproved: int
    contradicted: int
    bad_ends: int
    """Turns that ended by a crash, a provider error, a kill or a time-out, or whose end is not in the log."""
    loops: int
    looping_sessions: int
    tokens: int
    tokens_wasted: int
    cost_usd: float | None
    cost_wasted_usd: float | None
    share_unverified: float | None
    share_contradicted: float | None
    share_wasted: float | None
    """Tokens spent after a loop began, as a share of all tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """One reason why a session is among the worst."""

    why: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A session and why it ranks where it does; `session` is its place in the audit's list."""

    session: int
    id: str
    score: float
    because: tuple[Points, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Sessions that began on one day, and how many of them have a finding."""

    day: date
    sessions: int
    with_findings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything over all sessions."""

    total: Tally
    by_project: tuple[Tally, ...]
    by_agent: tuple[Tally, ...]
    by_day: tuple[Day, ...]
    undated: int
    """Sessions whose log holds no time; they are in no day."""
    worst: tuple[Ranked, ...]


def summarise(sessions: Sequence[SessionFinding], *, worst: int = 10) -> Summary:
    """Count everything once; `worst` is how many sessions to rank."""
    days: dict[date, list[SessionFinding]] = {}
    for session in sessions:
        if session.started_at is not None:
            days.setdefault(session.started_at.date(), []).append(session)
    return Summary(
        total=_tally("all", sessions),
        by_project=_grouped(sessions, lambda s: s.project or NO_PROJECT),
        by_agent=_grouped(sessions, lambda s: s.agent),
        by_day=tuple(
            Day(day=day, sessions=len(of_day), with_findings=sum(map(has_findings, of_day)))
            for day, of_day in sorted(days.items())
        ),
        undated=sum(session.started_at is None for session in sessions),
        worst=_ranked(sessions)[: max(0, worst)],
    )


def has_findings(session: SessionFinding) -> bool:
    """A loop, or a completion that was not accepted."""
    return bool(session.loops) or any(turn.rejected for turn in session.turns)


def score(session: SessionFinding) -> tuple[Points, ...]:
    """Why this session deserves a look, heaviest reason first; empty when nothing speaks for it."""
    contradicted = session.verdicts(Verdict.CONTRADICTED)
    unproved = session.verdicts(Verdict.UNPROVED)
    bad_ends = sum(turn.ended in BAD_ENDS for turn in session.turns)
    wasted = _share(session.tokens_wasted, session.usage.total) or 0.0
    reasons = [
        Points(
            why=_count(
                contradicted, "completion contradicted by the evidence", "completions contradicted by the evidence"
            ),
            points=_POINTS_CONTRADICTED * contradicted,
        ),
        Points(why=_count(len(session.loops), "loop", "loops"), points=_POINTS_LOOP * len(session.loops)),
        Points(
            why=_count(unproved, "completion without evidence", "completions without evidence"),
            points=_POINTS_UNPROVED * unproved,
        ),
        Points(
            why=f"{wasted:.0%} of its tokens spent after a loop began",
            points=round(_POINTS_ALL_WASTED * wasted, 1),
        ),
        Points(
            why=_count(bad_ends, "turn cut off", "turns cut off"),
            points=_POINTS_BAD_END * bad_ends,
        ),
    ]
    return tuple(sorted((r for r in reasons if r.points > 0), key=lambda r: -r.points))


def _ranked(sessions: Sequence[SessionFinding]) -> tuple[Ranked, ...]:
    ranked = []
    for place, session in enumerate(sessions):
        because = score(session)
        if because:
            total = round(sum(reason.points for reason in because), 1)
            ranked.append(Ranked(session=place, id=session.id, score=total, because=because))
    return tuple(sorted(ranked, key=lambda r: (-r.score, -sessions[r.session].tokens_wasted, r.id)))


def _grouped(sessions: Iterable[SessionFinding], name_of: Callable[[SessionFinding], str]) -> tuple[Tally, ...]:
    groups: dict[str, list[SessionFinding]] = {}
    for session in sessions:
        groups.setdefault(name_of(session), []).append(session)
    tallies = [_tally(name, group) for name, group in groups.items()]
    return tuple(sorted(tallies, key=lambda t: (-t.sessions, t.name)))


def _tally(name: str, sessions: Sequence[SessionFinding]) -> Tally:
    turns = [turn for session in sessions for turn in session.turns]
    by_verdict = {verdict: _with(turns, verdict) for verdict in Verdict}
    completions = sum(by_verdict.values())
    tokens = sum(session.usage.total for session in sessions)
    wasted = sum(session.tokens_wasted for session in sessions)
    return Tally(
        name=name,
        sessions=len(sessions),
        turns=len(turns),
        calls=sum(session.calls for session in sessions),
        completions=completions,
        proved=by_verdict[Verdict.PROVED],
        nothing_to_prove=by_verdict[Verdict.NOTHING_TO_PROVE],
        unproved=by_verdict[Verdict.UNPROVED],
        contradicted=by_verdict[Verdict.CONTRADICTED],
        bad_ends=sum(turn.ended in BAD_ENDS for turn in turns),
        loops=sum(len(session.loops) for session in sessions),
        looping_sessions=sum(bool(session.loops) for session in sessions),
        tokens=tokens,
        tokens_wasted=wasted,
        cost_usd=_known_sum(session.cost_usd for session in sessions),
        cost_wasted_usd=_known_sum(session.cost_wasted_usd for session in sessions),
        share_unverified=_share(by_verdict[Verdict.UNPROVED], completions),
        share_contradicted=_share(by_verdict[Verdict.CONTRADICTED], completions),
        share_wasted=_share(wasted, tokens),
    )


def _with(turns: Iterable[TurnFinding], verdict: Verdict) -> int:
    return sum(turn.verdict is verdict for turn in turns)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _known_sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
