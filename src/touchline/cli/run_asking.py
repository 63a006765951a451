"""How is an agent's question put to the person? On a terminal, right here; otherwise it waits, for days if need be."""

from __future__ import annotations

import select
import sys
from typing import TYPE_CHECKING

from touchline.audit.visible import visible
from touchline.cli.progress_view import watched
from touchline.cli.terminal import say

if TYPE_CHECKING:
    from touchline.cli.run_post import Post
    from touchline.cli.run_signals import Signals
    from touchline.sessions.records import SessionRecord
    from touchline.store.database import Database

_LOOK_SECONDS = 0.3


def can_ask() -> bool:
    """Whether somebody can answer here."""
    return watched() and sys.stdin.isatty()


def answer_of(record: SessionRecord, post: Post, signals: Signals) -> str | None:
    """The answer; empty when somebody answered elsewhere, None when the person leaves it."""
    from touchline.sessions.records import question_of_session

    with post.database.reading() as connection:
        words = question_of_session(connection, record)
    say(f"\nThe agent asks:\n\n{_indented(words)}\n\nYour answer (Enter alone leaves it waiting):")
    print("> ", end="", file=sys.stderr, flush=True)
    while not signals.count:
        ready, _, _ = select.select([sys.stdin], [], [], _LOOK_SECONDS)
        if ready:
            line = sys.stdin.readline().strip()
            return line or None
        if not still_waits(post.database, record):
            say("\nIt was answered elsewhere.")
            return ""
    say("")
    return None


def still_waits(database: Database, record: SessionRecord) -> bool:
    """Whether a session waits for the answer that it waited for then. One that was given but not taken yet is there."""
    from touchline.sessions.records import session_record
    from touchline.store.statuses import status_of

    if record.status != "waiting" or record.question_id is None:
        return False
    with database.reading() as connection:
        now = session_record(connection, record.id)
        same = now.status == "waiting" and now.question_id == record.question_id
        return same and status_of(connection, "questions", record.question_id) == "open"


def _indented(words: str) -> str:
    return "\n".join(f"  {line}" for line in visible(words).splitlines())
