"""A person who stops a session that waits out a provider's fault does not wait with it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tests.sessions.house import FAST, opened

from touchline.sessions.starting import start_session
from touchline.sessions.stopping import stop_session


def test_stopped_in_a_back_off_it_does_not_wait_for_its_end(tmp_path: Path) -> None:
    with opened(tmp_path, limits=replace(FAST, retry_delays=(600.0, 600.0))) as house:
        id = start_session(house.engine, house.database, house.ask("turns: [{error: 529, times: always}]"))
        house.until(id, lambda s: len(s.turns) == 1 and s.turns[0].ended is not None)
        time.sleep(0.5)
        stop_session(house.engine, house.database, id)
        story = house.rest(id)
    assert (story.session.status, story.kinds) == ("stopped", ["first"]), story.told()
