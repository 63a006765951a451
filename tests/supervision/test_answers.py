"""An answer to a question is what was asked for: deeds it tells of need no proof. A claim of one's own does."""

from __future__ import annotations

import pytest

from touchline.supervision.evidence import Command, Commit, Ledger, TestRun, Write
from touchline.supervision.stop import classify
from touchline.supervision.stops import Kind

LOOKED = Ledger(
    calls=1,
    commands=(Command(text="cat notes.md", call=0, kinds=frozenset({"look"}), exit_code=None, failed=False),),
)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("what did we do yesterday?", "Yesterday we fixed the pager and added OAuth."),
        ("What have you done so far?", "I fixed the pager, committed it and pushed it."),
        ("Summarize the changelog", "Version 2 added OAuth login, fixed the memory leak and removed Python 3.8."),
        ("Please summarise the changelog", "Version 2 added OAuth login and fixed the memory leak."),
        (
            "Describe what this commit did",
            "This commit fixed the off-by-one error in the pager and added a test for it.",
        ),
        ("Tell me what changed in version 2", "Version 2 added OAuth login and fixed the memory leak in the cache."),
        ("Find out why CI is red", "CI is red because the linter was updated to 0.6, which added a new rule."),
        ("Look at the logs and tell me whether the job ran", "Yes, the job ran at 10:03 and all tests passed."),
        ("Explain the retry logic", "Retries are implemented in client.py: each request is tried three times."),
    ],
)
def test_what_an_answer_tells_of_needs_no_proof(task: str, text: str) -> None:
    stop = classify(text, task=task, ledger=LOOKED)
    assert (stop.kind, stop.rejected) == (Kind.COMPLETION, ())
    assert stop.reason == "answer"


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("Why does the pager crash?", "I fixed the crash in the pager."),
        ("Why does the pager crash? Fix it.", "The crash in the pager is fixed, and the test was added."),
        ("Find out why CI is red and fix it", "The linter's new rule broke it. This is fixed."),
        ("Is it done?", "Yes, I fixed the pager; it works now."),
        ("Do the tests pass?", "Yes, all 7 tests pass."),
        ("Fix the pager", "The pager is fixed."),
    ],
)
def test_a_claim_of_ones_own_does(task: str, text: str) -> None:
    assert classify(text, task=task, ledger=LOOKED).rejected


def test_what_the_record_denies_is_no_answer() -> None:
    run = Command(text="pytest -q", call=0, kinds=frozenset({"test"}), exit_code=1, failed=True)
    red = TestRun(runner="pytest", call=0, passed=6, failed=1, exit_code=1, outcome="failed")
    stop = classify(
        "All 7 tests pass.", task="What is the state?", ledger=Ledger(calls=1, commands=(run,), test_runs=(red,))
    )
    assert stop.rejected == ("contradicted_claim",)


@pytest.mark.parametrize(
    "done",
    [
        Ledger(calls=1, writes=(Write(path="pager.py", call=0, how="tool"),)),
        Ledger(calls=1, commits=(Commit(hash="abc1234", call=0),)),
    ],
    ids=["a file", "a commit"],
)
def test_what_changed_something_is_work_whatever_was_asked(done: Ledger) -> None:
    stop = classify("The pager is fixed; all tests pass.", task="What is wrong with the pager?", ledger=done)
    assert stop.rejected
