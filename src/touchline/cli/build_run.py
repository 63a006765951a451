"""How does a door accompany a build? Starts or resumes it, shows it, passes a person's signals on, leaves with a code.

Nothing here decides about the work: the build's row says how it stands, whichever process runs it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from touchline.cli.build_output import build_json, print_end
from touchline.cli.build_settings import Given, changed
from touchline.cli.build_view import BuildView, view_for
from touchline.cli.exits import Exit
from touchline.cli.place import command, looked_at, purpose
from touchline.cli.run_post import Post, supervised
from touchline.cli.run_signals import Signals
from touchline.cli.sheet import print_json
from touchline.cli.terminal import say

if TYPE_CHECKING:
    from touchline.roles.build.earlier import Finished
    from touchline.roles.build.overview import Overview
    from touchline.roles.build.settings import BuildSettings
    from touchline.roles.specification.keeping import SpecRow
    from touchline.store.place import Place

Begin = Callable[[Post], str]
"""Starts or finds the build to be accompanied; its id."""
_STOP_SECONDS = 90.0
_JOB_SECONDS = 20.0
_MANY = 500


def start_here(
    place: Place,
    spec: str,
    repository: Path,
    settings: BuildSettings,
    *,
    finished: Finished = "",
    as_json: bool,
    wait: bool,
) -> int:
    """Start a build, and stay with it."""
    from touchline.roles.build.controlling import start_build
    from touchline.roles.specification.keeping import find_spec, require_sound

    def begin(post: Post) -> str:
        with post.database.reading() as connection:
            row = find_spec(connection, spec)
        if not spec:
            _require_its_own(row, repository)
        require_sound(row)  # files may have been edited since they were approved
        return start_build(post.engine, post.database, row, repository=repository, settings=settings, finished=finished)

    looked_at(place).close()
    return accompany(place, begin, as_json=as_json) if wait else _hand_over(place, begin, as_json=as_json)


def _require_its_own(spec: SpecRow, repository: Path) -> None:
    """The newest specification of a database that several repositories share may be another's: then it is named."""
    from touchline.errors import InputError
    from touchline.roles.specification.keeping import read_files

    name = read_files(spec)[0].repository
    if name and name != repository.name:
        raise InputError(
            f"The newest specification, {spec.id}, is for the repository {name!r}, and this is {repository.name!r}.",
            hint=f"Go there, or name it all the same: {command(f'build start {spec.id}')}",
        )


def resume_here(place: Place, build: str, given: Given, *, retry: bool, as_json: bool, wait: bool) -> int:
    """Go on with a build, and stay with it."""
    from touchline.roles.build.controlling import resume_build
    from touchline.roles.build.rows import build_row

    def begin(post: Post) -> str:
        with post.database.reading() as connection:
            row = build_row(connection, build)
        settings = changed(row.settings, given, Path(row.repository)) if given.values() else None
        return resume_build(post.engine, post.database, row.id, retry=retry, settings=settings)

    looked_at(place).close()
    return accompany(place, begin, as_json=as_json) if wait else _hand_over(place, begin, as_json=as_json)


def follow_here(place: Place, build: str, *, as_json: bool) -> int:
    """Stay with a build. One that stopped for answers which are there now goes on."""
    from touchline.roles.build.controlling import go_on_answered

    looked_at(place).close()
    return accompany(place, lambda post: go_on_answered(post.engine, post.database, build), as_json=as_json)


def tell(place: Place, build: str, wanted: str, *, as_json: bool) -> int:
    """Say pause or stop. A stop is seen through; a pause may take as long as what runs."""
    from touchline.roles.build.controlling import want

    looked_at(place).close()
    with Post(place, purpose=purpose(), drive=False) as post:
        before = _overview(post, build).build
        if not before.ended:
            want(post.database, before.id, wanted)
        there = supervised(place) or place.path is None
        until = time.monotonic() + (_STOP_SECONDS if wanted == "stop" and there else 0.0)
        while not (now := _overview(post, before.id)).build.ended and time.monotonic() < until:
            time.sleep(0.1)
    if as_json:
        print_json("touchline.build/1", build_json(now))
    elif before.ended:
        say(f"It had ended before: it is {before.status}.")
    elif now.build.ended:
        say(f"It is {now.build.status}. Go on with: {command(f'build resume {before.id}')}")
    elif not there:
        say(f"Nothing runs it now; it will {wanted} as soon as something does.")
    elif wanted == "pause":
        say(f"No further task is started; those that run come to their end. See: {command('build status')}")
    else:
        say(f"It was told to stop {_STOP_SECONDS:.0f} s ago and is still {now.build.status}.")
        return Exit.FOUND
    return Exit.DONE


def accompany(place: Place, begin: Begin, *, as_json: bool = False, view: BuildView | None = None) -> int:
    """Stay with a build until it ends, and show how it ended; the exit code. May end the process."""
    from touchline.store.events import last_seq

    with Signals() as signals, Post(place, purpose=purpose()) as post:
        if signals.count:
            return signals.code
        after = last_seq(post.database)
        found = _Accompanied(post, begin(post), view or view_for(as_json=as_json), signals, after=after)
        try:
            seen = found.to_its_end()
        finally:
            found.view.close()
        if as_json:
            print_json_line(seen)
        else:
            print_end(seen)
        code = signals.code if signals.count else exit_of(seen)
        if not seen.build.ended or post.at_work():
            post.leave(code)
        return code


def exit_of(seen: Overview) -> int:
    """What the build's end means for a shell. One that nothing has verified as a whole is no success."""
    if seen.build.status == "complete" and seen.build.reason != "unverified":
        return Exit.DONE
    if not seen.build.ended or seen.build.reason == "escalated":
        return Exit.WAITING
    return Exit.FOUND


def print_json_line(seen: Overview) -> None:
    import json

    print(json.dumps({"schema": "touchline.build/1", **build_json(seen)}), flush=True)


class _Accompanied:
    """One build and the person in front of it."""

    def __init__(self, post: Post, id: str, view: BuildView, signals: Signals, *, after: int) -> None:
        self._post, self._id, self.view, self._signals = post, id, view, signals
        self._after, self._obeyed = after, 0

    def to_its_end(self) -> Overview:
        """Until it has ended, or only a person could let it go on and none sits here."""
        from touchline.store.wake import Wake

        if not self._post.drives:
            self.view.say("Another process runs the work of this database; the build runs there.")
        while True:
            with Wake(self._post.database) as wake:
                while True:
                    mark = wake.mark()
                    self._show_news()
                    seen = _overview(self._post, self._id)
                    self.view.look(seen)
                    if seen.build.ended:
                        self._let_jobs_end(seen)
                        self._show_news()
                        return _overview(self._post, self._id)
                    if seen.only_waits_for_people and not self.view.attended:
                        return seen
                    if self._obey():
                        return seen
                    if self._post.look():
                        self.view.say("The process that ran it has ended; this one goes on with it.")
                        break  # the database was opened anew
                    wake.wait(mark, stop=lambda: self._signals.count > self._obeyed)

    def _obey(self) -> bool:
        """Pass signals on; True when this process is to leave the build alone."""
        from touchline.roles.build.controlling import want

        if self._signals.count == self._obeyed:
            return False
        self._obeyed = self._signals.count
        if not self._post.drives:
            self.view.say(f"Left; the build goes on elsewhere. See: {command('build status')}")
            return True
        if self._signals.number == signal.SIGTERM or self._obeyed > 1:
            want(self._post.database, self._id, "stop")
            self.view.say("Stopping it; what the agents did is kept. Ctrl-C again leaves at once.")
        else:
            want(self._post.database, self._id, "pause")
            self.view.say("Pausing: no further task is started. Ctrl-C again stops those that run, too.")
        return False

    def _show_news(self) -> None:
        from touchline.store.event_search import Wanted, search

        while True:
            found = search(self._post.database, Wanted(), after=self._after, limit=_MANY)
            for event in found:
                self._after = event.seq
                self.view.event(event)
            if len(found) < _MANY:
                return

    def _let_jobs_end(self, seen: Overview) -> None:
        """Rows are written before the workflows' last steps are; ending the engine in between would repeat those."""
        if not self._post.drives:
            return
        until = time.monotonic() + _JOB_SECONDS
        jobs = [seen.build.job, *(task.row.job for task in seen.tasks)]
        while time.monotonic() < until and self._signals.count < 3:
            found = [self._post.engine.status(job) for job in jobs]
            if all(job is None or job.state.ended for job in found):
                return
            time.sleep(0.05)


def _hand_over(place: Place, begin: Begin, *, as_json: bool) -> int:
    with Post(place, purpose=purpose(), drive=False) as post:
        id = begin(post)
        seen = _overview(post, id)
    if as_json:
        print_json("touchline.build/1", build_json(seen))
    else:
        print(id)
    if supervised(place):
        say(f"Another process runs it. See: {command(f'build follow {id}')}")
    elif place.path is None:
        say(f"A worker of this database runs it, when there is one. See: {command(f'build follow {id}')}")
    else:
        follow = command(f"build follow {id}")
        say(f"Nothing runs it yet: start `{command('worker')}`, or `{follow}`, which runs it, too.")
    return Exit.DONE


def _overview(post: Post, build: str) -> Overview:
    from touchline.roles.build.overview import overview_of

    with post.database.reading() as connection:
        return overview_of(connection, build)
