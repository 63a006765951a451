"""How is a running session shown? One small region on a terminal, lines where nobody watches, JSON for programs.

All of it goes to standard error but the JSON: standard output is for the result.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from touchline.audit.figures import count, dollars, tokens
from touchline.audit.visible import one_line
from touchline.cli.event_output import as_dict
from touchline.cli.progress import Line, Tone, told
from touchline.cli.terminal import colours, say, text
from touchline.store.events import Event

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live
    from rich.table import Table

    from touchline.sessions.records import SessionRecord

STYLES: dict[Tone, str] = {"": "", "dim": "dim", "good": "green", "notice": "yellow", "bad": "red"}
_WORD = 9


class View(Protocol):
    """Shows one session while it runs."""

    def event(self, event: Event) -> None:
        """Something happened."""
        ...

    def look(self, record: SessionRecord) -> None:
        """How the session stands now; called several times a second."""
        ...

    def say(self, words: str) -> None:
        """A message for the person."""
        ...

    def close(self) -> None:
        """Nothing more is shown. May be called twice."""
        ...


def watched(env: Mapping[str, str] | None = None) -> bool:
    """Whether a person sits in front of a terminal that can be drawn on."""
    env = os.environ if env is None else env
    return sys.stderr.isatty() and not env.get("CI") and env.get("TERM") not in ("dumb", "unknown")


def view_for(*, as_json: bool) -> View:
    """The view that fits."""
    if as_json:
        return JsonView()
    return LiveView() if watched() else PlainView()


class JsonView:
    """Each event as one line of JSON on standard output."""

    def event(self, event: Event) -> None:
        print(json.dumps(as_dict(event), ensure_ascii=True), flush=True)

    def look(self, record: SessionRecord) -> None:
        pass

    def say(self, words: str) -> None:
        say(words)

    def close(self) -> None:
        pass


class PlainView:
    """Each line with the time since the beginning."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._workspace = ""

    def event(self, event: Event) -> None:
        line = told(event, workspace=self._workspace)
        if line is not None:
            say(f"{_clock_words(self._clock() - self._began)}  {line.word:<{_WORD}} {line.text}".rstrip())

    def look(self, record: SessionRecord) -> None:
        self._workspace = record.workspace

    def say(self, words: str) -> None:
        say(words)

    def close(self) -> None:
        pass


class LiveView:
    """What lasts scrolls by; what goes on now stands in two lines below it."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(
            stderr=True, color_system=colours(), highlight=False, markup=False, emoji=False
        )
        self._clock, self._began = clock, clock()
        self._now = "It is prepared."
        self._spent: Mapping[str, Any] = {}
        self._turn, self._unpaid = 0, 0
        self._stopping = False
        self._workspace = ""
        self._live: Live | None = Live(
            self, console=self._console, refresh_per_second=8, transient=True, redirect_stdout=False
        )
        self._live.start()

    def event(self, event: Event) -> None:
        given = event.payload
        match event.type:
            case "turn.started":
                self._turn, self._unpaid, self._now = given["number"], 0, "The agent thinks."
            case "agent.spent":
                self._unpaid += sum(given.get(each) or 0 for each in ("input", "output", "cache_read", "cache_write"))
            case "turn.ended":
                self._now = "What it says is held against what it did."
            case "session.stop_asked":
                self._stopping = True
            case "session.ended" | "session.stopped":
                self._now = "It is over."
            case _:
                pass
        line = told(event, workspace=self._workspace)
        if line is None:
            return
        if line.lasting:
            self._console.print(lasting(line))
        else:
            self._now = line.text

    def look(self, record: SessionRecord) -> None:
        self._workspace = record.workspace
        if record.spent != self._spent:
            self._spent, self._unpaid = record.spent, 0

    def say(self, words: str) -> None:
        self._console.print(text(words, "bold"))

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        yield text(one_line(f"› {self._now}", max(10, width - 1)), "cyan")
        yield text(one_line(self._figures(), max(10, width - 1)), "dim")

    def _figures(self) -> str:
        spent = int(self._spent.get("tokens", 0)) + self._unpaid
        parts = [
            _clock_words(self._clock() - self._began),
            f"turn {self._turn}" if self._turn else "",
            f"{tokens(spent)} tokens" if spent else "",
            _money(self._spent) if self._spent.get("usd") else "",
            "stopping" if self._stopping else "Ctrl-C stops it",
        ]
        return "  " + " · ".join(filter(None, parts))


def lasting(line: Line) -> Table:
    """A line that stays; what is long goes on below its own beginning."""
    from rich.table import Table

    style = STYLES[line.tone]
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(no_wrap=True, min_width=_WORD)
    row.add_column(overflow="fold")
    row.add_row(text(line.word, style if style == "dim" else f"bold {style}".strip()), text(line.text, _body(line)))
    return row


def print_trimmed(out: Console, what: RenderableType) -> None:
    """Where nobody watches, without the spaces that fill a line up to the table's width."""
    if out.is_terminal:
        out.print(what)
        return
    with out.capture() as taken:
        out.print(what)
    print("\n".join(line.rstrip() for line in taken.get().splitlines()))


def _body(line: Line) -> str:
    return "dim" if line.tone == "dim" else ""


def spent_words(spent: Mapping[str, Any]) -> str:
    """What it came to, in one line."""
    if not spent:
        return "nothing"
    parts = [
        count(int(spent.get("turns", 0)), "turn"),
        f"{tokens(int(spent.get('tokens', 0)))} tokens",
        "cost unknown" if spent.get("usd") is None else _money(spent),
        f"{_clock_words(float(spent.get('seconds', 0.0)))} of work",
    ]
    return ", ".join(parts)


def _money(spent: Mapping[str, Any]) -> str:
    return dollars(spent["usd"], estimated=bool(spent.get("estimated")))


def _clock_words(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
