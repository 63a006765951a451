"""A process that was taken for dead, and wakes up, writes over nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.sessions.house import House

from touchline.agents.turns import Ran
from touchline.errors import SessionError
from touchline.sessions.records import turn_of_session
from touchline.sessions.turn_rows import end_turn
from touchline.store.tables import turns
from touchline.supervision.facts import Ended, Turn

PLAIN = "turns:\n  - text: The answer is 4.\n"
STATE = {"thrash": None, "reminded": None, "pending": ()}


@pytest.mark.timeout(90)
def test_a_turn_that_another_process_began_again_is_left_to_it(house: House, tmp_path: Path) -> None:
    story = house.run(PLAIN, "What is two and two?")
    with house.database.writing() as connection:
        ours = turn_of_session(connection, story.session.id, 1)
        assert ours is not None
        # Another process took the work over and has begun the turn once more.
        taken = {"beginnings": turns.c.beginnings + 1, "ended": None}
        connection.execute(sa.update(turns).where(turns.c.id == ours.id).values(taken))
    late = Ran(turn=Turn(cli="scripted", ended=Ended.INTERRUPTED), raw=tmp_path / "raw.jsonl")
    with house.database.writing() as connection, pytest.raises(SessionError, match="taken over by another process"):
        end_turn(connection, story.session.id, ours, late, torn=(), final_text="", state=STATE)
    with house.database.reading() as connection:
        after = turn_of_session(connection, story.session.id, 1)
    assert after is not None
    assert (after.ended, after.final_text) == (None, ours.final_text)
