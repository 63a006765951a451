"""Claims against the ledger: proved, contradicted, unproved, each naming the call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touchline.supervision.claim_check import check_claims
from touchline.supervision.claims import claims_in
from touchline.supervision.evidence import Command, CommandKind, Commit, Ledger, TestRun, Write
from touchline.supervision.prose import read
from touchline.supervision.stops import Claim, ClaimKind, Standing

EDIT = Write(path="src/app/cache.py", call=2, how="tool")
GREEN = TestRun(runner="pytest", call=5, passed=42, failed=0, exit_code=0, outcome="passed")
RED = TestRun(runner="pytest", call=7, passed=39, failed=3, exit_code=1, outcome="failed")


def command(text: str, call: int, *kinds: CommandKind, exit_code: int = 0) -> Command:
    return Command(text=text, call=call, kinds=frozenset(kinds), exit_code=exit_code, failed=exit_code != 0)


PYTEST = command("pytest", 5, "test")


def checked(text: str, ledger: Ledger, what: ClaimKind) -> Claim:
    return next(c for c in check_claims(claims_in(read(text)), ledger, read(text)) if c.what == what)


def test_tests_pass_is_proved_by_the_last_run() -> None:
    claim = checked(
        "All 42 tests passed.", Ledger(writes=(EDIT,), commands=(PYTEST,), test_runs=(GREEN,)), "tests_pass"
    )
    assert (claim.standing, claim.call) == (Standing.PROVED, 5)


def test_tests_pass_is_contradicted_by_failures_naming_call_and_counts() -> None:
    claim = checked("All 42 tests passed.", Ledger(test_runs=(GREEN, RED)), "tests_pass")
    assert (claim.standing, claim.call) == (Standing.CONTRADICTED, 7)
    assert claim.because == "call 7 ran pytest: 39 passed, 3 failed (exit code 1)"


def test_more_tests_than_were_run_is_contradicted_but_fewer_is_not() -> None:
    ledger = Ledger(commands=(PYTEST,), test_runs=(GREEN,))
    assert checked("50 tests passed.", ledger, "tests_pass").standing is Standing.CONTRADICTED
    assert checked("The 3 new tests pass.", ledger, "tests_pass").standing is Standing.PROVED


def test_tests_run_before_the_last_edit_or_never_prove_nothing() -> None:
    late = Ledger(writes=(Write(path="a.py", call=6, how="tool"),), test_runs=(GREEN,))
    assert checked("All tests pass.", late, "tests_pass").standing is Standing.UNPROVED
    assert checked("All tests pass.", Ledger(calls=9), "tests_pass").standing is Standing.UNPROVED


def test_zero_tests_collected_is_no_pass() -> None:
    none = TestRun(runner="pytest", call=3, collected=0, exit_code=5, outcome="unverified")
    assert checked("All tests pass.", Ledger(test_runs=(none,)), "tests_pass").standing is Standing.UNPROVED


def test_checks_are_matched_by_their_kind() -> None:
    ledger = Ledger(commands=(command("ruff check", 3, "lint", exit_code=1), command("mypy src", 4, "typecheck")))
    assert checked("The linter is clean.", ledger, "checks_pass").standing is Standing.CONTRADICTED
    assert checked("Mypy is clean.", ledger, "checks_pass").standing is Standing.PROVED
    assert checked("The build succeeds.", Ledger(), "checks_pass").standing is Standing.UNPROVED


@pytest.mark.parametrize(
    ("text", "what", "line", "kind"),
    [
        ("The type check passes.", "checks_pass", "mypy .", "typecheck"),
        ("I pushed it.", "pushed", "git push", "push"),
        ("I fixed the cache.", "fixed", "python app.py", "run"),
        ("I verified it.", "verified", "python app.py", "run"),
    ],
)
def test_what_still_runs_in_the_background_proves_nothing_yet(
    text: str, what: ClaimKind, line: str, kind: CommandKind
) -> None:
    ran = command(line, 5, kind)
    running = replace(ran, open=True, exit_code=None)
    assert checked(text, Ledger(writes=(EDIT,), commands=(ran,)), what).standing is Standing.PROVED
    assert checked(text, Ledger(writes=(EDIT,), commands=(running,)), what).standing is Standing.UNPROVED
    assert checked(text, Ledger(commands=(running,)), what).standing is Standing.UNPROVED


def test_ci_is_only_known_when_it_was_looked_at() -> None:
    blind = Ledger(commands=(command("make build", 3, "build"),))
    assert checked("CI is green.", blind, "checks_pass").standing is Standing.UNPROVED
    looked = Ledger(commands=(command("gh pr checks 12", 3, "look"),))
    assert checked("CI is green.", looked, "checks_pass").standing is Standing.PROVED


def test_committed_needs_a_commit_and_a_failed_one_contradicts() -> None:
    assert checked("It is committed.", Ledger(), "committed").standing is Standing.UNPROVED
    failed = Ledger(commands=(command("git commit -m x", 4, "commit", exit_code=1),))
    claim = checked("It is committed.", failed, "committed")
    assert (claim.standing, claim.call) == (Standing.CONTRADICTED, 4)
    good = Ledger(commits=(Commit(hash="ab12cd3", call=4),))
    assert checked("It is committed.", good, "committed").standing is Standing.PROVED


def test_a_commit_hash_nobody_saw_is_unproved() -> None:
    ledger = Ledger(commits=(Commit(hash="ab12cd3", call=4),))
    assert checked("See commit 9f9f9f9a.", ledger, "committed").standing is Standing.UNPROVED
    assert checked("See commit ab12cd3.", ledger, "committed").standing is Standing.PROVED


@pytest.mark.parametrize("named", ["Committed as {}.", "It is committed (`{}`).", "Committed: **{}**."])
def test_the_hash_is_looked_for_in_the_whole_sentence(named: str) -> None:
    ledger = Ledger(commits=(Commit(hash="def5678", call=4),))
    wrong = checked(named.format("abc1234"), ledger, "committed")
    assert (wrong.standing, wrong.because) == (Standing.UNPROVED, "no command showed commit abc1234")
    assert checked(named.format("def5678"), ledger, "committed").standing is Standing.PROVED


def test_a_hash_or_number_named_for_another_reason_takes_nothing_away() -> None:
    ledger = Ledger(commits=(Commit(hash="def5678", call=4),))
    for text in ("It is committed; the bug was introduced in abc1234.", "Committed the import of 1000000 rows."):
        assert checked(text, ledger, "committed").standing is Standing.PROVED


def test_a_later_push_makes_good_an_earlier_failure() -> None:
    first = command("git push", 4, "push", exit_code=1)
    assert checked("Pushed it.", Ledger(commands=(first,)), "pushed").standing is Standing.CONTRADICTED
    both = Ledger(commands=(first, command("git push -u origin x", 6, "push")), pushes=(6,))
    assert checked("Pushed it.", both, "pushed").standing is Standing.PROVED


def test_pull_requests() -> None:
    text = "I opened a pull request."
    assert checked(text, Ledger(), "pr_opened").standing is Standing.UNPROVED
    failed = Ledger(commands=(command("gh pr create", 8, "pr", exit_code=1),))
    assert checked(text, failed, "pr_opened").standing is Standing.CONTRADICTED
    assert checked(text, Ledger(pull_requests=("https://x/pull/1",)), "pr_opened").standing is Standing.PROVED


def test_a_created_file_must_be_among_the_writes() -> None:
    ledger = Ledger(writes=(EDIT,), commands=(PYTEST,))
    assert checked("Created `app/cache.py` for it.", ledger, "file_created").call == 2
    other = checked("Created `app/store.py` for it.", ledger, "file_created")
    assert other.standing is Standing.UNPROVED
    assert "app/store.py" in other.because


def test_fixed_is_contradicted_by_a_failure_the_message_hides_and_not_by_one_it_admits() -> None:
    ledger = Ledger(writes=(EDIT,), commands=(command("pytest", 7, "test", exit_code=1),), test_runs=(RED,))
    assert checked("Fixed the crash.", ledger, "fixed").standing is Standing.CONTRADICTED
    admitted = checked("Fixed the crash. Three old tests still fail.", ledger, "fixed")
    assert admitted.standing is Standing.UNPROVED
    for text in (
        "I fixed the failing test in `src/a.py`.",
        "Fixed the retry of failed requests.",
        "Fixed the red button.",
    ):
        assert checked(text, ledger, "fixed").standing is Standing.CONTRADICTED


def test_a_linter_that_passes_later_does_not_make_good_a_failed_test_run() -> None:
    failed = command("pytest", 7, "test", exit_code=1)
    ledger = Ledger(writes=(EDIT,), commands=(failed, command("ruff check", 8, "lint")), test_runs=(RED,))
    assert not ledger.verified_after_last_edit
    assert checked("Fixed the crash.", ledger, "fixed").standing is Standing.CONTRADICTED
    again = replace(GREEN, call=9)
    healed = replace(ledger, commands=(*ledger.commands, command("pytest", 9, "test")), test_runs=(RED, again))
    assert healed.verified_after_last_edit
    assert checked("Fixed the crash.", healed, "fixed").standing is Standing.PROVED


def test_work_is_proved_by_what_ran_after_the_last_edit() -> None:
    assert checked("Fixed it.", Ledger(writes=(EDIT,), commands=(PYTEST,)), "fixed").standing is Standing.PROVED
    assert checked("Fixed it.", Ledger(writes=(EDIT,)), "fixed").standing is Standing.UNPROVED
    assert checked("Fixed it.", Ledger(), "fixed").because == "no changed file is in the record"


def test_a_test_run_that_shows_no_pass_proves_no_work() -> None:
    silent = TestRun(runner="pytest", call=5, outcome="unverified")
    ledger = Ledger(writes=(EDIT,), commands=(command("pytest -q | tail -5", 5, "test"),), test_runs=(silent,))
    for text, what in (("Fixed it.", "fixed"), ("Added it.", "implemented"), ("Verified.", "verified")):
        assert checked(text, ledger, what).standing is Standing.UNPROVED  # type: ignore[arg-type]
        seen = replace(ledger, test_runs=(replace(silent, passed=3, outcome="passed"),))
        assert checked(text, seen, what).standing is Standing.PROVED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("Most tests pass.", Standing.UNPROVED),
        ("39/42 tests pass.", Standing.PROVED),
        ("41/42 tests pass.", Standing.UNPROVED),
        ("All tests pass except the slow ones.", Standing.UNPROVED),
        ("All tests pass.", Standing.CONTRADICTED),
        ("42/42 tests pass.", Standing.CONTRADICTED),
    ],
)
def test_an_honest_part_is_not_contradicted_by_the_rest(text: str, standing: Standing) -> None:
    assert checked(text, Ledger(test_runs=(RED,)), "tests_pass").standing is standing


def test_the_run_is_matched_by_runner_or_count_before_the_last_is_taken() -> None:
    jest = TestRun(runner="jest", call=8, passed=2, failed=1, exit_code=1, outcome="failed")
    ledger = Ledger(test_runs=(GREEN, jest))
    assert checked("pytest: 42 passed.", ledger, "tests_pass").standing is Standing.PROVED
    assert checked("42 tests passed.", ledger, "tests_pass").standing is Standing.PROVED
    assert checked("Jest passed.", ledger, "tests_pass").standing is Standing.CONTRADICTED
    assert checked("All 42 tests passed.", ledger, "tests_pass").standing is Standing.CONTRADICTED
    # The same runner again: an earlier count of its own does not stand against its last run.
    assert checked("pytest: 42 passed.", Ledger(test_runs=(GREEN, RED)), "tests_pass").standing is Standing.CONTRADICTED


def _run(call: int, passed: int, failed: int = 0) -> TestRun:
    run = TestRun(runner="pytest", call=call, passed=passed, failed=failed, exit_code=0, outcome="passed")
    return replace(run, exit_code=1, outcome="failed") if failed else run


def test_a_part_of_the_tests_does_not_prove_them_all() -> None:
    ledger = Ledger(writes=(EDIT,), test_runs=(_run(1, 11, 1), _run(5, 1)))
    for text in ("All tests pass.", "12 tests pass.", "The whole test suite is green."):
        claim = checked(text, ledger, "tests_pass")
        assert claim.standing is Standing.UNPROVED
        assert "only a part" in claim.because
    assert checked("The new test passes.", ledger, "tests_pass").standing is Standing.PROVED
    assert checked("13 tests pass.", ledger, "tests_pass").standing is Standing.CONTRADICTED


def test_a_wider_run_since_the_last_change_decides_about_all() -> None:
    green = Ledger(writes=(EDIT,), test_runs=(_run(4, 12), _run(5, 1)))
    assert (checked("All tests pass.", green, "tests_pass").standing, green.last_edit) == (Standing.PROVED, 2)
    red = Ledger(writes=(EDIT,), test_runs=(_run(4, 9, 3), _run(5, 1)))
    assert checked("All tests pass.", red, "tests_pass").standing is Standing.CONTRADICTED
    fewer = Ledger(writes=(EDIT,), test_runs=(_run(1, 12), _run(5, 11)))
    assert checked("All tests pass.", fewer, "tests_pass").standing is Standing.PROVED
