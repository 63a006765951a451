"""How does what an agent does get into the event log? Short, redacted, and in batches, while the turn goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from touchline.sessions.events import about
from touchline.store.writer import EventWriter
from touchline.supervision.facts import Call, Event, Fault, Result, Spent, Text

SHORT = 2_000
"""Characters of a text or result in the log; the whole is in the raw stream."""


class Teller:
    """Tells the events of one turn. `close` waits until all of them are written."""

    def __init__(
        self, writer: EventWriter, session: str, number: int, *, redact: Callable[[str], str], task_id: str | None
    ) -> None:
        self._writer, self._session, self._number = writer, session, number
        self._redact, self._task_id = redact, task_id
        self._last: Future[int] | None = None
        self._lost: Future[int] | None = None

    def event(self, event: Event) -> None:
        """Something that was heard; prompts and noise are left to the raw stream."""
        match event:
            case Text(text=text) if text.strip():
                self.tell("agent.said", text=self._short(text))
            case Call(id=id, tool=tool, args=args):
                self.tell("agent.called", call=id[:200], tool=tool[:200], args=self._shortened(args))
            case Result(call_id=id, text=text, failed=failed, exit_code=code):
                self.tell("agent.answered", call=id[:200], failed=failed, exit_code=code, text=self._short(text))
            case Spent(usage=u, model=model, cost_usd=cost):
                self.tell(
                    "agent.spent",
                    model=model,
                    input=u.input,
                    output=u.output,
                    cache_read=u.cache_read,
                    cache_write=u.cache_write,
                    cost_usd=cost,
                )
            case Fault(kind=kind, message=message, status=status, fatal=fatal):
                self.tell("agent.fault", kind=kind, text=self._short(message), status=status, fatal=fatal)
            case _:
                pass

    def catch_up(self, events: Iterable[Event], *, told: int) -> None:
        """Tell what a crash kept from the log: all of a torn stream but the first `told`, which are there."""
        tellable = [event for event in events if not isinstance(event, Text) or event.text.strip()]
        tellable = [event for event in tellable if isinstance(event, Text | Call | Result | Spent | Fault)]
        for event in tellable[told:]:
            self.event(event)

    def tell(self, type: str, **payload: Any) -> None:
        """An event of this turn."""
        made = about(self._session, type, task_id=self._task_id, number=self._number, **payload)
        if self._lost is not None:
            self._lost.result()  # the log has a hole: what is torn off here is told again when the turn is resumed
        self._last = self._writer.submit(made)
        self._last.add_done_callback(self._written)

    def close(self) -> None:
        """What was told is in the log when this returns. The writer keeps the order, so the last one is enough to wait
        for; but one before it may have been lost with a server that was away for a moment."""
        for each in (self._last, self._lost):
            if each is not None:
                each.result()

    def _written(self, done: Future[int]) -> None:
        if self._lost is None and done.exception() is not None:
            self._lost = done

    def _short(self, text: str) -> str:
        text = self._redact(text[: 2 * SHORT])
        return text if len(text) <= SHORT else text[: SHORT - 1] + "…"

    def _shortened(self, args: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in list(args.items())[:20]:
            if value is None or isinstance(value, bool | int | float):
                found[str(name)[:200]] = value
            else:
                found[str(name)[:200]] = self._short(value if isinstance(value, str) else repr(value)[: 2 * SHORT])
        return found
