"""The kind of stop, and whether a completion is accepted. Offline; every text here was written for its test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touchline.supervision.evidence import Command, Ledger, TestRun, Weakened, Write
from touchline.supervision.facts import Ended
from touchline.supervision.judge import Question, Verdict
from touchline.supervision.limits import LIMITS
from touchline.supervision.stop import classify
from touchline.supervision.stops import Kind, Standing

EDIT = Write(path="src/cache.py", call=2, how="tool")
PYTEST = Command(text="pytest -q", call=5, kinds=frozenset({"test"}), exit_code=0, failed=False)
GREEN = TestRun(runner="pytest", call=5, passed=42, failed=0, exit_code=0, outcome="passed")
PROVED = Ledger(calls=6, writes=(EDIT,), commands=(PYTEST,), test_runs=(GREEN,))
UNCHECKED = Ledger(calls=3, writes=(EDIT,))


@pytest.mark.parametrize("ended", [Ended.CRASHED, Ended.API_ERROR, Ended.KILLED, Ended.TIMED_OUT, Ended.INTERRUPTED])
def test_an_abnormal_end_is_an_error_whatever_the_prose(ended: Ended) -> None:
    for text in ("I'm sorry about that, I will continue with the parser.", "All 42 tests passed. Done.", ""):
        stop = classify(text, ended=ended, ledger=PROVED)
        assert (stop.kind, stop.confidence, stop.reason) == (Kind.ERROR, 1.0, f"ended_{ended.value}")


def test_the_judge_is_not_even_asked_about_a_crash() -> None:
    def judge(question: Question) -> Verdict:
        raise AssertionError(question)

    assert classify("Sorry, continuing.", ended=Ended.CRASHED, judge=judge).kind is Kind.ERROR


def test_a_turn_cut_at_its_limit_is_a_status() -> None:
    stop = classify("Everything is done.", ended=Ended.LIMIT)
    assert (stop.kind, stop.reason) == (Kind.STATUS, "ended_limit")


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_an_empty_text_is_a_status(text: str) -> None:
    stop = classify(text)
    assert (stop.kind, stop.confidence) == (Kind.STATUS, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}',
        "Prompt is too long",
        "[Request interrupted by user]",
        "Claude usage limit reached. Resets at 4pm.",
        "Execution error",
        "Error: spawn ENOENT",
        'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\nValueError: bad',
        "Reached max turns (30)",
    ],
)
def test_a_text_that_is_an_abnormal_end_is_an_error(text: str) -> None:
    assert classify(text, ended=Ended.UNKNOWN).kind is Kind.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "I fixed the API error handling: a 529 is retried now, and all 12 tests pass.",
        "Fixed the crash, 42 passed.",
        "The linter reports 0 errors, 0 failed tests.",
        "I've made the error page friendlier. The build passes.",
    ],
)
def test_talking_about_errors_is_no_error(text: str) -> None:
    stop = classify(text)
    assert stop.kind is Kind.COMPLETION
    assert not stop.rejected


@pytest.mark.parametrize(
    "text",
    [
        "I read the module. Let me run the tests now:",
        "The parser is half written. Next I will add the lexer.",
        "I'll now update the configuration.",
        "The import is renamed. I'm going to adjust the callers.",
        "The feature is not done yet.",
        "I've added the model.\n\nRemaining:\n- the view\n- the tests",
        "Still running the suite.",
        "4 of 9 files converted, 5 files left.",
        "What could cause this? Let me look at the log.",
        "Added the model.\n\n## Next steps\n1. I'll write the view\n2. I'll add tests",
    ],
)
def test_announced_or_unfinished_work_is_a_status(text: str) -> None:
    assert classify(text, task="build the page").kind is Kind.STATUS


@pytest.mark.parametrize(
    "text",
    [
        "Added the page. All 9 tests pass. Let me know if you want anything else.",
        "Added the page. All 9 tests pass.\n\nNext steps:\n- you can deploy it with `make deploy`",
        "Added the page, and all 9 tests pass. Want me to also add a dark theme?",
        "Fixed the timer. `pytest` passes: 9 passed. Would you like me to open a pull request?",
        "Why did it hang? Because the lock was never released. I've fixed that, and 9 tests pass.",
    ],
)
def test_offers_suggestions_and_answered_questions_do_not_unmake_a_completion(text: str) -> None:
    stop = classify(text, task="build the page")
    assert stop.kind is Kind.COMPLETION
    assert not stop.rejected


@pytest.mark.parametrize(
    "text",
    [
        "There are two ways to store it:\n\nA) a file\nB) a table\n\nWhich do you prefer?",
        "The schema allows both.\n\nShould names be unique per project,\nor across the whole\norganisation?",
        "The plan is written. Ready to build when approved.",
        "I'm waiting for your approval before I touch the schema.",
        "Here is my plan for the split. Shall I proceed?",
        "Before I start: which database does production use?",
        "Please confirm that the old column may be dropped.",
    ],
)
def test_what_a_person_must_decide_is_a_question(text: str) -> None:
    assert classify(text, task="store the names").kind is Kind.QUESTION


def test_a_question_inside_code_or_quotes_is_none() -> None:
    text = 'I added the prompt "Which one do you prefer?" to the form. All 9 tests pass.\n```\nproceed?\n```'
    assert classify(text).kind is Kind.COMPLETION


@pytest.mark.parametrize(
    "text",
    [
        "I don't have access to the registry. You'll need to provide a token.",
        "The deployment is blocked until an admin grants the role.",
        "I cannot log in without your password. Please enter it and tell me.",
        "The sandbox denied writing outside the project, so I cannot continue.",
    ],
)
def test_what_only_someone_else_can_supply_is_a_blocker(text: str) -> None:
    assert classify(text, task="deploy it").kind is Kind.BLOCKER


def test_an_answer_that_tells_a_person_what_to_install_is_no_blocker() -> None:
    text = "The compiler is not installed. You need to install it with your package manager first."
    assert classify(text, task="Why does make fail?").kind is Kind.COMPLETION


def test_words_about_work_that_was_never_begun_are_no_answer() -> None:
    text = "The login page now redirects properly."
    stop = classify(text, task="Fix the login redirect bug", ledger=Ledger(calls=1))
    assert stop.rejected or stop.confidence < LIMITS.sure
    explained = classify("It redirects because the session has expired.", task="Why does it redirect?", ledger=Ledger())
    assert (explained.reason, explained.rejected) == ("answer", ())


def test_a_factual_answer_needs_no_test_output() -> None:
    text = "The cache keeps one entry per user because the key is the user's id."
    looked = Ledger(calls=2)
    for stop in (classify(text, task="How does the cache work?"), classify(text, ledger=looked)):
        assert (stop.kind, stop.reason, stop.rejected) == (Kind.COMPLETION, "answer", ())
    assert classify("I fixed the cache.", task="How does the cache work?").rejected


def test_a_marker_quoted_in_prose_completes_nothing() -> None:
    text = 'I will print "TASK COMPLETE" once the migration has run. Let me start the migration:'
    assert classify(text).kind is Kind.STATUS


def test_a_proved_completion_is_accepted() -> None:
    stop = classify("Fixed the cache. All 42 tests passed.", ledger=PROVED)
    assert (stop.kind, stop.rejected, stop.missing) == (Kind.COMPLETION, (), ())
    assert stop.confidence >= LIMITS.sure


@pytest.mark.parametrize(
    "text",
    [
        "Fixed the 3 failing tests. All 42 tests pass.",
        "Before: 3 failed. After the fix: 42 passed, 0 failed.",
        "Before the fix, 3 tests failed; now all 42 pass.",
        "No tests fail any more.",
        "Two tests were red. Now everything is green: 42 passed.",
        "Why did it fail? Because the cache was stale. Fixed it; tests pass.",
        "Added a test: the new test fails without the fix and passes with it.",
        "Fixed the parser. All 42 tests pass. There are 3 warnings remaining.",
        "Orders in progress are now cancelled. All 42 tests pass.",
        "Orders that are not completed are now cancelled. All 42 tests pass.",
        "All 42 tests pass. The user sees a message when permission was denied.",
        "I added a message that is shown when permission was denied. All 42 tests pass.",
        "Fixed: blocked users are now blocked by the gateway. 42 tests pass.",
        "Added the banner that is shown while waiting for your approval. 42 tests pass.",
    ],
)
def test_words_of_the_domain_do_not_unmake_what_the_record_proves(text: str) -> None:
    stop = classify(text, ledger=PROVED)
    assert (stop.kind, stop.rejected) == (Kind.COMPLETION, ())
    assert stop.confidence >= LIMITS.sure


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Fixed it; 42 tests pass. I could not push. I don't have access, you'll need to add a token.", Kind.BLOCKER),
        ("Added it; 42 tests pass. I'm blocked on the deploy key.", Kind.BLOCKER),
        ("Fixed it; 42 tests pass. I need you to rotate the key.", Kind.BLOCKER),
        ("Fixed it; 42 tests pass. Which database do you prefer?", Kind.QUESTION),
        ("Fixed it; 42 tests pass. I'm waiting for your approval.", Kind.QUESTION),
        ("Fixed it; 42 tests pass. Please confirm that the column may go.", Kind.QUESTION),
        ("Added the model; 42 tests pass. Next I will write the view.", Kind.STATUS),
        ("Added the model; 42 tests pass. I did not finish the view.", Kind.STATUS),
        ("42 tests pass. The feature is not done yet.", Kind.STATUS),
        ("All 42 tests pass. 5 files left.", Kind.STATUS),
    ],
)
def test_what_the_agent_says_of_itself_outweighs_the_record(text: str, kind: Kind) -> None:
    assert classify(text, ledger=PROVED).kind is kind


def test_a_failure_that_the_record_does_not_show_is_for_a_person() -> None:
    text = "Fixed the cache; 42 unit tests pass. The browser tests still fail."
    stop = classify(text, ledger=PROVED)
    assert stop.kind is Kind.STATUS
    assert stop.confidence < LIMITS.sure
    assert classify(text).confidence >= LIMITS.sure


def test_a_failed_run_after_the_last_change_rejects_though_a_linter_passed_since() -> None:
    red = TestRun(runner="pytest", call=5, passed=9, failed=3, exit_code=1, outcome="failed")
    commands = (
        replace(PYTEST, exit_code=1, failed=True),
        Command(text="ruff check", call=6, kinds=frozenset({"lint"}), exit_code=0, failed=False),
    )
    ledger = replace(PROVED, commands=commands, test_runs=(red,))
    for text in ("Fixed the 3 failing tests; all tests pass.", "I fixed the failing test in `src/a.py`."):
        stop = classify(text, ledger=ledger)
        assert (stop.kind, "contradicted_claim" in stop.rejected) == (Kind.COMPLETION, True)
    stop = classify("Added a retry for failed requests, and documented it.", ledger=ledger)
    assert "unverified_edits" in stop.rejected
    assert any("call 5" in m and "3 failed" in m for m in stop.missing)


def test_a_quoted_traceback_with_its_fix_is_no_error() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in run\nValueError: x'
    for text in (
        f"The crash was:\n```\n{trace}\n```\nFixed; 42 passed.",
        f"The crash was: ```{trace}``` Fixed; 42 passed.",
    ):
        assert classify(text, ledger=PROVED).kind is Kind.COMPLETION
    for text in (f"```\n{trace}\n```", f"Error:\n```\n{trace}\n```", trace):
        assert classify(text, ledger=PROVED).kind is Kind.ERROR


def test_a_contradicted_claim_rejects_and_names_the_call() -> None:
    red = TestRun(runner="pytest", call=7, passed=39, failed=3, exit_code=1, outcome="failed")
    stop = classify("Fixed the cache. All 42 tests passed.", ledger=replace(PROVED, test_runs=(GREEN, red)))
    assert "contradicted_claim" in stop.rejected
    assert any("call 7" in m and "3 failed" in m for m in stop.missing)


def test_edits_that_nothing_verified_reject_whatever_the_text_shows() -> None:
    stop = classify("Fixed the cache. `pytest` passes, 42 passed.", ledger=UNCHECKED)
    assert stop.rejected == ("unverified_edits",)
    assert any("call 2" in m for m in stop.missing)
    assert stop.proof_shown


def test_tests_made_weaker_on_the_way_reject_a_claim_that_they_pass() -> None:
    weakened = Weakened(why="test_skipped", detail="tests/test_cache.py now skips a test", call=4)
    stop = classify("Fixed the cache; all 42 tests pass.", ledger=replace(PROVED, weakened=weakened))
    assert stop.rejected == ("tests_weakened",)
    assert "call 4" in stop.missing[0]
    claim = next(c for c in stop.claims if c.what == "tests_pass")
    assert claim.standing is Standing.UNPROVED
    assert classify("Fixed the cache; all 42 tests pass.", ledger=PROVED).rejected == ()


RAN = Command(text="python app.py", call=5, kinds=frozenset({"run"}), exit_code=0, failed=False)
RAN_ONCE = Ledger(calls=6, writes=(EDIT,), commands=(RAN,))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Fixed the cache. All tests pass.", "tests_pass"),
        ("Fixed the cache and committed the change.", "committed"),
        ("Fixed the cache and pushed it to origin.", "pushed"),
    ],
)
def test_a_deed_the_record_would_show_and_does_not_rejects(text: str, kind: str) -> None:
    stop = classify(text, ledger=RAN_ONCE)
    assert kind in {c.what for c in stop.claims}
    assert stop.rejected == ("unproved_claim",)
    assert stop.missing
    assert classify("Fixed the cache.", ledger=RAN_ONCE).rejected == ()


def test_a_script_of_the_projects_own_may_be_its_tests() -> None:
    script = replace(RAN, text="./scripts/check-all.sh")
    assert classify("Fixed. All tests pass.", ledger=replace(RAN_ONCE, commands=(script,))).rejected == ()


def test_work_claimed_where_nothing_was_changed_and_all_that_ran_failed_rejects() -> None:
    failed = Command(text="python app.py", call=1, kinds=frozenset({"run"}), exit_code=2, failed=True)
    assert classify("Done: I created the page.", ledger=Ledger(calls=2, commands=(failed,))).rejected


def test_missing_phase_evidence_rejects() -> None:
    stop = classify("Fixed the cache.", ledger=PROVED, phase_missing=("a commit",))
    assert stop.rejected == ("phase_evidence_missing",)
    assert stop.missing == ("a commit",)


def test_hedges_reject_only_when_they_are_all_there_is() -> None:
    text = "I changed the cache. It should work now."
    assert "hedged_only" in classify(text, ledger=UNCHECKED).rejected
    assert classify(text).rejected == ("hedged_only",)
    assert classify(text, ledger=PROVED).rejected == ()


@pytest.mark.parametrize(
    "text",
    [
        "Implemented the cache. Verified.",
        "Implemented the cache in `src/cache.py`; commit ab12cd3.",
        "Implemented the cache. Checked with py_compile, syntax passes.",
        "Implemented the cache. The build passes, but I have not run the tests.",
        "Implemented the cache. To verify, run `pytest`; all tests should pass.",
        "Implemented the cache. It is published only after all tests pass.",
    ],
)
def test_a_text_alone_that_shows_no_outcome_is_not_accepted(text: str) -> None:
    stop = classify(text, task="add a cache")
    assert stop.kind is Kind.COMPLETION
    assert stop.rejected


@pytest.mark.parametrize(
    "text",
    [
        "Implemented the cache. All 42 tests pass.",
        "Implemented the cache. `npm run build` passes.",
        "Implemented the cache.\n\n```\n42 passed in 1.2s\n```",
        "Implemented the cache: measured 310 ms before, 40 ms after.",
    ],
)
def test_a_text_alone_that_names_a_check_and_its_outcome_is_accepted(text: str) -> None:
    stop = classify(text, task="add a cache")
    assert (stop.kind, stop.rejected) == (Kind.COMPLETION, ())
    assert stop.proof_shown


def test_git_output_proves_a_push_and_nothing_else() -> None:
    text = "Pushed the branch: `1a2b3c4..5d6e7f8`."
    assert not classify(text, task="commit and push").rejected
    assert classify(text, task="add a cache").rejected


UNSURE = "Configuration notes."


def test_the_judge_is_asked_only_where_the_rules_are_unsure() -> None:
    asked: list[Question] = []

    def judge(question: Question) -> Verdict:
        asked.append(question)
        return Verdict(kind=Kind.STATUS, confidence=0.9, quote="notes")

    assert classify("Let me run the tests now:", judge=judge).judged_by == "rules"
    assert not asked
    stop = classify(UNSURE, judge=judge)
    assert (stop.kind, stop.confidence, stop.judged_by) == (Kind.STATUS, 0.9, "model")
    assert asked[0].text == UNSURE


def _fails(_: Question) -> Verdict:
    raise TimeoutError("no answer in 10 s")


def _misquotes(_: Question) -> Verdict:
    return Verdict(kind=Kind.STATUS, confidence=0.9, quote="words that are not there")


def _overconfident(_: Question) -> Verdict:
    return Verdict(kind=Kind.STATUS, confidence=7.0)


@pytest.mark.parametrize("judge", [_fails, _misquotes, _overconfident])
def test_a_judge_that_fails_leaves_the_rules_standing_and_says_so(judge: object) -> None:
    rules = classify(UNSURE)
    stop = classify(UNSURE, judge=judge)  # type: ignore[arg-type]
    assert stop.note
    assert replace(stop, note="") == rules


def test_a_verdict_cannot_accept_what_the_record_does_not_bear_out() -> None:
    def judge(_: Question) -> Verdict:
        return Verdict(kind=Kind.COMPLETION, confidence=1.0)

    stop = classify(UNSURE, ledger=UNCHECKED, judge=judge)
    assert stop.judged_by == "model"
    assert stop.rejected == ("unverified_edits",)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("He corregido el error. ¿Quieres que añada pruebas?", Kind.COMPLETION),
        ("¿Qué base de datos prefieres?", Kind.QUESTION),
        ("Ahora voy a ejecutar las pruebas:", Kind.STATUS),
        ("Alle 12 Tests sind bestanden, der Fehler ist behoben.", Kind.COMPLETION),
    ],
)
def test_a_few_other_languages(text: str, kind: Kind) -> None:
    assert classify(text, task="x").kind is kind


IMPORTED = Command(text="python3 -c 'import calc'", call=0, kinds=frozenset({"run"}), exit_code=0, failed=False)
NOTHING_CHANGED = Ledger(calls=1, commands=(IMPORTED,), watched=True)


@pytest.mark.parametrize(
    ("text", "task", "rejected"),
    [
        ("I fixed the rounding bug in calc.py.", "Fix the rounding bug", True),
        ("I added the option --verbose and verified it.", "Please add the option --verbose", True),
        ("The bug is already fixed: no change was needed.", "Fix the rounding bug", False),
        ("I reviewed the module. Its tests are thorough.", "Review the module", False),
        ("The function rounds half to even, because round() does.", "Why is it off by one?", False),
    ],
)
def test_work_that_was_ordered_and_claimed_but_never_done_is_not_accepted(text: str, task: str, rejected: bool) -> None:
    stop = classify(text, task=task, ledger=NOTHING_CHANGED)
    assert (stop.rejected == ("unproved_claim",)) is rejected, stop
    if rejected:
        assert "no file was changed" in stop.missing[0]
        unwatched = replace(NOTHING_CHANGED, watched=False)
        assert not classify(text, task=task, ledger=unwatched).rejected, "what nobody watched may have been changed"


def test_a_file_that_nobody_wrote_is_no_proof_where_the_workspace_was_watched() -> None:
    watched = replace(PROVED, watched=True)
    said = "I changed the cache and created `docs/usage.md`. The tests pass."
    assert classify(said, ledger=watched).rejected == ("unproved_claim",)
    assert not classify(said, ledger=PROVED).rejected
    assert not classify("I changed the cache and created `dist/app.whl`. The tests pass.", ledger=watched).rejected


@pytest.mark.parametrize("text", ["There is nothing more to do here.", "The answer is in src/cache.py.", "All good."])
def test_an_open_edit_of_an_earlier_turn_is_not_forgotten_because_nothing_is_claimed(text: str) -> None:
    task = "Fix the cache in src/cache.py"
    stop = classify(text, ledger=UNCHECKED, task=task, first_call=3, open_since=0)
    assert "unverified_edits" in stop.rejected
    assert not classify(text, ledger=UNCHECKED, task=task, first_call=3, open_since=3).rejected, "settled before"
    assert not classify(text, ledger=UNCHECKED, task=task, first_call=3).rejected, "a person spoke in between"
    assert not classify(text, ledger=PROVED, task=task, first_call=6, open_since=0).rejected, "proved meanwhile"
