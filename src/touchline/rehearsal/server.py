"""Who plays the model for a real CLI? An HTTP server on the loopback that answers as the script says.

    with serving(load_script("script.yaml")) as server:
        server.url("first")     # http://127.0.0.1:PORT/s/first: the base URL for a CLI (`pointing`)
        server.report("first")

Every run is a name in the URL with counters of its own. It speaks Anthropic Messages, OpenAI Responses and chat
completions, and Gemini. Nothing of a request is kept but what `runs.Played` names.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from touchline.rehearsal.runs import Played, Report, Run
from touchline.rehearsal.turns import Script


class RehearsalServer:
    """A server that is running; `serving` makes it."""

    def __init__(self, script: Script | None, given: Mapping[str, str] | None = None, *, port: int = 0) -> None:
        from touchline.rehearsal.answering import Answering

        self._script = script
        self._given = dict(given or {})
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()
        self.closing = threading.Event()
        rehearsal = self

        class Handler(Answering):
            server_for = rehearsal

        self._http = _Http(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="rehearsal", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def url(self, run: str = "main", script: Script | None = None, **given: str) -> str:
        """The base URL of a run. With a script, or values such as `workspace`, the run begins anew with them."""
        if not re.fullmatch(r"[\w.-]+", run):
            raise ValueError(f"{run!r} cannot be a run's name: use letters, digits, _, . and -")
        if script is not None or given:
            with self._lock:
                chosen = script or self._script
                if chosen is None:
                    raise ValueError(f"the run {run!r} has no script")
                self._runs[run] = Run(run, chosen, {**self._given, **given})
        return f"http://127.0.0.1:{self.port}/s/{run}"

    def run(self, name: str) -> Run | None:
        """A run, begun when it is asked for the first time; None when there is no script for it."""
        with self._lock:
            if name not in self._runs and self._script is not None:
                self._runs[name] = Run(name, self._script, self._given)
            return self._runs.get(name)

    def runs(self) -> tuple[str, ...]:
        """The names of the runs that were asked for."""
        with self._lock:
            return tuple(self._runs)

    def report(self, run: str = "main") -> Report:
        return self._named(run).report()

    def played(self, run: str = "main") -> tuple[Played, ...]:
        """Every request of a run, oldest first."""
        return self._named(run).played

    def _named(self, name: str) -> Run:
        run = self.run(name)
        if run is None:
            raise ValueError(f"there is no run named {name!r}")
        return run

    def close(self) -> None:
        """Stop. Replies that are delayed or stalled are given up."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A CLI that is killed breaks its connections off: that is no error of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def serving(
    script: Script | None = None, *, given: Mapping[str, str] | None = None, port: int = 0
) -> Iterator[RehearsalServer]:
    """Serve a script on a free port of the loopback until the block ends.

    Without a script each run brings its own (`url`). `given` are values for `${workspace}` and its like.
    """
    server = RehearsalServer(script, given, port=port)
    try:
        yield server
    finally:
        server.close()
