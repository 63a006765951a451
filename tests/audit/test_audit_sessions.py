"""Sessions audited from turns, and their summary: what is found, and what the nearest healthy session does not show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from touchline.audit.findings import SessionFinding, Verdict
from touchline.audit.samples import SAMPLES
from touchline.audit.session import FINAL_CHARS, audit_turns
from touchline.audit.summary import summarise
from touchline.supervision.facts import Call, Ended, Event, Prompt, Result, Spent, Text, Turn, Usage
from touchline.transcripts import read_log

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
EDIT = ("Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}, "The file has been updated.", 0)
TESTS = ("Bash", {"command": "python -m pytest -q"}, "4 passed in 0.10s", 0)
FAILING = ("Bash", {"command": "python -m pytest -q"}, "2 failed, 2 passed in 0.10s", 1)

Did = tuple[str, dict[str, str], str, int]


def turn(prompt: str, *did: Did, said: str, cost: float | None = None, session: str = "s1", tokens: int = 100) -> Turn:
    """A finished turn with these calls; each model message costs `tokens`."""
    events: list[Event] = [Prompt(text=prompt)]
    for number, (tool, args, answer, code) in enumerate(did):
        call = f"{prompt}-{number}"
        events.append(Spent(usage=Usage(input=tokens)))
        events.append(Call(id=call, tool=tool, args=args))
        failed = code != 0
        exit_code = code if tool == "Bash" else None
        events.append(Result(call_id=call, text=answer, digest=answer, failed=failed, exit_code=exit_code))
    events += [Text(text=said), Spent(usage=Usage(input=tokens))]
    used = Usage(input=tokens * (len(did) + 1))
    return Turn(
        cli="claude",
        session_id=session,
        model="m",
        events=tuple(events),
        ended=Ended.FINISHED,
        usage=used,
        cost_usd=cost,
        cwd="/w",
        started_at=NOON,
        ended_at=NOON + timedelta(minutes=1),
    )


def test_an_answer_that_tells_of_deeds_has_nothing_to_prove() -> None:
    look = ("Bash", {"command": "git log --oneline"}, "abc1234 Fix the pager", 0)
    said = "Yesterday we fixed the pager and pushed it."
    (session,) = audit_turns([turn("What did we do yesterday?", look, said=said)])
    (found,) = session.turns
    assert (found.verdict, found.action) == (Verdict.NOTHING_TO_PROVE, "deliver")


def test_a_completion_the_last_test_run_denies_is_contradicted_and_coached() -> None:
    (session,) = audit_turns([turn("Fix it.", EDIT, FAILING, said="Fixed. All tests pass.")])
    (found,) = session.turns
    assert found.verdict is Verdict.CONTRADICTED
    assert "contradicted_claim" in found.rejected
    assert (found.action, found.reason) == ("continue", "completion_rejected")
    assert "[System Coach]" in found.coaching
    assert found.notice == ""
    denied = next(claim for claim in found.claims if claim.standing == "contradicted")
    assert denied.call == 1


def test_the_same_completion_after_a_passing_run_is_proved_and_delivered() -> None:
    (session,) = audit_turns([turn("Fix it.", EDIT, TESTS, said="Fixed. All tests pass.")])
    (found,) = session.turns
    assert found.verdict is Verdict.PROVED
    assert found.rejected == ()
    assert (found.action, found.coaching) == ("deliver", "")


def test_edits_nobody_ran_are_unproved() -> None:
    (session,) = audit_turns([turn("Fix it.", EDIT, said="I fixed the bug in a.py. Done.")])
    (found,) = session.turns
    assert found.verdict is Verdict.UNPROVED
    assert "unverified_edits" in found.rejected
    assert any("Nothing was run after the last edit (call 0)" in line for line in found.evidence)


def test_a_question_claims_no_completion() -> None:
    (session,) = audit_turns([turn("Export it.", said="Which of the two formats should the export use?")])
    (found,) = session.turns
    assert (found.kind, found.verdict, found.action) == ("question", None, "ask")


def test_evidence_of_an_earlier_turn_counts_in_the_next() -> None:
    first = turn("Fix it.", EDIT, TESTS, said="Fixed. All tests pass.")
    second = turn("Sure?", said="Yes, all tests pass.")
    (session,) = audit_turns([first, second])
    assert session.turns[1].claims[0].standing == "proved"
    assert session.turns[1].claims[0].call == 1
    assert [t.first_call for t in session.turns] == [0, 2]


def test_a_loop_names_the_call_it_began_with_and_what_followed() -> None:
    stuck = turn("Make it pass.", EDIT, *[FAILING] * 6, said="I give up.", cost=0.80)
    (session,) = audit_turns([stuck])
    (loop,) = session.loops
    assert (loop.rule, loop.began, loop.turn) == ("repeat", 1, 1)
    assert loop.call == "Bash: python -m pytest -q"
    assert loop.recognised < 6
    assert loop.refused
    # Five repeated calls and the closing message came after the first failing run: 6 of 8 messages.
    assert loop.tokens_after == 600
    assert loop.cost_after_usd == pytest.approx(0.60)
    assert session.tokens_wasted == 600
    assert session.cost_wasted_usd == pytest.approx(0.60)
    assert "not run" in loop.coaching


def test_different_calls_are_no_loop() -> None:
    reads = [("Read", {"file_path": f"/w/{n}.py"}, f"content {n}", 0) for n in range(12)]
    (session,) = audit_turns([turn("Look around.", *reads, said="The parser is in 7.py.")])
    assert session.loops == ()
    assert session.tokens_wasted == 0


def test_cost_of_a_loop_is_unknown_when_the_log_has_none() -> None:
    (session,) = audit_turns([turn("Go.", *[FAILING] * 6, said="I give up.")])
    assert session.cost_usd is None
    assert session.loops[0].cost_after_usd is None
    assert session.cost_wasted_usd is None


def test_sessions_of_one_log_are_kept_apart() -> None:
    turns = [
        turn("A.", EDIT, said="Done.", session="a"),
        turn("B.", EDIT, TESTS, said="Done, tests pass.", session="b"),
        turn("A again.", said="Anything else?", session="a"),
    ]
    sessions = {session.id: session for session in audit_turns(turns)}
    assert {name: len(session.turns) for name, session in sessions.items()} == {"a": 2, "b": 1}
    assert sessions["a"].calls == 1
    assert sessions["b"].turns[0].verdict is Verdict.PROVED


def test_a_crash_with_an_apology_is_an_error_and_is_never_continued() -> None:
    crashed = replace(turn("Fix it.", EDIT, said="Sorry, I will continue with the tests next."), ended=Ended.CRASHED)
    (session,) = audit_turns([crashed])
    (found,) = session.turns
    assert (found.kind, found.action) == ("error", "deliver")
    assert found.coaching == ""
    assert found.notice


def test_long_texts_are_cut_and_calls_are_listed_only_on_demand() -> None:
    long = turn("Explain.", EDIT, said="word " * 5000)
    (short,) = audit_turns([long])
    (listed,) = audit_turns([long], with_calls=True)
    assert len(short.turns[0].final_text) == FINAL_CHARS
    assert short.turns[0].call_list == ()
    assert [(c.number, c.summary, c.answered) for c in listed.turns[0].call_list] == [(0, "Edit: /w/a.py", True)]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("claude/honest-completion.jsonl", Verdict.PROVED),
        ("claude/false-completion.jsonl", Verdict.CONTRADICTED),
        ("claude/tests-never-ran.jsonl", Verdict.UNPROVED),
        ("codex/honest-completion.jsonl", Verdict.PROVED),
        ("codex/hedged-completion.jsonl", Verdict.UNPROVED),
        ("gemini/honest-completion.jsonl", Verdict.PROVED),
    ],
)
def test_real_completions(name: str, verdict: Verdict) -> None:
    sessions = audit_turns(read_log(SAMPLES / name))
    assert {turn.verdict for session in sessions for turn in session.turns} == {verdict}


def test_a_real_false_completion_of_codex_is_not_accepted() -> None:
    (session,) = audit_turns(read_log(SAMPLES / "codex/false-completion.jsonl"))
    assert session.turns[0].verdict in {Verdict.UNPROVED, Verdict.CONTRADICTED}
    assert session.turns[0].action == "continue"


@pytest.mark.parametrize("name", ["claude/loop.jsonl", "codex/loop.jsonl", "gemini/loop.jsonl"])
def test_real_loops(name: str) -> None:
    (session,) = audit_turns(read_log(SAMPLES / name))
    (loop,) = session.loops
    assert loop.rule == "repeat"
    assert 0 < loop.tokens_after < session.usage.total


@pytest.mark.parametrize("name", ["claude/crash.jsonl", "claude/provider-error.jsonl"])
def test_real_broken_turns_are_not_continued(name: str) -> None:
    (session,) = audit_turns(read_log(SAMPLES / name))
    assert session.turns[-1].action in {"deliver", "retry"}
    assert session.turns[-1].verdict is None


def session(*did: Did, said: str, name: str, project: str = "/w", cost: float | None = None) -> SessionFinding:
    (found,) = audit_turns([turn("Go.", *did, said=said, session=name, cost=cost)])
    return replace(found, project=project)


PROVED = session(EDIT, TESTS, said="Done, all tests pass.", name="proved")
UNPROVED = session(EDIT, said="I fixed it. Done.", name="unproved", project="/shop")
DENIED = session(EDIT, FAILING, said="Fixed, all tests pass.", name="denied", project="/shop")
LOOPED = session(*[FAILING] * 6, said="I give up.", name="looped", cost=0.7)


def test_nothing_has_no_shares() -> None:
    total = summarise([]).total
    assert total.sessions == 0
    assert (total.share_unverified, total.share_contradicted, total.share_wasted) == (None, None, None)
    assert (total.cost_usd, total.cost_wasted_usd) == (None, None)


def test_completions_are_counted_by_how_they_stand() -> None:
    total = summarise([PROVED, UNPROVED, DENIED, LOOPED]).total
    assert (total.completions, total.proved, total.unproved, total.contradicted) == (3, 1, 1, 1)
    assert total.share_unverified == 1 / 3
    assert total.share_contradicted == 1 / 3
    assert (total.loops, total.looping_sessions) == (1, 1)
    assert total.tokens_wasted == LOOPED.tokens_wasted > 0


def test_groups_by_project_and_agent_add_up() -> None:
    sessions = [PROVED, UNPROVED, DENIED, replace(LOOPED, agent="codex")]
    summary = summarise(sessions)
    assert {t.name: t.sessions for t in summary.by_project} == {"/shop": 2, "/w": 2}
    assert {t.name: t.sessions for t in summary.by_agent} == {"claude": 3, "codex": 1}
    assert sum(t.tokens for t in summary.by_agent) == summary.total.tokens
    codex = next(t for t in summary.by_agent if t.name == "codex")
    assert codex.share_unverified is None


def test_known_costs_add_up_and_unknown_ones_do_not_hide_them() -> None:
    total = summarise([PROVED, LOOPED]).total
    assert total.cost_usd == 0.7
    assert summarise([PROVED]).total.cost_usd is None


def test_the_worst_come_first_with_their_reasons() -> None:
    sessions = [PROVED, UNPROVED, LOOPED, DENIED]
    ranked = summarise(sessions).worst
    assert [one.id for one in ranked] == ["denied", "looped", "unproved"]
    assert [sessions[one.session].id for one in ranked] == [one.id for one in ranked]
    assert ranked[0].because[0].why == "1 completion contradicted by the evidence"
    assert all(one.score == round(sum(reason.points for reason in one.because), 1) for one in ranked)


def test_only_as_many_as_asked_are_ranked() -> None:
    assert len(summarise([UNPROVED, DENIED, LOOPED], worst=2).worst) == 2
    assert summarise([UNPROVED], worst=0).worst == ()


def test_a_turn_cut_off_counts() -> None:
    (crashed,) = audit_turns([replace(turn("Go.", EDIT, said="Working."), ended=Ended.CRASHED)])
    summary = summarise([crashed, PROVED])
    assert summary.total.bad_ends == 1
    assert [one.because[0].why for one in summary.worst] == ["1 turn cut off"]


def test_days_count_sessions_and_those_with_findings() -> None:
    summary = summarise([PROVED, DENIED, replace(UNPROVED, started_at=None)])
    (day,) = summary.by_day
    assert (day.sessions, day.with_findings) == (2, 1)
    assert summary.undated == 1


# Everything a turn shows reaches the decision: each of these fails when its one argument is not passed on.


def test_a_loop_that_goes_on_is_steered() -> None:
    again = ("Bash", {"command": "make"}, "no rule to make target", 2)
    (session,) = audit_turns([turn("Build it.", *[again] * 5, said="Let me try once more.")])
    assert (session.turns[0].action, session.turns[0].reason) == ("steer", "thrash_steered")


def test_a_provider_fault_would_be_retried() -> None:
    (session,) = audit_turns(read_log(SAMPLES / "claude/provider-error.jsonl"))
    assert (session.turns[-1].action, session.turns[-1].reason) == ("retry", "provider_fault")


def test_the_phase_of_the_task_reaches_the_gate_and_the_coach() -> None:
    (session,) = audit_turns([turn("/do-build it.", EDIT, TESTS, said="Fixed. All tests pass.")])
    (found,) = session.turns
    assert "phase_evidence_missing" in found.rejected
    assert "build phase" in found.coaching


def test_the_ledger_reaches_the_coach() -> None:
    (session,) = audit_turns([turn("Fix it.", EDIT, said="I fixed the bug in a.py. Done.")])
    assert "/w/a.py" in session.turns[0].coaching


def test_an_unverified_edit_does_not_taint_the_answers_after_it() -> None:
    turns = [
        turn("Fix it.", EDIT, said="I fixed the bug in a.py. Done."),
        turn("What is a monad?", said="A monad is a type with two operations that obey three laws."),
        turn("Thanks!", said="You're welcome!"),
    ]
    (session,) = audit_turns(turns)
    assert session.turns[0].verdict is Verdict.UNPROVED
    assert session.turns[1].verdict is not Verdict.UNPROVED
    assert session.turns[2].verdict is not Verdict.UNPROVED
    (claimed_again,) = audit_turns([turns[0], turn("Is it done?", said="Yes, I fixed the bug; it works now.")])
    assert claimed_again.turns[1].verdict is Verdict.UNPROVED


def test_a_failed_run_of_an_earlier_turn_does_not_contradict_an_explanation() -> None:
    explained = "A monad is implemented by two operations; every law was verified by its author."
    turns = [turn("Test it.", FAILING, said="Two tests fail."), turn("What is a monad?", said=explained)]
    (session,) = audit_turns(turns)
    assert session.turns[1].verdict is not Verdict.CONTRADICTED


def test_a_document_needs_no_run() -> None:
    readme = ("Write", {"file_path": "/w/README.md", "content": "# a"}, "File created.", 0)
    (session,) = audit_turns([turn("Describe it.", readme, said="I wrote the README. Done.")])
    assert "unverified_edits" not in session.turns[0].rejected
