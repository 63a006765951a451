"""A PostgreSQL server that is restarted while an agent works ends no session."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, find_binaries
from tests.sessions.house import alive, opened

from touchline.sessions.starting import start_session
from touchline.store.place import Place

pytestmark = pytest.mark.timeout(240)

SCRIPT = """
turns:
  - calls:
      - {write: "${workspace}/app.py", content: "x = 1\\n"}
      - {shell: "until test -e ${workspace}/../back; do sleep 0.1; done"}
  - heard: interrupted
    calls: [{shell: python3 -m unittest -q}]
  - text: "app.py is written. The tests pass: 1 test, OK."
"""


def test_a_server_that_is_restarted_in_mid_turn_ends_no_session(tmp_path: Path) -> None:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed; scripts/test-tools installs it")
    # A server of its own: others would not like it to be restarted.
    with (
        tempfile.TemporaryDirectory(prefix="touchline-postgres-") as folder,
        PostgresServer(binaries, Path(folder)) as server,
        opened(tmp_path, Place(url=server.url(), origin="given")) as house,
    ):
        id = start_session(house.engine, house.database, house.ask(SCRIPT))
        story = house.until(id, lambda story: len(story.of("agent.called")) == 2)
        server.stop()
        while alive(tmp_path):  # the turn is ended when nobody can be asked whether it is still wanted
            time.sleep(0.05)
        (Path(story.session.workspace).parent / "back").touch()
        server.start()
        story = house.rest(id)
        assert story.actions == ["deliver:completed"], story.told()
        assert story.turns[0].beginnings == 2
        (torn,) = story.of("session.interrupted")
        assert torn["how"] == "resumed"
        # Each call is in the log once, also those that came while the server was away.
        assert len({called["call"] for called in story.of("agent.called")}) == len(story.of("agent.called")) == 3
