"""What is left of a session whose Touchline was killed while a tool ran? Shared by the CLIs' test files."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agents.turning import alive as running
from tests.engine.zygote import Zygote
from tests.real.stage import level, staged
from tests.sessions.house import alive, place_of, story_of

from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.script import parse_script
from touchline.rehearsal.server import RehearsalServer
from touchline.sessions.records import session_record
from touchline.sessions.starting import start_session
from touchline.store.migrate import open_database

ID = "session_killed"
NAP = str(7_000_000 + os.getpid())
"""Seconds that a tool sleeps; no other run's has the same."""
SCRIPT = f"""
turns:
  - calls: [{{write: app.py, content: "def add(a, b):\\n    return a + b\\n"}}]
  - {{calls: [{{shell: "echo begun; sleep {NAP}"}}], until: interrupted from outside}}
  - calls: [{{shell: python3 -m unittest -q}}]
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""


def play(folder: str, cli: Cli, url: str) -> int:
    """In a process of its own: start the session if it is not there, and wait until it rests."""
    here = Path(folder)
    with staged(here, cli, url, None) as stage:
        # Two without a sandbox, whose end would take everything with it; two from their private home in it.
        confined = level() if cli in ("codex", "gemini") else "none"
        asked = stage.ask("", sandbox=confined, channel="file", destination=str(here / "result.json"))
        start_session(stage.engine, stage.database, asked, id=ID)
        stage.rest(ID)
    return 0


def lives(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waited(happened: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


class Killed:
    """For every CLI."""

    def test_killed_while_a_tool_runs_it_goes_on_by_the_clis_own_resume(
        self, server: RehearsalServer, tmp_path: Path, cli: Cli
    ) -> None:
        name = f"{cli}-killed"
        given: dict[str, Any] = {"folder": str(tmp_path), "cli": cli, "url": server.url(name, parse_script(SCRIPT))}
        log = tmp_path / "log"
        with Zygote(log) as zygote:
            pid = zygote.spawn("tests.real.killed.play", **given)
            waited(lambda: bool(running(NAP)) or zygote.poll(pid) is not None, 120)
            pids = {*alive(tmp_path), *running(NAP)}
            os.kill(pid, signal.SIGKILL)
            assert zygote.wait(pid) == -signal.SIGKILL, log.read_text()[-3000:]
            assert len(pids) >= 2, "the CLI and its tool"
            assert waited(lambda: not any(map(lives, pids)), 15), "no process is left without its supervisor"
            assert not alive(tmp_path)
            with open_database(place_of(tmp_path).url, purpose="test") as database:
                with database.reading() as connection:
                    torn = session_record(connection, ID)
                assert torn.status == "running"
                assert torn.cli_session_id
            before = len(server.played(name))
            assert zygote.run("tests.real.killed.play", **given) == 0, log.read_text()[-3000:]
        assert not alive(tmp_path)
        assert not running(NAP)
        with open_database(place_of(tmp_path).url, purpose="test") as database:
            story = story_of(database, ID)
        assert story.actions == ["deliver:completed"], story.told()
        assert (story.session.status, story.session.delivery) == ("delivered", "accepted")
        assert [status for _, status in story.parcels] == ["sent"]
        assert len(story.of("session.ended")) == 1
        assert (tmp_path / "result.json").exists()
        (interrupted,) = story.of("session.interrupted")
        assert interrupted["how"] == "resumed"
        assert story.turns[0].cli_session_id == torn.cli_session_id
        after = [each for each in server.played(name)[before:] if not each.aside]
        assert "interrupted from outside" in after[0].heard
        assert after[0].number > 0, "the model sees what was before, and does not begin again"
        evidence = story.session.result["evidence"]
        assert [path.rpartition("/")[2] for path in evidence["files"]] == ["app.py"], "what was torn off is evidence"
