"""Commits and pushes by other means than `git commit` and `git push`: what is proof, and what is only said."""

from __future__ import annotations

import pytest
from tests.supervision.test_ledger import ledger, sh
from tests.supervision.test_recognised import stop_after

from touchline.supervision.commands import kinds_of
from touchline.supervision.stops import Standing, Stop

MADE = "[main 1a2b3c4] Mend the cache\n 1 file changed, 2 insertions(+)\n"
TESTED = sh("pytest", "== 3 passed in 0.1s ==")


def standings(stop: Stop) -> dict[str, Standing]:
    return {claim.what: claim.standing for claim in stop.claims}


@pytest.mark.parametrize(
    "line",
    [
        "git ci -m x",
        "git save",
        "git -C app ci -m x",
        "git cherry-pick abc",
        "git add -A && git ci -m x",
        "git ci | cat",
    ],
)
def test_git_by_another_name_that_prints_its_line_has_committed(line: str) -> None:
    assert [c.hash for c in ledger(sh(line, MADE)).commits] == ["1a2b3c4"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("git ci -m x", "nothing to commit, working tree clean"),
        ("git ci -m x", "see [main 1a2b3c4] x"),
        ("git log --format='[main %h] %s'", MADE),
        ("git show", MADE),
        ("git for-each-ref --format='[x %(objectname:short)] y'", MADE),
        ("git bisect run ./try.sh", MADE),
        ("git -c alias.x='!echo \"[main 1a2b3c4] x\"' x", MADE),
        ("git rebase --exec 'cat log' main", MADE),
        ("git submodule foreach 'cat log'", MADE),
        ("git fetch; cat log", MADE),
        ("git ci -q; echo '[main 1a2b3c4] Mend the cache'", "[main 1a2b3c4] Mend the cache\n"),
        ("git fetch >/dev/null; python3 -c 'print(open(\"log\").read())'", MADE),
        ("cat log", MADE),
        ("echo '[main 1a2b3c4] x'", MADE),
        ("git add .", "[1a2b3c4] x\n"),
    ],
)
def test_the_line_of_a_commit_from_elsewhere_is_none(line: str, text: str) -> None:
    assert ledger(sh(line, text)).commits == ()


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("jj commit -m x", {"commit"}),
        ("jj -R app describe -m x", {"commit"}),
        ("jj git push", {"push"}),
        ("jj git push --dry-run", {"look"}),
        ("jj git fetch", set()),
        ("jj log", {"look"}),
        ("gt create -am x", {"commit"}),
        ("gt submit --no-interactive", {"push", "pr"}),
        ("gt submit --dry-run", {"look"}),
        ("gt log", {"look"}),
        ("sl commit -m x", {"commit"}),
        ("sl push --to main", {"push"}),
        ("sl status", {"look"}),
        ("hg ci -m x", {"commit"}),
        ("hg diff", {"look"}),
    ],
)
def test_other_version_control(line: str, kinds: set[str]) -> None:
    assert kinds_of(line) == kinds


@pytest.mark.parametrize(
    ("commit", "push"),
    [
        ("jj commit -m x", "jj git push"),
        ("gt create -am x", "gt submit"),
        ("sl commit -m x", "sl push"),
        ("git ci -m x", "git push"),
    ],
)
def test_what_they_did_is_proved(commit: str, push: str) -> None:
    text = MADE if commit.startswith("git") else ""
    stop = stop_after(TESTED, sh(commit, text), sh(push), said="I fixed it. I committed the change and pushed it.")
    assert stop.rejected == ()
    assert standings(stop)["committed"] is standings(stop)["pushed"] is Standing.PROVED


def test_what_they_failed_to_do_is_contradicted() -> None:
    said = "I fixed it. I committed the change and pushed it."
    stop = stop_after(TESTED, sh("jj commit -m x"), sh("jj git push", "Error: no remote", 1), said=said)
    assert standings(stop)["pushed"] is Standing.CONTRADICTED
    looked = stop_after(TESTED, sh("jj log", MADE), sh("sl status"), said=said)
    assert looked.rejected == ("unproved_claim",)


def test_the_hash_that_jj_shows_and_the_link_that_gt_shows() -> None:
    text = "Working copy  (@) now at: kkmpptxz 9f8e7d6c (empty)\nParent commit (@-)      : qpvuntsm 1a2b3c4d Mend it\n"
    assert "1a2b3c4d" in [c.hash for c in ledger(sh("jj commit -m x", text)).commits]
    assert ledger(sh("jj log", text)).commits == ()
    link = "https://app.graphite.dev/github/pr/o/r/12"
    assert ledger(sh("gt submit", f"fix: {link} (created)")).pull_requests == (link,)
    assert ledger(sh("gt log", f"fix: {link}")).pull_requests == ()


SAID = "I fixed it and pushed it to main."
SENT = "To github.com:o/r.git\n   1a2b3c4..5d6e7f8  main -> main\n"


@pytest.mark.parametrize("line", ["./release.sh", "make release", "npm run release", "bash release.sh | tail -3"])
@pytest.mark.parametrize("text", ["Pushed main to origin\n", SENT])
def test_a_script_that_tells_of_a_push_proves_none_and_is_a_trace_of_it(line: str, text: str) -> None:
    stop = stop_after(TESTED, sh(line, text), said=SAID)
    assert (stop.rejected, standings(stop)["pushed"]) == ((), Standing.UNPROVED)


@pytest.mark.parametrize(
    ("line", "text", "code"),
    [
        ("./release.sh", "Built 3 files\n", 0),
        ("./release.sh", "Nothing was pushed\n", 0),
        ("./release.sh", "Would have pushed main\n", 0),
        ("./release.sh", "error: failed to push some refs\n", 1),
        ("./release.sh", "Pushed main to origin\n", 1),
        ("./release.sh >/dev/null; echo 'Pushed main to origin'", "Pushed main to origin\n", 0),
        ("python3 -c \"print('Pushed main to origin')\"", "Pushed main to origin\n", 0),
        ("echo 'Pushed main to origin'", "Pushed main to origin\n", 0),
        ("cat release.log", SENT, 0),
    ],
)
def test_words_of_others_and_of_failures_are_no_trace_of_a_push(line: str, text: str, code: int) -> None:
    assert stop_after(TESTED, sh(line, text, code), said=SAID).rejected == ("unproved_claim",)


def test_a_script_that_tells_of_a_commit_is_a_trace_of_it() -> None:
    stop = stop_after(TESTED, sh("./release.sh", MADE), said="I fixed it and committed the change.")
    assert (stop.rejected, standings(stop)["committed"]) == ((), Standing.UNPROVED)
    assert stop_after(TESTED, sh("cat log", MADE), said="I fixed it and committed the change.").rejected != ()
