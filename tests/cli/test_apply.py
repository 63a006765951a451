"""`touchline apply`, as a person runs it: shows, asks, applies; killed at any point, the next one puts it right."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.workspaces.repositories import House, house_in
from tests.agents.workspaces.test_applying import work
from tests.agents.workspaces.test_clone import stamps
from tests.cli.command import environment, made, said, touchline

from touchline.sessions.asked import Asked
from touchline.store.fault_points import FAULT_POINTS, VARIABLE
from touchline.store.statuses import create_once, move
from touchline.store.tables import sessions

POINTS = [name for name in FAULT_POINTS if name.startswith("apply.")]


class Scene:
    """A user with uncommitted changes, and a run whose work was collected."""

    def __init__(self, top: Path, script: str = "") -> None:
        self.house: House = house_in(top)
        self.house.commit(README_md="hello\n", old_txt="old\n", dirty_txt="1\n", src__app_py="1\n")
        script = script or (
            "echo more >> README.md; rm old.txt; echo n > new.txt; echo 2 > src/app.py; mkdir -p .github/workflows;"
            "echo on: push > .github/workflows/ci.yml"
        )
        self.commit, self.base = work(self.house, script)
        self.house.sh("echo 'not committed' > dirty.txt; echo mine > mine.txt")
        self.kept = {name: (self.house.repo / name).read_bytes() for name in ("dirty.txt", "mine.txt")}
        self.url = f"sqlite:///{top / 'app.db'}"
        with made(self.url) as database, database.writing() as connection:
            asked = Asked(task="Improve it", repository=str(self.house.repo))
            create_once(
                connection,
                "sessions",
                unique="id",
                id="session_1234",
                agent="scripted",
                task_text=asked.task,
                repository=asked.repository,
                base_commit=self.base,
                head_commit=self.commit,
                asked=asked.to_json(),
            )
            move(connection, "sessions", "session_1234", "running", reason="started")
            move(connection, "sessions", "session_1234", "delivered", reason="completed", delivery="accepted")

    def apply(self, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        return touchline("apply", "session_1", "--database", self.url, *options, HOME=self.house.env["HOME"], **env)

    def state(self) -> tuple[str, dict[str, bytes]]:
        """Branch, index and files."""
        words = self.house.sh("git rev-parse HEAD; git status --porcelain -uall; git ls-files -s")
        return words, {path: content for path, (_, _, content) in stamps(self.house.repo).items()}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_shows_applies_and_says_so_the_second_time(scene: Scene) -> None:
    before = scene.state()
    seen = scene.apply()
    assert (seen.returncode, scene.state()) == (2, before)
    assert "Nobody is there to be asked" in seen.stderr
    for words in (
        "Improve it",
        "5 files changed",
        "README.md",
        "! .github/workflows/ci.yml",
        "runs on your build service",
    ):
        assert words in seen.stdout
    dry = scene.apply("--dry-run", "--patch")
    assert (dry.returncode, scene.state()) == (0, before)
    assert "+more" in dry.stdout
    done = scene.apply("--yes")
    assert done.returncode == 0, done.stderr
    assert "Applied to main" in done.stdout
    assert scene.house.sh("git rev-parse HEAD; cat new.txt; git status --porcelain") == (
        f"{scene.commit}\nn\n M dirty.txt\n?? mine.txt"
    )
    again = scene.apply("--yes")
    assert again.returncode == 0
    assert "in your branch already" in again.stderr


def test_json(scene: Scene) -> None:
    options = ("apply", "session_1234", "--database", scene.url)
    home = scene.house.env["HOME"]
    dry = said(*options, "--dry-run", HOME=home)
    assert dry["schema"] == "touchline.apply/1"
    assert (dry["how"], dry["applied"], dry["branch"], dry["after"]) == ("fast-forward", False, "refs/heads/main", None)
    assert {
        "path": ".github/workflows/ci.yml",
        "kind": "ci",
        "why": "it runs on your build service, with its secrets",
    } in (dry["risks"])
    assert {file["path"]: file["status"] for file in dry["files"]}["old.txt"] == "deleted"
    refused = touchline(*options, "--json", HOME=home)
    assert (refused.returncode, refused.stdout) == (2, "")
    done = said(*options, "--yes", HOME=home)
    assert (done["applied"], done["before"], done["after"]) == (True, scene.base, scene.commit)


def test_work_that_was_not_accepted_is_not_taken_over_by_accident(scene: Scene) -> None:
    with made(scene.url) as database, database.writing() as connection:
        lacking = {"missing": ["a pass of `make test`"]}
        values = {"delivery": "unresolved", "detail": "Sent back three times.", "result": lacking}
        connection.execute(sessions.update().values(values))
    assert scene.apply("--dry-run").stdout.splitlines()[-2:] == [
        "This work was not accepted: Sent back three times.",
        "  ! a pass of `make test`",
    ]
    told = said("apply", "session_1", "--database", scene.url, "--dry-run", HOME=scene.house.env["HOME"])
    assert (told["accepted"], told["why"], told["missing"]) == (False, "Sent back three times.", lacking["missing"])
    assert b"although it was not accepted? [y/N]" in asked(scene, "\n", 1)


def test_a_branch_of_its_own_conflicts_and_files_in_the_way(scene: Scene) -> None:
    before = scene.state()
    done = scene.apply("--yes", "--branch", "try-it")
    assert (done.returncode, scene.state()) == (0, before), done.stderr
    assert scene.house.sh("git rev-parse try-it") == scene.commit
    scene.house.sh("echo mine >> src/app.py")
    inway = scene.apply("--yes")
    assert inway.returncode == 1
    assert "src/app.py (changed)" in inway.stderr
    scene.house.sh("git commit -qam mine")
    conflict = scene.apply("--yes")
    assert conflict.returncode == 1
    assert "  src/app.py" in conflict.stderr
    assert "--branch NAME" in conflict.stderr
    assert scene.house.sh("git log -1 --format=%s") == "mine"


def test_unknown_runs_and_runs_without_work(scene: Scene) -> None:
    missing = touchline("apply", "nothing", "--database", scene.url)
    assert missing.returncode == 2
    assert "There is no session" in missing.stderr
    with made(scene.url) as database, database.writing() as connection:
        asked = Asked(task="x", repository=str(scene.house.repo))
        create_once(connection, "sessions", unique="id", id="new", agent="x", task_text="x", asked=asked.to_json())
    early = touchline("apply", "new", "--database", scene.url)
    assert early.returncode == 2
    assert "has brought no work yet" in early.stderr


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_asks_on_a_terminal_and_takes_no_for_an_answer(scene: Scene, answer: str, code: int) -> None:
    """Without an answer marked parts are not accepted."""
    assert b"Apply to main, with 1 marked files?" in asked(scene, answer, code)
    assert (scene.house.sh("git rev-parse HEAD") == scene.commit) == (code == 0)


def asked(scene: Scene, answer: str, code: int) -> bytes:
    """The question that is put on a terminal, and answered."""
    outside, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "touchline", "apply", "session_1", "--database", scene.url],
        stdin=inside,
        stdout=subprocess.DEVNULL,
        stderr=inside,
        env=environment(HOME=scene.house.env["HOME"], TERM="dumb"),
    )
    os.close(inside)
    heard = b""
    while b"]:" not in heard:
        heard += os.read(outside, 1024)
    os.write(outside, answer.encode())
    assert process.wait(60) == code
    os.close(outside)
    return heard


@pytest.mark.parametrize("point", [*POINTS, "apply.written:3", "apply.written:5"])
def test_killed_at_any_point_the_next_one_puts_it_right(tmp_path: Path, point: str) -> None:
    scene = Scene(tmp_path)
    before = scene.state()
    killed = scene.apply("--yes", **{VARIABLE: point})
    assert killed.returncode == -9, killed.stderr
    for name, content in scene.kept.items():
        assert (scene.house.repo / name).read_bytes() == content
    head = scene.house.sh("git rev-parse HEAD")
    moved = point.partition(":")[0] in ("apply.committed", "apply.written", "apply.indexed", "apply.done")
    assert head == (scene.commit if moved else scene.base)
    if point in ("apply.computed", "apply.staged", "apply.journaled"):
        assert scene.state() == before, "nothing is changed before the index is locked"
    done = scene.apply("--yes")
    assert done.returncode == 0, done.stderr
    expected = {
        "apply.journaled": "before it changed anything",
        "apply.locked": "before it changed anything",
        "apply.committed": "is now finished",
        "apply.written": "is now finished",
        "apply.indexed": "is now finished",
    }.get(point.partition(":")[0], "")
    assert expected in done.stderr
    assert scene.house.sh(
        "git rev-parse HEAD; git status --porcelain; git diff --stat HEAD -- README.md src new.txt"
    ) == (f"{scene.commit}\n M dirty.txt\n?? mine.txt")
    assert not (scene.house.repo / "old.txt").exists()
    for name, content in scene.kept.items():
        assert (scene.house.repo / name).read_bytes() == content
    assert sorted(os.listdir(scene.house.repo / ".git/touchline")) == ["lock"]
    assert not (scene.house.repo / ".git/index.lock").exists()
    assert scene.house.sh("git fsck --strict 2>&1 | grep -v ^dangling || true") == ""


def test_what_the_user_did_after_the_kill_is_not_undone(scene: Scene) -> None:
    killed = scene.apply("--yes", **{VARIABLE: "apply.written:2"})
    assert killed.returncode == -9
    (scene.house.repo / "src/app.py").write_text("mine, after the kill\n")
    dry = scene.apply("--dry-run")
    assert "was interrupted here" in dry.stderr
    done = scene.apply("--yes")
    assert done.returncode == 0
    assert "src/app.py (changed by you)" in done.stderr
    assert (scene.house.repo / "src/app.py").read_text() == "mine, after the kill\n"
    assert "M src/app.py" in scene.house.sh("git status --porcelain")


def test_a_branch_that_was_reset_after_the_kill_stays_where_it_is(scene: Scene) -> None:
    assert scene.apply("--yes", **{VARIABLE: "apply.committed"}).returncode == -9
    scene.house.sh("rm .git/index.lock; git update-ref refs/heads/main HEAD~1; git commit -qm other --allow-empty")
    other = scene.house.sh("git rev-parse HEAD")
    done = scene.apply("--dry-run")
    done = scene.apply("--yes", "--branch", "work")
    assert done.returncode == 0, done.stderr
    assert "your branch has moved since" in done.stderr
    assert scene.house.sh("git rev-parse HEAD") == other
