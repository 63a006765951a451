"""What passes between a running agent and its conversation? The loop over its pipes, until it has gone.

Stopping goes down a ladder, each rung with its time: the CLI's own interrupt, closed standard input, SIGTERM, SIGKILL
to the whole tree. The end of the pipes is never waited for: a child that outlives the agent may hold them open.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Literal

from touchline.agents.crowd import in_the_crowd, patience
from touchline.agents.port import Conversation, Launch
from touchline.agents.redaction import Redactor
from touchline.agents.turns_input import Input
from touchline.agents.turns_lines import ErrorTail, Lines, RawFile
from touchline.agents.turns_values import Observer, Say, Stop, TurnLimits
from touchline.agents.turns_watch import Clock
from touchline.processes.children import Child
from touchline.supervision.facts import Turn

CHUNK = 256 * 1024
ASK_SECONDS = 1.0
"""How often `must_stop` is asked; in a crowd, less."""
LAST_BYTES = 4 * 1024 * 1024
"""What is still read when the process has gone; a survivor that goes on writing is not listened to."""

Phase = Literal["running", "leaving", "interrupting", "closing"]
"""`leaving`: its turn is over and it may end by itself. The other two are the ladder's soft rungs."""


class Exchange:
    """One process and one conversation. Use it with `with`: leaving it ends the whole tree."""

    def __init__(
        self,
        child: Child,
        conversation: Conversation,
        *,
        raw: Path,
        redactor: Redactor,
        limits: TurnLimits,
        launch: Launch,
        observe: Observer,
        on_session: Callable[[str], None],
        on_quiet: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self.said: list[str] = []
        self.unsaid: list[str] = []
        self.errors = ""
        self.seconds = 0.0
        self._child = child
        self._conversation = conversation
        self._limits = limits
        self._launch = launch
        self._observe = observe
        self._on_session = on_session
        self._on_quiet = on_quiet
        self._began = time.monotonic()
        self._clock = Clock(limits, self._began)
        self._raw = RawFile(raw, redactor, limits.line_bytes)
        self._tail = ErrorTail(RawFile(raw.with_name(raw.name + ".err"), redactor, limits.line_bytes), redactor)
        self._lines = Lines(limits.line_bytes)
        self._selector = selectors.DefaultSelector()
        self._input = Input(child.stdin, self._selector)
        self._phase: Phase = "running"
        self._rung_ends: float | None = None
        self._stop: Stop | None = None
        self._by_our_hand = False
        self._session: str | None = conversation.session_id
        self._exit_code: int | None = None

    @property
    def stopped(self) -> str:
        return self._stop.why if self._stop is not None else ""

    @property
    def raw_error(self) -> str:
        return self._raw.error

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._exit_code = self._child.end(0.0)
            if kind is None:
                self._read_the_rest()
        finally:
            self.errors = self._tail.close()
            self._raw.close()
            self._selector.close()
            self._child.close()
            self.seconds = time.monotonic() - self._began

    def run(self, must_stop: Callable[[], bool]) -> None:
        """Until the process has gone, by itself or by the ladder."""
        child, selector = self._child, self._selector
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ)
        handle = os.pidfd_open(child.pid) if hasattr(os, "pidfd_open") else None
        if handle is not None:
            selector.register(handle, selectors.EVENT_READ)
        try:
            with in_the_crowd():
                self._converse(must_stop, handle)
        finally:
            if handle is not None:
                selector.unregister(handle)
                os.close(handle)

    def _converse(self, must_stop: Callable[[], bool], handle: int | None) -> None:
        self._open()
        ask_at = self._began + ASK_SECONDS
        while self._child.poll() is None:
            now = time.monotonic()
            if now >= ask_at:
                ask_at = now + patience(ASK_SECONDS)
                if self._stop is None and must_stop():
                    self._begin_stop(Stop(why="it was asked to stop", ended_by="user"), now)
            if not self._mind_the_time(now):
                return
            self._wait(min(ask_at, *self._times()) - now, handle)

    def finish(self) -> Turn:
        """The turn; to be called once, after the `with`."""
        code = self._exit_code
        # How a process ends that we ended after its turn was over says nothing about that turn.
        if self._by_our_hand and self._stop is None:
            code = None
        return self._conversation.finish(
            exit_code=code,
            signal=-code if code is not None and code < 0 else None,
            ended_by=self._stop.ended_by if self._stop is not None else None,
            errors=self.errors,
        )

    def _open(self) -> None:
        self._input.write(self._conversation.open())
        if self._launch.only_opens:
            self._input.close()

    def _times(self) -> list[float]:
        """When something is due; at least one, far off."""
        times = [self._clock.next_check() if self._phase == "running" else None, self._rung_ends]
        return [time for time in times if time is not None] or [float("inf")]

    def _wait(self, seconds: float, handle: int | None) -> None:
        # Without a handle on the process its end is only seen by asking.
        seconds = max(0.0, seconds if handle is not None else min(seconds, 0.1))
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._input.pipe:
                self._input.flush()
            elif key.fileobj is self._child.stdout:
                self._hear(self._read(self._child.stdout))
            elif key.fileobj is self._child.stderr:
                self._tail.feed(self._read(self._child.stderr))

    def _mind_the_time(self, now: float) -> bool:
        """Limits and rungs; False when the soft rungs are used up."""
        if self._clock.flooded:
            # Nothing gentle: what it still says would only be more of the flood.
            self._stop = self._stop or self._clock.exceeded(now)
            self._child.end(self._limits.grace_seconds)
            return False
        if self._phase == "running" and (seconds := self._clock.quiet(now)) is not None:
            self._on_quiet(seconds)
        if self._phase == "running" and (stop := self._clock.exceeded(now)) is not None:
            self._begin_stop(stop, now)
        if self._phase == "running" and self._conversation.over:
            self._input.close()
            self._enter("leaving", now)
        if self._rung_ends is None or now < self._rung_ends:
            return True
        match self._phase:
            case "interrupting":
                if self._input.open:
                    self._input.close(at_once=True)
                    self._enter("closing", now)
                    return True
            case "running":
                # Its output has ended and it has not: nothing more can be known of it.
                self._stop = Stop(why="its output ended and it went on")
            case "leaving" | "closing":
                pass
        self._by_our_hand = True
        self._child.end(self._limits.grace_seconds)
        return False

    def _begin_stop(self, stop: Stop, now: float) -> None:
        if self._stop is not None or self._phase != "running":
            return
        self._stop = stop
        words = self._conversation.interrupt() if self._input.open and not self._conversation.over else None
        if words:
            self._input.write(words)
            self._enter("interrupting", now)
        elif self._input.open and self._launch.leaves:
            self._input.close(at_once=True)
            self._enter("closing", now)
        else:
            self._phase, self._rung_ends = "closing", now

    def _enter(self, phase: Phase, now: float) -> None:
        self._phase, self._rung_ends = phase, now + self._limits.grace_seconds

    def _read(self, pipe: IO[bytes]) -> bytes:
        try:
            chunk = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return b""
        now = time.monotonic()
        if chunk:
            self._clock.count(len(chunk), now)
            return chunk
        self._selector.unregister(pipe)
        if pipe is self._child.stdout and self._phase == "running":
            self._rung_ends = now + self._limits.grace_seconds
        return b""

    def _hear(self, chunk: bytes) -> None:
        lines = list(self._lines.feed(chunk))
        self._raw.write(lines)
        for line in lines:
            self._hear_line(line)

    def _hear_line(self, line: bytes) -> None:
        heard = self._conversation.hear(line)
        session = self._conversation.session_id
        if session and session != self._session:
            self._session = session
            self._on_session(session)
        self._input.write(heard.reply)
        now = time.monotonic()
        for event in heard.events:
            self._clock.note(event, now)
            match self._observe(event):
                case Say(text=text):
                    self._say(text)
                case Stop() as stop:
                    self._begin_stop(stop, now)
                case None:
                    pass
        if heard.close:
            self._input.close()
        if self._conversation.over and self._phase in ("running", "interrupting"):
            self._input.close()
            self._enter("leaving", now)

    def _say(self, text: str) -> None:
        able = self._phase == "running" and self._input.open and not self._conversation.over
        words = self._conversation.say(text) if able else None
        if words:
            self._input.write(words)
            self.said.append(text)
        else:
            self.unsaid.append(text)

    def _read_the_rest(self) -> None:
        """What the process wrote before it went, as far as it can be had without waiting."""
        for pipe in (self._child.stdout, self._child.stderr):
            taken = 0
            while pipe is not None and pipe in self._selector.get_map() and taken < LAST_BYTES:
                chunk = self._read(pipe)
                if not chunk:
                    break
                taken += len(chunk)
                if pipe is self._child.stdout:
                    self._hear(chunk)
                else:
                    self._tail.feed(chunk)
        rest = self._lines.rest()
        if rest:
            self._raw.write([rest])
            self._hear_line(rest)
