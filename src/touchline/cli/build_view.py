"""How is a running build shown? A small table on a terminal, lines where nobody watches, JSON for programs.

All of it goes to standard error but the JSON: standard output is for the result.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from touchline.audit.figures import count, dollars, plain, tokens
from touchline.audit.visible import one_line
from touchline.cli.event_output import as_dict
from touchline.cli.place import command
from touchline.cli.progress import Line, told
from touchline.cli.progress_view import lasting, watched
from touchline.cli.terminal import colours, say, text
from touchline.store.events import Event

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.table import Table

    from touchline.roles.build.overview import Overview, TaskOverview

_WIDE = 400
TONES = {"complete": "green", "failed": "red", "blocked": "yellow", "skipped": "dim", "in_progress": "cyan"}


class BuildView(Protocol):
    """Shows one build while it runs."""

    attended: bool
    """Whether somebody watches who may answer questions elsewhere."""

    def event(self, event: Event) -> None:
        """Something happened, in this build or beside it."""
        ...

    def look(self, seen: Overview) -> None:
        """How the build stands now; called several times a second."""
        ...

    def say(self, words: str) -> None: ...

    def close(self) -> None:
        """Nothing more is shown. May be called twice."""
        ...


def view_for(*, as_json: bool) -> BuildView:
    """The view that fits."""
    if as_json:
        return JsonBuildView()
    return LiveBuildView() if watched() and sys.stdin.isatty() else PlainBuildView()


class Mine:
    """Which events are this build's, and what its tasks are called."""

    def __init__(self) -> None:
        self.build = ""
        self.names: dict[str, str] = {}
        self._early: list[Event] = []

    def learn(self, seen: Overview) -> list[Event]:
        """Take the names; the events that came before they were known."""
        self.build = seen.build.id
        self.names = {each.row.id: each.row.task.id for each in seen.tasks}
        early, self._early = self._early, []
        return early

    def hold(self, event: Event) -> bool:
        if self.build:
            return False
        self._early.append(event)
        return True

    def has(self, event: Event) -> bool:
        return event.ids.build == self.build or self.task(event) in self.names

    def task(self, event: Event) -> str:
        """The row of the task that it is about; a task's sessions are named after it."""
        return event.ids.task or (event.ids.session or "").rsplit("-", 2)[0]

    def name(self, event: Event) -> str:
        return self.names.get(self.task(event), "build")


class JsonBuildView:
    """Each event of the build as one line of JSON on standard output."""

    attended = False

    def __init__(self) -> None:
        self._mine = Mine()

    def event(self, event: Event) -> None:
        if not self._mine.hold(event) and self._mine.has(event):
            print(json.dumps(as_dict(event), ensure_ascii=True), flush=True)

    def look(self, seen: Overview) -> None:
        for event in self._mine.learn(seen):
            self.event(event)

    def say(self, words: str) -> None:
        say(words)

    def close(self) -> None:
        pass


class PlainBuildView:
    """Each line with the time since the beginning and its task."""

    attended = False

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._mine = Mine()

    def event(self, event: Event) -> None:
        if self._mine.hold(event) or not self._mine.has(event):
            return
        line = line_of(event)
        if line is not None and (line.lasting or event.type == "task.state"):
            clock = _clock_words(self._clock() - self._began)
            say(f"{clock}  {self._mine.name(event):<6} {line.word:<9} {line.text}".rstrip())

    def look(self, seen: Overview) -> None:
        for event in self._mine.learn(seen):
            self.event(event)

    def say(self, words: str) -> None:
        say(words)

    def close(self) -> None:
        pass


class LiveBuildView:
    """What lasts scrolls by; the tasks stand in a table below it, each with what its agent does now."""

    attended = True

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(
            stderr=True, color_system=colours(), highlight=False, markup=False, emoji=False
        )
        self._clock, self._began = clock, clock()
        self._mine = Mine()
        self._doing: dict[str, str] = {}
        self._seen: Overview | None = None
        self._live: Live | None = Live(
            self, console=self._console, refresh_per_second=6, transient=True, redirect_stdout=False
        )
        self._live.start()

    def event(self, event: Event) -> None:
        if self._mine.hold(event) or not self._mine.has(event):
            return
        if event.type in ("turn.started", "task.state", "session.ended"):
            self._doing.pop(self._mine.task(event), None)
        line = line_of(event)
        if line is None:
            return
        if event.type in LASTING:
            name = self._mine.name(event)
            self._console.print(lasting(Line(word=name, text=f"{line.word}: {line.text}", tone=line.tone)))
        else:
            self._doing[self._mine.task(event)] = line.text

    def look(self, seen: Overview) -> None:
        for event in self._mine.learn(seen):
            self.event(event)
        self._seen = seen

    def say(self, words: str) -> None:
        self._console.print(text(words, "bold"))

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._seen is None:
            return
        yield task_table(self._seen, width=options.max_width, doing=self._doing)
        for question in self._seen.questions[:3]:
            words = f"? {question.text}".replace("\n", " ")
            yield text(one_line(words, max(20, options.max_width - 1)), "yellow")
            yield text(f"  {command(f'inbox answer {question.id}')}", "yellow")
        yield text(one_line(self._figures(self._seen), max(20, options.max_width - 1)), "dim")

    def _figures(self, seen: Overview) -> str:
        done = sum(each.row.task.status == "complete" for each in seen.tasks)
        wanted = {"pause": "pausing", "stop": "stopping"}.get(seen.build.wanted, "Ctrl-C pauses it")
        parts = [
            _clock_words(self._clock() - self._began),
            f"{done} of {len(seen.tasks)} done",
            cost_words(seen),
            wanted,
        ]
        return "  " + " · ".join(filter(None, parts))


LASTING = frozenset(
    {
        *("build.started", "build.stopped", "build.completed", "conflict.detected", "review.completed"),
        *("task.completed", "task.failed", "task.retry", "task.skipped", "task.blocked"),
        *("question.asked", "question.answered", "alert.budget"),
    }
)
"""What stays on the screen; the rest is what an agent does just now."""


def line_of(event: Event) -> Line | None:
    """An event of a build in one line, or None for what is not worth one."""
    given = event.payload
    match event.type:
        case "build.started":
            return Line(word="begins", text=str(given.get("repository") or ""))
        case "build.stopped":
            return Line(word="stopped", text=f"{plain(given['reason'])}: {given.get('detail') or ''}", tone="notice")
        case "build.completed":
            words = f"{given.get('complete')} complete, {given.get('failed')} failed; validation {given.get('outcome')}"
            return Line(word="over", text=words)
        case "task.started":
            return Line(word="begins", text=f"attempt {given['attempt']}")
        case "task.state":
            return Line(word=plain(given["after"]), text="", tone="dim")
        case "task.completed":
            commit = str(given.get("commit") or "")[:10]
            return Line(word="done", text=f"commit {commit}" if commit else "nothing to commit", tone="good")
        case "task.failed":
            return Line(
                word="failed", text=_first(f"{plain(given['reason'])}: {given.get('detail') or ''}"), tone="bad"
            )
        case "task.retry":
            return Line(word="again", text=_first(given.get("detail") or plain(given["reason"])), tone="notice")
        case "task.skipped" | "task.blocked":
            return Line(word=event.type.partition(".")[2], text=_first(given["reason"]), tone="notice")
        case "conflict.detected":
            words = given.get("text") or f"merge conflict in {given.get('resource')}"
            return Line(word="conflict", text=_first(words), tone="notice")
        case "review.completed":
            words = f"{plain(given['verdict'])}. {given.get('guidance') or ''}"
            return Line(word="review", text=_first(words), tone="notice")
        case "alert.budget":
            return Line(word="budget", text=_first(given["text"]), tone="notice")
        case _:
            return told(event)


def task_table(seen: Overview, *, width: int = 100, doing: dict[str, str] | None = None) -> Table:
    """The tasks, one per line."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=max(20, width - 60))
    for each in seen.tasks:
        task = each.row.task
        words = (doing or {}).get(each.row.id) or note_of(each)
        style = TONES.get(task.status, "")
        table.add_row(
            text(task.id),
            text(state_words(each), style),
            text(one_line(task.title or task.file, 34)),
            text(task_cost(each), "dim"),
            text(one_line(words, _WIDE), "dim"),
        )
    return table


def state_words(each: TaskOverview) -> str:
    """The task's status, or while it runs the state of its coder."""
    return plain(str(each.row.state)) if each.row.running else plain(each.row.task.status)


def note_of(each: TaskOverview) -> str:
    """What is worth knowing beside the state."""
    row = each.row
    match row.task.status:
        case "pending":
            return each.waits if each.waits != "ready" else ""
        case "complete":
            commit = str(row.data.get("commit") or "")[:10]
            tries = f", {count(row.attempts, 'attempt')}" if row.attempts > 1 else ""
            return f"{commit or 'no change'}{tries}"
        case "failed" | "blocked" | "skipped":
            return _first(str(row.ended.get("detail") or plain(row.reason or "")))
        case _:
            return f"attempt {row.attempts}" if row.attempts > 1 else ""


def task_cost(each: TaskOverview) -> str:
    """What a task cost, with what supervising it cost; empty before anything did."""
    both = each.work + each.supervision
    if not both.tokens:
        return ""
    return f"{tokens(both.tokens)} {dollars(both.usd, estimated=both.estimated)}" + ("+" if both.untold else "")


def cost_words(seen: Overview) -> str:
    """What it cost so far, supervision apart."""
    work, extra = seen.work, seen.supervision
    if not work.tokens and not extra.tokens:
        return ""
    unknown = " and more" if work.untold + extra.untold else ""
    both = work + extra
    words = f"{tokens(both.tokens)} tokens, {dollars(both.usd, estimated=both.estimated)}{unknown}"
    return words + (f" ({tokens(extra.tokens)} of it supervision)" if extra.tokens else "")


def _first(words: str) -> str:
    return one_line(words.strip().partition("\n")[0], _WIDE)


def _clock_words(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
