"""The architect: when he is asked, what he sees, what follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touchline.errors import ReviewError
from touchline.supervision.limits import Limits
from touchline.supervision.review import (
    Message,
    Request,
    Verdict,
    recent_context,
    render,
    rule,
    stage,
    streak_ruling,
)

ALERTING = "High tool failure rate: 8/10 tool calls failed (80%)\n**ALERT**: look closely"
HEALTHY = "Tool calls appear healthy (9/10 successful)"
REQUEST = Request(
    origin="planning",
    used=10,
    limit=10,
    task_id="T-1",
    task_type="feature",
    requirements="Search by name",
    plan="",
    analysis=ALERTING,
    context=(
        Message(role="system", text="SECRET PROMPT"),
        Message(role="user", text="a"),
        Message(role="tool", text="b"),
    ),
)


@pytest.mark.parametrize(
    ("used", "allowed", "expected"),
    [(7, 10, "free"), (8, 10, "warned"), (9, 10, "warned"), (10, 10, "review"), (11, 10, "review"), (9, 12, "free")],
)
def test_stages(used: int, allowed: int, expected: str) -> None:
    assert stage(used, allowed) == expected


def test_how_many_turns_before_the_limit_the_warning_comes_can_be_set() -> None:
    assert [stage(used, 4, Limits(warn_turns_before=0)) for used in (2, 3, 4)] == ["free", "free", "review"]


def test_the_request_carries_analysis_task_and_newest_context_first() -> None:
    text = render(REQUEST)
    assert ALERTING in text
    assert "Task T-1 (feature)" in text
    assert "10 of 10" in text
    assert text.index("[tool] b") < text.index("[user] a")
    assert "SECRET PROMPT" not in text
    assert "in a row" not in text


def test_three_needs_changes_warn_in_the_request() -> None:
    assert "in a row" in render(replace(REQUEST, streak=3))


@pytest.mark.parametrize("field", ["task_id", "requirements", "analysis"])
def test_a_request_with_a_hole_is_an_error(field: str) -> None:
    with pytest.raises(ReviewError, match=field):
        render(replace(REQUEST, **{field: "  "}))  # type: ignore[arg-type]


def test_context_stops_at_its_token_limit_and_long_messages_are_cut() -> None:
    many = [Message(role="tool", text=f"{n} " + "x" * 5_000) for n in range(100)]
    text, shown = recent_context(many)
    assert len(text) <= 10_000 * 4
    assert 0 < shown < 100
    assert text.startswith("[tool] 99 ")
    assert "characters cut" in text


def test_approved_goes_back_with_its_words_and_a_fresh_counter() -> None:
    ruling = rule("approved", "Good, go on with the index.", origin="coding", analysis=HEALTHY, streak=2)
    assert ruling is not None
    assert (ruling.next_state, ruling.resets_counter, ruling.streak) == ("coding", True, 0)
    assert ruling.guidance == "Good, go on with the index."


@pytest.mark.parametrize("origin", ["planning", "coding"])
def test_needs_changes_stays_in_its_state_and_lengthens_the_streak(origin: str) -> None:
    ruling = rule("needs_changes", "Stop fetching.", origin=origin, analysis=ALERTING, streak=2)
    assert ruling is not None
    assert (ruling.next_state, ruling.streak, ruling.guidance) == (origin, 3, "Stop fetching.")


def test_abandon_ends_the_task_with_its_lesson() -> None:
    ruling = rule("abandon", "The API does not exist.", origin="coding", analysis=HEALTHY, streak=0)
    assert ruling is not None
    assert (ruling.next_state, ruling.lesson) == ("abandoned", "The API does not exist.")


def test_approval_without_guidance_under_alert_is_asked_again_then_turned() -> None:
    assert rule("approved", " ", origin="planning", analysis=ALERTING, streak=0) is None
    turned = rule("approved", "", origin="planning", analysis=ALERTING, streak=0, asked_again=True)
    assert turned is not None
    assert turned.verdict is Verdict.NEEDS_CHANGES
    assert ALERTING in turned.guidance
    assert turned.streak == 1


def test_approval_without_guidance_is_fine_when_all_is_healthy() -> None:
    ruling = rule("approved", "", origin="planning", analysis=HEALTHY, streak=0)
    assert ruling is not None
    assert ruling.verdict is Verdict.APPROVED


@pytest.mark.parametrize(("verdict", "origin"), [("lgtm", "coding"), ("approved", None), ("approved", "setup")])
def test_unknown_verdicts_and_lost_origins_are_errors(verdict: str, origin: str | None) -> None:
    with pytest.raises(ReviewError):
        rule(verdict, "", origin=origin, analysis=HEALTHY, streak=0)


def test_silent_reviews_cannot_go_on_for_ever() -> None:
    streak, asked = 0, 0
    while (ended := streak_ruling(streak)) is None:
        asked += 1
        ruling = rule("needs_changes", "again", origin="coding", analysis=ALERTING, streak=streak)
        assert ruling is not None
        streak = ruling.streak
    assert asked == 5
    assert ended.verdict is Verdict.ABANDON
    assert not ended.asked
    assert ended.lesson
