"""Claims against the ledger: proved, contradicted, unproved, each naming the call."""

from __future__ import annotations

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
    return next(c for c in check_claims(claims_in(read(text)), ledger, text=text) if c.what == what)


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


def test_work_is_proved_by_what_ran_after_the_last_edit() -> None:
    assert checked("Fixed it.", Ledger(writes=(EDIT,), commands=(PYTEST,)), "fixed").standing is Standing.PROVED
    assert checked("Fixed it.", Ledger(writes=(EDIT,)), "fixed").standing is Standing.UNPROVED
    assert checked("Fixed it.", Ledger(), "fixed").because == "no changed file is in the record"
