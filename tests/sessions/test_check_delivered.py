"""What is delivered is what the check was run on: neither more, by what it wrote, nor less, by what git ignores."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.sessions.house import House, Story

from touchline.agents.workspaces.undelivered import bring_back, set_aside, undelivered

pytestmark = pytest.mark.timeout(120)

CHECK = "python3 -m unittest -q"
USES = (
    "import unittest\\nfrom app import add\\nclass M(unittest.TestCase):\\n"
    "  def test_it(self): self.assertEqual(add(1, 2), 3)\\n"
)
HIDES = f"""
turns:
  - calls:
      - {{write: "${{workspace}}/.gitignore", content: "__pycache__/\\nlocal_*.py\\n"}}
      - {{write: "${{workspace}}/local_math.py", content: "def plus(a, b):\\n    return a + b\\n"}}
      - {{write: "${{workspace}}/app.py", content: "from local_math import plus as add\\n"}}
      - {{write: "${{workspace}}/test_app.py", content: "{USES}"}}
      - {{shell: {CHECK}}}
  - text: "add() is implemented in app.py. The tests pass: 2 tests, OK."
"""
MENDS = f"""
  - heard: "ignored by git"
    calls:
      - {{write: "${{workspace}}/app.py", content: "def add(a, b):\\n    return a + b\\n"}}
      - {{shell: {CHECK}}}
  - text: "add() stands in app.py itself now. The tests pass: 2 tests, OK."
"""
WRITES = f"""
turns:
  - calls:
      - {{write: "${{workspace}}/app.py", content: "def add(a, b):\\n    return a + b\\n"}}
      - {{shell: {CHECK}}}
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""


def delivered(house: House, story: Story) -> list[str]:
    ref = f"refs/touchline/{story.session.id}/head"
    listed = ["git", "ls-tree", "-r", "--name-only", ref]
    return subprocess.run(listed, cwd=house.repo, capture_output=True, text=True, check=True).stdout.split()


def workspace_of(story: Story) -> list[str]:
    return sorted(os.listdir(story.session.workspace))


def test_a_check_that_needs_an_ignored_file_of_the_agents_does_not_pass(house: House) -> None:
    story = house.run(HIDES + MENDS, check=CHECK)
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
    assert "local_math.py, which is ignored by git and would not be delivered" in story.decisions[0].message
    assert "local_math.py" in workspace_of(story), "it lies where the agent left it"
    assert "local_math.py" not in delivered(house, story)
    head = f"refs/touchline/{story.session.id}/head"
    subprocess.run(["git", "worktree", "add", "-q", house.folder / "tree", head], cwd=house.repo, check=True)
    subprocess.run(CHECK.split(), cwd=house.folder / "tree", check=True, capture_output=True)


def test_an_ignored_file_that_the_check_does_not_need_is_no_fault(house: House) -> None:
    notes = '      - {write: "${workspace}/.gitignore", content: "__pycache__/\\ntmp/\\n.venv/\\n"}\n'
    notes += '      - {write: "${workspace}/tmp/notes.txt", content: "x"}\n'
    notes += '      - {write: "${workspace}/.venv/lib.txt", content: "installed"}\n'
    script = WRITES.replace("  - calls:\n", "  - calls:\n" + notes, 1)
    story = house.run(script, check=f"test ! -e tmp/notes.txt && test -e .venv/lib.txt && {CHECK}")
    assert story.actions == ["deliver:completed"], story.told()
    assert "tmp" in workspace_of(story)


def test_what_the_check_writes_is_not_delivered(house: House) -> None:
    story = house.run(WRITES, check=f"{CHECK} && echo '<x/>' > junit.xml && touch test.db")
    assert story.actions == ["deliver:completed"], story.told()
    assert "junit.xml" in workspace_of(story)
    assert delivered(house, story) == [".gitignore", "README.md", "app.py", "test_sample.py"]
    assert [each["path"] for each in story.session.result["changes"]["changed"]] == ["app.py"]


def test_nor_is_what_an_earlier_check_wrote_unless_the_agent_makes_it_its_own(house: House) -> None:
    more = WRITES.replace("turns:\n", "").replace("a + b", "b + a").replace("is implemented", "is mended")
    keeps = more.replace(
        "      - {shell", '      - {write: "${workspace}/kept.txt", content: "mine"}\n      - {shell', 1
    )
    check = "echo '<x/>' >> junit.xml; touch test.db kept.txt; test $(wc -l < junit.xml) -gt 2 && " + CHECK
    story = house.run(WRITES + more + keeps, check=check)
    assert story.actions == ["continue:completion_rejected"] * 2 + ["deliver:completed"], story.told()
    assert delivered(house, story) == [".gitignore", "README.md", "app.py", "kept.txt", "test_sample.py"]


def test_files_that_a_killed_check_left_aside_come_back(house: House) -> None:
    story = house.run(WRITES, check=CHECK)
    clone = house.folder / "workspaces" / story.session.id / "repo"
    (clone / "sub").mkdir()
    (clone / "sub" / "secret.txt").write_text("x")
    killed = set_aside(clone, ("sub/secret.txt", "sub/gone.txt"))
    killed.__enter__()
    assert not (clone / "sub" / "secret.txt").exists()
    (clone / "sub").rmdir()
    bring_back(clone)
    assert (clone / "sub" / "secret.txt").read_text() == "x"
    assert not (clone.parent / "aside").exists()
    killed.__exit__(None, None, None)


def test_no_link_is_followed_out_of_the_clone(house: House) -> None:
    story = house.run(WRITES, check=CHECK)
    clone = house.folder / "workspaces" / story.session.id / "repo"
    outside = house.folder / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine")
    (clone / "link").symlink_to(outside)
    (clone / "file").symlink_to(outside / "mine.txt")
    head = story.session.head_commit
    assert head is not None
    paths = ("link/mine.txt", "file", "../../../outside/mine.txt", "app.py", "/etc/hostname", "")
    env = {"PATH": os.environ["PATH"], "HOME": str(house.folder)}
    assert undelivered(clone, paths, repository=house.repo, commit=head, env=env) == ()
    with set_aside(clone, ("link/mine.txt", "../../../outside/mine.txt")):
        assert (outside / "mine.txt").read_text() == "mine"
    kept = clone.parent / "aside"
    kept.mkdir()
    (kept / "0").write_text("theirs")
    (kept / "list.json").write_text(json.dumps(["link/mine.txt"]))
    bring_back(clone)
    assert (outside / "mine.txt").read_text() == "mine"
