"""A clone per task: complete, its own, and the user's checkout untouched, whatever kind of repository it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.agents.workspaces.repositories import House, house_in

from touchline.agents.workspaces.clone import Identity, prepare, remove
from touchline.errors import WorkspaceError

CLEAN = "git status --porcelain"


def stamps(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of a checkout with its number, time and content; git's own folder left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".git" not in path.relative_to(folder).parts:
            status = path.stat()
            found[str(path)] = (status.st_ino, status.st_mtime_ns, path.read_bytes())
    return found


def test_a_clone_is_at_the_users_commit_on_its_own_branch(house: House) -> None:
    head = house.sh("git rev-parse HEAD")
    house.sh("echo more >> README.md; echo new > untracked; git add src; echo B=2 >> src/lib.py; git add src/lib.py")
    before, index = stamps(house.repo), (house.repo / ".git/index").read_bytes()
    made = prepare(
        house.repo / "src",
        folder=house.top / "workspaces",
        name="run1",
        env=house.env,
        identity=Identity(name="Bot", email="bot@example.org"),
    )
    assert (stamps(house.repo), (house.repo / ".git/index").read_bytes()) == (before, index)
    assert (made.base, made.branch, made.inside) == (head, "touchline/run1", "src")
    assert made.path.name == house.repo.name
    assert {(each.path, each.how) for each in made.unsaved} == {
        ("README.md", "changed"),
        ("src/lib.py", "changed"),
        ("untracked", "untracked"),
    }
    assert (made.path / "README.md").read_text() == "hello\n"
    inside = made.path
    assert house.sh(CLEAN, inside) == ""
    assert house.sh("git symbolic-ref HEAD; git rev-parse HEAD", inside) == f"refs/heads/touchline/run1\n{head}"
    assert (
        house.sh("git remote; git tag; git config user.name; git config user.email", inside) == "Bot\nbot@example.org"
    )
    assert house.sh("git rev-parse refs/touchline/run1/base") == head


def test_a_clone_shares_no_file_and_holds_only_what_its_commit_reaches(house: House) -> None:
    secret = house.sh(
        "git checkout -qb other; echo key > secret; git add -A; git commit -qm s; git rev-parse HEAD:secret"
    )
    house.sh("git checkout -q main; echo stashed > README.md; git stash -q; git tag v1 other")
    made = house.prepare()
    for path in (made.path / ".git").rglob("*"):
        if path.is_file():
            assert path.stat().st_nlink == 1, path
    assert not (made.path / ".git/objects/info/alternates").exists()
    assert house.sh("git for-each-ref --format='%(refname)'", made.path) == "refs/heads/touchline/run1"
    assert house.sh(f"git cat-file -e {secret} 2>/dev/null && echo there || echo not", made.path) == "not"


def test_preparing_twice_gives_the_same_and_a_half_made_one_is_made_anew(house: House) -> None:
    half = house.top / "workspaces" / "run1.new"
    half.mkdir(parents=True)
    (half / "rubbish").write_text("of a killed process")
    made = house.prepare()
    (made.path / "work").write_text("of the agent")
    house.commit(README_md="the user goes on\n")
    assert house.prepare() == made
    assert (made.path / "work").exists()
    assert not half.exists()
    with pytest.raises(WorkspaceError, match="belongs to"):
        prepare(_other(house), folder=house.top / "workspaces", name="run1", env=house.env)
    (made.path / "locked").mkdir(mode=0o500)
    remove(made.folder)
    assert not made.folder.exists()


def _other(house: House) -> Path:
    house.sh("git init -q other; cd other; git commit -qm x --allow-empty", house.top)
    return house.top / "other"


def test_an_older_commit_can_be_the_base(house: House) -> None:
    first = house.sh("git rev-parse HEAD")
    house.commit(README_md="second\n")
    made = prepare(house.repo, folder=house.top / "w", name="old", base="HEAD~1", env=house.env)
    assert made.base == first
    assert (made.path / "README.md").read_text() == "hello\n"
    with pytest.raises(WorkspaceError, match="no commit 'nowhere'"):
        prepare(house.repo, folder=house.top / "w", name="new", base="nowhere", env=house.env)


def test_a_folder_without_a_repository_is_told_what_to_do(tmp_path: Path) -> None:
    house = house_in(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(WorkspaceError, match="not in a git repository") as caught:
        prepare(plain, folder=tmp_path / "w", name="x", env=house.env)
    assert "git init" in caught.value.hint
    with pytest.raises(WorkspaceError, match="no commit yet") as caught:
        house.prepare()
    assert "git commit" in caught.value.hint
    with pytest.raises(WorkspaceError, match="is not there"):
        prepare(tmp_path / "gone", folder=tmp_path / "w", name="x", env=house.env)
    with pytest.raises(WorkspaceError, match="cannot name a workspace"):
        house.prepare("../x")


def test_without_git_or_with_an_old_one_the_message_says_so(house: House, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    empty = {**house.env, "PATH": str(tools)}
    with pytest.raises(WorkspaceError, match="git is not installed"):
        prepare(house.repo, folder=tmp_path / "w", name="x", env=empty)
    (tools / "git").write_text("#!/bin/sh\necho git version 2.30.2\n")
    (tools / "git").chmod(0o755)
    with pytest.raises(WorkspaceError, match=r"needs git 2.38 or newer, and this is git version 2.30.2"):
        prepare(house.repo, folder=tmp_path / "w", name="x", env=empty)


@pytest.mark.parametrize("kind", ["shallow", "worktree", "bare", "detached", "sha256", "borrowing"])
def test_other_kinds_of_repositories(house: House, kind: str) -> None:
    house.commit(README_md="two\n")
    scripts = {
        "shallow": "git clone -q --depth 1 file://$PWD/project k",
        "worktree": "git -C project worktree add -q ../k -b side",
        "bare": "git clone -q --bare project k",
        "detached": "git clone -q project k; git -C k checkout -q --detach",
        "sha256": "git init -q --object-format=sha256 k; cp project/README.md k; cd k; git add -A; git commit -qm x",
        "borrowing": "git clone -q --shared project k",
    }
    house.sh(scripts[kind], house.top)
    made = prepare(house.top / "k", folder=house.top / "w", name="k1", env=house.env)
    assert (made.path / "README.md").read_text() == "two\n"
    house.agent(made, "echo three > README.md; git commit -qam one; echo four > new")
    found = house.collect(made)
    assert (found.committed_by_agent, found.uncommitted, found.files) == (1, 1, 2), found
    assert house.sh(f"git show {found.commit}:README.md", house.top / "k") == "three"


def test_submodules_are_left_out_and_said(house: House) -> None:
    house.sh("git init -q sub; cd sub; echo s > s; git add -A; git commit -qm s", house.top)
    house.sh("git -c protocol.file.allow=always submodule --quiet add ../sub parts/sub; git commit -qm sub")
    made = house.prepare()
    assert made.submodules == ("parts/sub",)
    assert os.listdir(made.path / "parts/sub") == []
    assert house.collect(made).files == 0
    house.agent(made, "echo x > parts/sub/x; echo y > y")
    found = house.collect(made)
    assert [file.path for file in found.changes.files] == ["y"]
    assert "parts/sub: files in the folder of a submodule were not taken" in found.leftovers


def test_contents_are_those_of_the_commit_whatever_the_attributes_say(house: House) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 5\n"
    house.sh("git config filter.lfs.smudge 'echo smudged'; git config filter.lfs.clean 'cat'")
    house.commit(
        _gitattributes="*.bin filter=lfs diff=lfs merge=lfs -text\n*.bat eol=crlf\n* ident\n",
        big_bin=pointer,
        run_bat="echo\n",
        id_txt="$Id$\n",
    )
    made = house.prepare()
    assert (made.path / "big.bin").read_text() == pointer
    assert (made.path / "run.bat").read_bytes() == b"echo\n"
    assert (made.path / "id.txt").read_text() == "$Id$\n"
    assert house.collect(made).files == 0


def test_what_the_user_ignores_elsewhere_is_ignored_here(house: House) -> None:
    config = Path(house.env["HOME"]) / ".config/git"
    config.mkdir(parents=True)
    (config / "ignore").write_text(".editor/\n")
    (house.repo / ".git/info/exclude").write_text("notes.txt\n")
    made = house.prepare()
    house.agent(made, "mkdir .editor; echo 1 > .editor/x; echo 2 > notes.txt; echo 3 > kept; rm .git/info/exclude")
    found = house.collect(made)
    assert [file.path for file in found.changes.files] == ["kept"]
    assert any(".editor/" in each and "notes.txt" in each for each in found.leftovers)


def test_an_old_history_that_git_would_refuse_from_a_stranger_can_be_cloned(house: House) -> None:
    """Histories of old repositories hold such commits; they are the user's."""
    house.sh(
        "printf 'tree %s\\nparent %s\\nauthor A <a@b> 1 +0000\\ncommitter A<a@b> 1 +0000\\n\\nold\\n' "
        "$(git rev-parse HEAD^{tree}) $(git rev-parse HEAD) > ../c; "
        "git reset -q --hard $(git hash-object -t commit -w --literally ../c)"
    )
    assert house.sh("git fsck 2>&1 | grep -c missingSpaceBeforeEmail") == "1"
    assert (house.prepare().path / "README.md").exists()


def test_a_partial_clone_is_refused_with_the_way_out(house: House) -> None:
    house.commit(README_md="two\n")
    house.sh("git config uploadpack.allowFilter true; git clone -q --filter=blob:none file://$PWD ../part")
    part = house.top / "part"
    with pytest.raises(WorkspaceError, match="fetch") as caught:
        prepare(part, folder=house.top / "w", name="x", env=house.env)
    assert "partial clone" in caught.value.hint
    house.sh("git config --unset remote.origin.partialclonefilter; git fetch -q --refetch", part)
    assert (prepare(part, folder=house.top / "w", name="x", env=house.env).path / "README.md").read_text() == "two\n"


@pytest.mark.skipif(shutil.which("setpriv") is None or os.getuid() != 0, reason="needs root and setpriv")
def test_a_repository_of_another_owner_works_when_the_users_git_trusts_it(house: House) -> None:
    house.sh("chown -R 12345 .")
    with pytest.raises(WorkspaceError, match="dubious ownership"):
        house.prepare()
    house.sh(f"git config --global --add safe.directory {house.repo}")
    assert (house.prepare().path / "README.md").exists()
