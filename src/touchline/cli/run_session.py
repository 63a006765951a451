"""How does a door accompany a session? Starts or resumes it, shows it, asks the person, and leaves with a code.

Nothing here decides about the work: the session's row says how it stands, whichever process runs it.
"""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from touchline.audit.figures import count
from touchline.cli.exits import Exit
from touchline.cli.place import command, purpose
from touchline.cli.progress_view import View, view_for
from touchline.cli.result import Result, result_of, short
from touchline.cli.result_output import print_result, print_result_line
from touchline.cli.run_asking import answer_of, can_ask, still_waits
from touchline.cli.run_post import Post, supervised
from touchline.cli.run_signals import Signals
from touchline.cli.sheet import print_json
from touchline.cli.terminal import say

if TYPE_CHECKING:
    from touchline.sessions.asked import Asked
    from touchline.sessions.records import SessionRecord
    from touchline.store.place import Place

Begin = Callable[[Post], str]
"""Starts or finds the session to be accompanied; its id."""
Show = Callable[[Post, Result], None]
"""Shows a result."""
_JOB_SECONDS = 20.0
"""How long the last step of a session's workflow may take after its row says that it rests."""
_MANY = 500


def run_here(place: Place, asked: Asked, *, as_json: bool) -> int:
    """Start a session and stay with it until it rests."""
    from touchline.sessions.starting import start_session

    return accompany(place, lambda post: start_session(post.engine, post.database, asked), as_json=as_json)


def hand_over(place: Place, asked: Asked, *, as_json: bool) -> int:
    """Start a session for whoever runs this database, and say whether somebody does."""
    from touchline.sessions.starting import start_session

    with Post(place, purpose=purpose(), drive=False) as post:
        id = start_session(post.engine, post.database, asked)
    name, there = short(id), supervised(place)
    if as_json:
        print_json("touchline.started/1", {"session": id, "status": "starting", "runs": there or None})
    else:
        print(id)
    if there:
        say(f"Another process runs it. See: {command(f'sessions follow {name}')}")
    elif place.path is None:
        say(f"A worker of this database runs it, when there is one. See: {command(f'sessions follow {name}')}")
    else:
        follow = command(f"sessions follow {name}")
        say(f"Nothing runs it yet: start `{command('worker')}`, or `{follow}`, which runs it, too.")
    return Exit.DONE


def accompany(
    place: Place, begin: Begin, *, as_json: bool = False, view: View | None = None, show: Show | None = None
) -> int:
    """Stay with a session until it rests, and show its result; the exit code. May end the process."""
    with Signals() as signals, Post(place, purpose=purpose()) as post:
        if signals.count:
            return signals.code
        after = _last(post)
        id = begin(post)
        shown = _Accompanied(post, id, view or view_for(as_json=as_json), signals, after=after)
        record = shown.to_its_rest(ask=not as_json and can_ask())
        result = result_of(post.database, record)
        (show or (_print_line if as_json else _print))(post, result)
        code = signals.code if record.status == "stopped" and signals.count else int(result.exit)
        _stay_for_others(post, id, signals, code)
        return code


def _print(_post: Post, result: Result) -> None:
    print_result(result)


def _print_line(_post: Post, result: Result) -> None:
    print_result_line(result)


class _Accompanied:
    """One session and the person in front of it."""

    def __init__(self, post: Post, id: str, view: View, signals: Signals, *, after: int) -> None:
        self._post, self._id, self._view, self._signals = post, id, view, signals
        self._after = after
        self._stop_told = False

    def to_its_rest(self, *, ask: bool) -> SessionRecord:
        """Until it has ended, or waits for an answer that nobody here gives."""
        from touchline.sessions.stopping import resume_session

        try:
            while True:
                record = self._rest()
                if record.status != "waiting" or not ask or self._signals.count:
                    return record
                self._view.close()
                words = answer_of(record, self._post, self._signals)
                if words is None:
                    return record
                if words:
                    resume_session(self._post.engine, self._post.database, self._id, words, by=who())
                self._view = view_for(as_json=False)
        finally:
            self._view.close()

    def _rest(self) -> SessionRecord:
        from touchline.store.wake import Wake

        told = self._post.drives
        if not told:
            self._view.say("Another process runs the work of this database; the session runs there.")
        while True:
            with Wake(self._post.database) as wake:
                while True:
                    mark = wake.mark()
                    self._show_news()
                    record = self._record()
                    if record.ended or still_waits(self._post.database, record):
                        self._let_its_job_end(record)
                        self._show_news()
                        return self._record()
                    self._obey()
                    if self._post.look():
                        self._view.say("The process that ran it has ended; this one goes on with it.")
                        break  # the database was opened anew
                    self._view.look(record)
                    wake.wait(mark, stop=lambda: self._signals.count > 0 and not self._stop_told)

    def _obey(self) -> None:
        from touchline.sessions.stopping import stop_session

        if not self._signals.count:
            return
        if not self._stop_told:
            self._stop_told = True
            stop_session(self._post.engine, self._post.database, self._id, by=who())
            self._view.say("Stopping it kindly; nothing is lost. Ctrl-C again ends it at once.")
        if self._signals.count > 1:
            self._view.close()
            name = short(self._id)
            say(f"Ended at once. What the agent did is kept. Go on with: {command(f'sessions resume {name}')}")
            self._post.leave(self._signals.code)

    def _show_news(self) -> None:
        from touchline.store.event_search import Wanted, search

        while True:
            found = search(self._post.database, Wanted(session=self._id), after=self._after, limit=_MANY)
            for event in found:
                self._after = event.seq
                self._view.event(event)
            if len(found) < _MANY:
                return

    def _record(self) -> SessionRecord:
        from touchline.sessions.records import session_record

        with self._post.database.reading() as connection:
            return session_record(connection, self._id)

    def _let_its_job_end(self, record: SessionRecord) -> None:
        """The row is written before the workflow's last step is; ending the engine in between would repeat that."""
        from touchline.sessions.stopping import parked_job

        if not self._post.drives:
            return
        answering = record.state.answering
        job = parked_job(answering) if answering else record.job
        until = time.monotonic() + _JOB_SECONDS
        while time.monotonic() < until and self._signals.count < 2:
            found = self._post.engine.status(job)
            if found is None or found.state.ended:
                return
            time.sleep(0.02)


def _stay_for_others(post: Post, id: str, signals: Signals, code: int) -> None:
    """Sessions of other commands may run in this process: they are not torn off without a word."""
    before, told = signals.count, 0
    while others := post.at_work(but=id):
        if signals.count > before:
            say("Handed over: the next process that runs this database goes on with them.")
            post.leave(code)
        if len(others) != told:
            told = len(others)
            verb = "runs" if told == 1 else "run"
            say(f"{count(told, 'other session')} of this database {verb} in this process. Ctrl-C hands over.")
        time.sleep(0.2)


def _last(post: Post) -> int:
    from touchline.store.events import last_seq

    return last_seq(post.database)


def who() -> str:
    """The person, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"
