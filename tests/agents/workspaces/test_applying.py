"""Applying: what comes into the user's branch and files, and what stays exactly as it was."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from tests.agents.workspaces.repositories import House
from tests.agents.workspaces.test_clone import stamps

from touchline.agents.workspaces.applying import Applied, apply_work, branch_off, settle
from touchline.agents.workspaces.proposal import Proposal, propose
from touchline.errors import WorkspaceError


def work(house: House, script: str) -> tuple[str, str]:
    """A commit of an agent's, made in the repository itself on no branch; its hash and its base."""
    base = house.sh("git rev-parse HEAD")
    house.sh(f"git worktree add -q --detach ../agent {base}", house.repo)
    house.sh(f"{script}; git add -A; git commit -qm 'Work of the agent'", house.top / "agent")
    commit = house.sh("git rev-parse HEAD", house.top / "agent")
    house.sh("git worktree remove --force ../agent")
    return commit, base


def proposed(house: House, commit: str, base: str) -> Proposal:
    return propose(house.repo, commit, base, env=house.env)


def applied(house: House, proposal: Proposal) -> Applied:
    return apply_work(proposal, run="r1", env=house.env, message="Apply r1")


def test_a_fast_forward_leaves_what_is_not_committed_as_it_is(house: House) -> None:
    house.commit(dirty_txt="1\n", gone_txt="1\n", staged_txt="1\n", kind="a file\n", folder__x="1\n")
    commit, base = work(
        house,
        "echo more >> README.md; mkdir -p deep/er; echo n > deep/er/n; rm src/lib.py kind; mkdir kind;"
        "echo k > kind/k; rm -r folder; echo f > folder; printf '#!/bin/sh\\n' > tool; chmod +x tool;"
        "ln -s README.md link; git mv src/app.py moved.py",
    )
    house.sh("echo 2 > dirty.txt; rm gone.txt; echo u > unknown")
    house.sh("echo 2 > staged.txt; git add staged.txt; echo 3 > staged.txt")
    before = stamps(house.repo)
    status = house.sh("git status --porcelain -uall")
    proposal = proposed(house, commit, base)
    assert (proposal.how, proposal.overlaps) == ("fast-forward", ())
    assert stamps(house.repo) == before
    done = applied(house, proposal)
    assert (done.ref, done.before, done.after, done.kept) == ("refs/heads/main", base, commit, ())
    assert house.sh("git status --porcelain -uall") == status
    after = stamps(house.repo)
    for name in ("dirty.txt", "staged.txt", "unknown"):
        path = str(house.repo / name)
        assert after[path] == before[path], name
    house.sh("git stash -qu; git clone -q . ../fresh; diff -r --no-dereference --exclude=.git . ../fresh")
    assert os.access(house.repo / "tool", os.X_OK)
    assert os.readlink(house.repo / "link") == "README.md"
    assert not (house.repo / "src").exists()
    assert sorted(os.listdir(house.repo / ".git/touchline")) == ["lock"]
    assert "touchline: apply r1" in house.sh("git reflog -1 main; git reflog -2 HEAD")


def test_a_branch_that_moved_on_is_merged_without_a_checkout(house: House) -> None:
    commit, base = work(house, "echo agent > agent.txt; echo B=1 >> src/lib.py")
    mine = house.commit(mine_txt="mine\n")
    proposal = proposed(house, commit, base)
    assert proposal.how == "merge"
    assert house.sh("git rev-parse HEAD") == mine
    applied(house, proposal)
    assert house.sh("git log -1 --format='%P|%an|%ae|%s'") == f"{mine} {commit}|Una User|una@example.org|Apply r1"
    assert house.sh("cat agent.txt mine.txt; git status --porcelain") == "agent\nmine"
    assert proposed(house, commit, base).how == "already"
    with pytest.raises(WorkspaceError, match="in your branch already"):
        applied(house, proposed(house, commit, base))


def test_a_branch_that_lost_the_base_gets_the_difference_as_one_commit(house: House) -> None:
    house.commit(README_md="first try\n")
    commit, base = work(house, "echo agent > agent.txt")
    house.sh("echo second try > README.md; git commit -qa --amend -m amended")
    proposal = proposed(house, commit, base)
    assert proposal.how == "pick"
    applied(house, proposal)
    assert house.sh("git log --format=%s | head -2; cat README.md agent.txt") == "Apply r1\namended\nsecond try\nagent"
    assert proposed(house, commit, base).how == "already"


def test_conflicts_are_named_and_nothing_changes(house: House) -> None:
    commit, base = work(house, "echo agent > README.md; echo fine > fine.txt; echo agent > both.txt")
    house.commit(README_md="mine\n", both_txt="mine\n")
    before, refs = stamps(house.repo), house.sh("git for-each-ref; git stash list")
    proposal = proposed(house, commit, base)
    assert (proposal.how, proposal.conflicts) == ("conflict", ("README.md", "both.txt"))
    with pytest.raises(WorkspaceError, match=r"README.md, both.txt. Nothing was changed"):
        applied(house, proposal)
    assert (stamps(house.repo), house.sh("git for-each-ref; git stash list")) == (before, refs)
    assert branch_off(proposal, "try/it", run="r1").after == commit
    assert house.sh("git rev-parse try/it") == commit
    assert branch_off(proposal, "try/it", run="r1").before == commit
    for name, why in {"main": "already", "a..b": "cannot name a branch"}.items():
        with pytest.raises(WorkspaceError, match=why):
            branch_off(proposal, name, run="r1")


@pytest.mark.parametrize(
    ("mine", "named"),
    [
        ("echo mine >> README.md", "README.md (changed)"),
        ("echo mine >> README.md; git add README.md; git checkout-index -f README.md", "README.md (changed)"),
        ("rm README.md", "README.md (changed)"),
        ("echo mine > new.txt", "new.txt (not known to git)"),
        ("echo new.txt > .gitignore; echo mine > new.txt", "new.txt (not known to git)"),
        ("echo mine > newdir", "newdir (not known to git)"),
        ("ln -s /tmp newdir", "newdir (not known to git)"),
        ("mkdir new.txt; echo mine > new.txt/x", "new.txt/x (not known to git)"),
        (
            "git update-index --assume-unchanged README.md; echo mine > README.md",
            "README.md (marked as not to be looked at)",
        ),
    ],
)
def test_files_in_the_way_are_named_and_nothing_changes(house: House, mine: str, named: str) -> None:
    commit, base = work(house, "echo agent >> README.md; echo agent > new.txt; mkdir newdir; echo agent > newdir/n")
    house.sh(mine)
    before = stamps(house.repo)
    proposal = proposed(house, commit, base)
    assert named in proposal.overlaps
    with pytest.raises(WorkspaceError, match="changes of your own in files that would be replaced"):
        applied(house, proposal)
    assert stamps(house.repo) == before
    assert house.sh("git rev-parse HEAD") == base


def test_what_happens_between_showing_and_applying_is_noticed(house: House) -> None:
    commit, base = work(house, "echo agent >> README.md")
    proposal = proposed(house, commit, base)
    lock = house.repo / ".git/index.lock"
    lock.touch()
    with pytest.raises(WorkspaceError, match="Another git works"):
        applied(house, proposal)
    lock.unlink()
    house.sh("git rev-parse HEAD > .git/MERGE_HEAD")
    with pytest.raises(WorkspaceError, match="A merge is under way"):
        applied(house, proposal)
    (house.repo / ".git/MERGE_HEAD").unlink()
    (house.repo / "README.md").write_text("mine\n")
    with pytest.raises(WorkspaceError, match="changes of your own"):
        applied(house, proposal)
    house.sh("git checkout -q README.md")
    mine = house.commit(other_txt="x\n")
    with pytest.raises(WorkspaceError, match="no longer where it was"):
        applied(house, proposal)
    assert house.sh("git rev-parse HEAD; git status --porcelain; ls .git/touchline") == f"{mine}\nlock"


def test_contents_are_converted_as_the_users_git_does_it(house: House) -> None:
    house.sh(
        "git config --global filter.shout.smudge 'tr a-z A-Z'; git config --global filter.shout.clean 'tr A-Z a-z'"
    )
    house.commit(_gitattributes="*.loud filter=shout\n*.bat eol=crlf\n")
    commit, base = work(house, "printf 'quiet\\n' > x.loud; printf 'echo\\r\\n' > run.bat")
    assert house.sh(f"git show {commit}:x.loud") == "quiet"
    applied(house, proposed(house, commit, base))
    assert (house.repo / "x.loud").read_bytes() == b"QUIET\n"
    assert (house.repo / "run.bat").read_bytes() == b"echo\r\n"
    assert house.sh("git status --porcelain") == ""


def test_a_detached_checkout_a_linked_one_and_a_bare_repository(house: House) -> None:
    commit, base = work(house, "echo agent > agent.txt")
    house.sh("git worktree add -q ../linked -b side; git checkout -q --detach")
    applied(house, proposed(house, commit, base))
    assert house.sh("git rev-parse HEAD main; cat agent.txt; git status --porcelain") == f"{commit}\n{base}\nagent"
    linked = propose(house.top / "linked", commit, base, env=house.env)
    assert applied(house, linked).ref == "refs/heads/side"
    assert house.sh("cat agent.txt; git status --porcelain", house.top / "linked") == "agent"
    house.sh(f"git clone -q --bare project bare; git -C project push -q ../bare {commit}:refs/keep/x", house.top)
    bare = propose(house.top / "bare", commit, base, env=house.env)
    assert bare.how == "no-branch"
    with pytest.raises(WorkspaceError, match="no branch checked out"):
        applied(house, bare)
    assert branch_off(bare, "work", run="r1").after == commit


def test_a_user_without_a_name_is_asked_for_one_before_a_merge(house: House) -> None:
    commit, base = work(house, "echo agent > agent.txt")
    house.commit(mine_txt="mine\n")
    proposal = proposed(house, commit, base)
    (house.top / "nobody").mkdir()
    with pytest.raises(WorkspaceError) as caught:
        apply_work(proposal, run="r1", env={**house.env, "HOME": str(house.top / "nobody")}, message="m")
    assert "git config --global user.name" in caught.value.hint
    assert proposed(house, commit, base) == proposal


def test_nothing_to_apply_and_commits_that_are_not_there(house: House) -> None:
    base = house.sh("git rev-parse HEAD")
    assert proposed(house, base, base).how == "nothing"
    with pytest.raises(WorkspaceError, match="does not have the commit"):
        proposed(house, "1" * 40, base)
    assert settle(house.repo, env=house.env) is None
    with pytest.raises(WorkspaceError, match="changed nothing"):
        applied(house, replace(proposed(house, base, base)))
