"""What comes back from a clone: all of the work, nothing else, and what was left is said."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.agents.workspaces.repositories import House

from touchline.agents.port import Level
from touchline.agents.workspaces.changes import changes_between
from touchline.agents.workspaces.clone import Workspace
from touchline.agents.workspaces.collect import Limits, message_for
from touchline.agents.workspaces.desk import desk
from touchline.agents.workspaces.importing import take_in
from touchline.agents.workspaces.repository import find_repository
from touchline.agents.workspaces.snapshot import snapshot
from touchline.errors import WorkspaceError
from touchline.supervision.snapshot import Snapshot


def test_commits_and_uncommitted_files_come_back(house: House, level: Level) -> None:
    made = house.prepare()
    house.agent(
        made,
        "echo 2 >> README.md; git commit -qam 'First step'; git rm -q src/lib.py; git commit -qm 'Second step';"
        "echo '#!/bin/sh' > tool; chmod +x tool; mkdir new; echo n > new/n; echo 3 >> README.md; git add tool;"
        "echo 'build/' > .gitignore; mkdir build; echo b > build/b",
        level=level,
    )
    status = house.sh("git status --porcelain; git branch; git rev-parse HEAD")
    found = house.collect(made, level=level)
    assert house.sh("git status --porcelain; git branch; git rev-parse HEAD") == status
    assert house.sh("git rev-parse refs/touchline/run1/head") == found.commit
    assert (found.committed_by_agent, found.uncommitted, found.files) == (2, 4, 5)
    assert house.sh(f"git log --format=%s {found.base}..{found.commit}").splitlines() == [
        "Work that the agent left uncommitted",
        "Second step",
        "First step",
    ]
    assert house.files(found.commit) == {".gitignore", "README.md", "src/app.py", "new/n", "tool"}
    assert house.sh(f"git ls-tree {found.commit} tool").startswith("100755")
    assert found.leftovers == ("ignored, so not taken: build/",)
    assert house.sh("git fsck --strict 2>&1 | grep -v '^dangling' || true") == ""
    again = house.collect(made, level=level)
    assert house.sh(f"git diff --name-only {found.commit} {again.commit}") == ""


def test_what_a_check_leaves_beside_the_code_is_no_work(house: House, level: Level) -> None:
    made = house.prepare()
    house.agent(
        made, "mkdir -p __pycache__ src/.mypy_cache; touch __pycache__/a.pyc src/.mypy_cache/m kept", level=level
    )
    assert [file.path for file in house.collect(made, level=level).changes.files] == ["kept"]


def test_nothing_done_gives_the_base(house: House, level: Level) -> None:
    made = house.prepare()
    found = house.collect(made, level=level)
    assert (found.commit, found.files, found.leftovers) == (made.base, 0, ())
    house.agent(made, "touch README.md; git checkout -q -b elsewhere", level=level)
    assert house.collect(made, level=level).commit == made.base


@pytest.mark.parametrize(
    ("script", "remark"),
    [
        ("git checkout -q --detach; echo x > x; git add -A; git commit -qm x", ""),
        ("git checkout -q -b feature/a; echo x > x; git add -A; git commit -qm x; git pack-refs --all", ""),
        ("git commit -q --amend -m other; echo x > x", "it rewrote the history"),
        ("git checkout -q --orphan o; echo x > x; git add -A; git commit -qm x", "it rewrote the history"),
        ("rm -rf .git; echo x > x", "its .git folder is gone"),
        ("echo x > x; touch .git/index.lock; rm .git/index", ""),
        (
            "git checkout -q -b side; git commit -qm y --allow-empty; git checkout -q -; echo x > x",
            "the branch side holds",
        ),
        ("echo x > x; echo y > README.md; git stash -q", "a stash holds"),
        ("echo x > x; git rev-parse HEAD > .git/MERGE_HEAD", "a merge was under way"),
        ("rm -rf .git/objects; mkdir .git/objects; echo x > x", ""),
        ("echo x > x; git add -A; git commit -qm x; rm -rf .git/objects/??", "cannot be read"),
        (
            "echo x > x; git add -A; git commit -qm x; rm .git/objects/$(git rev-parse HEAD:x | sed 's|..|&/|')",
            "are missing",
        ),
        ("echo x > x; echo garbage > .git/HEAD", ""),
        ("echo x > x; echo 'ref: refs/heads/../../../../../etc/passwd' > .git/HEAD", ""),
        ("echo x > x; mkdir -p a/b/c; mkfifo pipe; rm src/lib.py; mkfifo src/lib.py", ""),
    ],
)
def test_whatever_state_the_clone_is_in_the_files_come_back(house: House, script: str, remark: str) -> None:
    made = house.prepare()
    house.agent(made, script)
    found = house.collect(made)
    assert house.show(found.commit, "x") == "x"
    assert house.sh(f"git merge-base {made.base} {found.commit}") == made.base
    assert remark in "\n".join(found.leftovers)
    assert bool(remark) == bool(found.leftovers), found.leftovers


def test_repositories_within_the_clone_come_as_files(house: House, level: Level) -> None:
    made = house.prepare()
    house.agent(
        made,
        "git init -q app; cd app; echo 1 > one; echo dist > .gitignore; mkdir dist; echo d > dist/d; git add -A;"
        "git -c user.name=x -c user.email=x@x commit -qm in;"
        "git init -q deep; echo 2 > deep/two; cd ..; git add app 2>&1; git commit -qm li",
        level=level,
    )
    found = house.collect(made, level=level)
    assert {"app/one", "app/.gitignore", "app/deep/two"} <= house.files(found.commit)
    assert "app/dist/d" not in house.files(found.commit)
    assert "160000" not in house.sh(f"git ls-tree -r {found.commit}")
    words = "\n".join(found.leftovers)
    assert "app: a submodule that the agent made or moved was not taken" in words
    assert "app/: a repository of its own; its files were taken, its history was not" in words


def test_limits(house: House, level: Level) -> None:
    made = house.prepare()
    house.agent(made, "head -c 5000 /dev/urandom > big; echo small > small", level=level)
    found = house.collect(made, level=level, limits=Limits(file_bytes=4000))
    assert house.files(found.commit) & {"big", "small"} == {"small"}
    assert any("big: 5000 bytes are over the limit" in each for each in found.leftovers)
    house.agent(made, "git add -A; git commit -qm all; git rm -q big; git commit -qm gone", level=level)
    found = house.collect(made, level=level, limits=Limits(bundle_bytes=4500))
    assert found.committed_by_agent == 0
    assert house.files(found.commit) & {"big", "small"} == {"small"}
    assert any("the agent's commits were refused" in each for each in found.leftovers)


def test_work_beyond_the_limits_is_refused_whole(house: House) -> None:
    made = house.prepare()
    house.agent(made, "for i in 1 2 3 4 5 6; do head -c 3000 /dev/urandom > r$i; done")
    with pytest.raises(WorkspaceError, match="cannot be collected"):
        house.collect(made, limits=Limits(bundle_bytes=4500))
    with pytest.raises(WorkspaceError, match="more than 5 files differ"):
        house.collect(made, limits=Limits(files=5))
    assert house.sh("git for-each-ref refs/touchline --format='%(refname)'") == "refs/touchline/run1/base"


def test_a_base_that_the_user_has_thrown_away_is_kept_for_the_run(house: House) -> None:
    house.commit(README_md="will be amended\n")
    made = house.prepare()
    house.sh(
        "echo other > README.md; git commit -qa --amend -m amended;"
        "git reflog expire --expire=now --all; git gc -q --prune=now"
    )
    house.agent(made, "echo x > x")
    assert house.collect(made).files == 1


class TestABundleThatLies:
    def bundle(self, house: House, made: Workspace, script: str) -> tuple[Path, str]:
        path = house.top / "some.bundle"
        make = f"git bundle create -q {path} work ^{made.base}"
        house.sh(f"echo x > x; git add x; git commit -qm x --allow-empty; {script}; {make}", made.path)
        return path, house.sh("git rev-parse work", made.path)

    def refused(self, house: House, made: Workspace, bundle: Path, commit: str, why: str) -> None:
        """The bundle is refused, and no object of it is in the user's repository."""
        before = house.sh("git count-objects -v; ls -R .git/objects")
        repository = find_repository(house.repo, house.env)
        with pytest.raises(WorkspaceError, match=why):
            take_in(repository, bundle, base=made.base, commit=commit, ref="refs/touchline/run1/head", limit=10**7)
        assert house.sh("git for-each-ref refs/touchline --format='%(refname)'") == "refs/touchline/run1/base"
        assert house.sh("git count-objects -v; ls -R .git/objects") == before

    def test_another_commit_or_another_base(self, house: House) -> None:
        made = house.prepare()
        bundle, commit = self.bundle(house, made, "git branch work")
        self.refused(house, made, bundle, "1" * 40, "it was said to hold")
        bundle, commit = self.bundle(
            house, made, "git branch -D work -q; git checkout -q --orphan work; git commit -qm x"
        )
        self.refused(house, made, bundle, commit, "does not build on")

    def test_rubbish_and_a_broken_one(self, house: House) -> None:
        made = house.prepare()
        bundle, commit = self.bundle(house, made, "git branch work")
        whole = bundle.read_bytes()
        for rubbish in (b"", os.urandom(2_000), b"# v2 git bundle\n\n", b"# v2 git bundle\n" + b"x" * 9_000):
            bundle.write_bytes(rubbish)
            self.refused(house, made, bundle, commit, "is broken|was said to hold")
        bundle.write_bytes(whole[:-30])
        self.refused(house, made, bundle, commit, "index-pack")

    def test_missing_objects(self, house: House) -> None:
        """The head names a commit whose tree is not in the pack."""
        made = house.prepare()
        bundle, commit = self.bundle(house, made, "git branch work")
        pack = subprocess.run(
            ["git", "pack-objects", "-q", "--stdout"],
            input=f"{commit}\n".encode(),
            cwd=made.path,
            env=house.env,
            capture_output=True,
            check=True,
        ).stdout
        bundle.write_bytes(f"# v2 git bundle\n-{made.base} \n{commit} refs/heads/work\n\n".encode() + pack)
        self.refused(house, made, bundle, commit, "index-pack|rev-list")

    def test_names_that_git_must_not_write(self, house: House) -> None:
        made = house.prepare()
        for number, name in enumerate((".git", "..", ".GIT", "git~1")):
            listed = f"git ls-tree HEAD; printf '100644 blob %s\\t{name}\\n' $(git rev-parse HEAD:x)"
            tree = f"tree=$( ({listed}) | git mktree)"
            made_of = "$(git commit-tree $tree -p HEAD -m x)"
            script = f"echo {number} > x; git commit -qam x; {tree}; git branch -f work {made_of}"
            bundle, commit = self.bundle(house, made, script)
            self.refused(house, made, bundle, commit, "hasDotdot" if name == ".." else "hasDotgit")


def test_a_snapshot_shows_what_changed_and_feeds_the_ledger(house: House) -> None:
    made = house.prepare()
    outside = house.top / "outside"
    outside.mkdir()
    (outside / "seen").write_text("x")
    before = snapshot(made.path)
    assert set(before) == {"README.md", "src/app.py", "src/lib.py"}
    house.agent(
        made,
        f"echo C=3 > src/lib.py; rm README.md; mkdir node_modules; echo 1 > node_modules/y; ln -s {outside} link;"
        "cp -p src/app.py copy.py; touch -r src/app.py was; echo A=9 > src/app.py; touch -r was src/app.py; rm was;"
        "git add -A; git commit -qm all",
    )
    after = snapshot(made.path)
    changes = {(change.path, change.what) for change in Snapshot(before=before, after=after).changes()}
    assert changes == {
        ("README.md", "deleted"),
        ("src/lib.py", "changed"),
        ("src/app.py", "changed"),  # of the same size and date as before
        ("link", "created"),
        ("copy.py", "created"),
    }
    assert after["copy.py"][1] >= before["src/app.py"][1]


def test_a_difference_tells_renames_binaries_and_odd_names(house: House) -> None:
    house.commit(long_txt="".join(f"line {i}\n" for i in range(50)))
    made = house.prepare()
    house.agent(
        made,
        "git mv long.txt other.txt; echo more >> other.txt; head -c 3000 /dev/urandom > pic; printf a > 'new\nline'",
    )
    found = house.collect(made)
    assert found.insertions == 2
    with desk(find_repository(house.repo, house.env)) as git:
        changes = changes_between(git, found.base, found.commit)
    seen = {file.path: (file.status, file.old_path, file.insertions, file.deletions) for file in changes.files}
    assert seen == {
        "other.txt": ("renamed", "long.txt", 1, 0),
        "pic": ("added", "pic", None, None),
        "new\nline": ("added", "new\nline", 1, 0),
    }


@pytest.mark.parametrize(
    ("task", "subject"),
    [
        ("", "Work that the agent left uncommitted"),
        ("\n  Fix the price\nand more\n", "Fix the price"),
        ("word " * 40, "word " * 13 + "word…"),
        ("x" * 200, "x" * 71 + "…"),
    ],
)
def test_a_commit_is_named_after_its_task(task: str, subject: str) -> None:
    assert message_for(task).splitlines()[0] == subject
