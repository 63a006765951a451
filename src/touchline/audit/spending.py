"""What was spent after a call? Tokens as the log notes them, cost as their share of a turn's known cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from touchline.supervision.facts import Call, Result, Spent, Turn


@dataclass(slots=True)
class Spending:
    """Running count of tokens over a session: where each call's answer came, where each turn ended."""

    spent: int = 0
    answered_at: list[int] = field(default_factory=list)
    """Per call: tokens spent when its answer came, or when it was made if none came."""
    turn_ends: list[tuple[int, float | None]] = field(default_factory=list)
    """Per turn: tokens spent at its end, and its cost."""

    def add(self, turn: Turn, *, first_call: int) -> None:
        """Count one more turn, whose calls are numbered from `first_call`."""
        places: dict[str, int] = {}
        for event in turn.events:
            if isinstance(event, Spent):
                self.spent += event.usage.total
            elif isinstance(event, Call) and event.id not in places:
                places[event.id] = first_call + len(places)
                self.answered_at.append(self.spent)
            elif isinstance(event, Result):
                place = places.get(event.call_id)
                # Results arrive in order of calls nearly always; a second answer to a call moves nothing back.
                if place is not None:
                    self.answered_at[place] = max(self.answered_at[place], self.spent)
        self.turn_ends.append((self.spent, turn.cost_usd))

    def over(self, stretches: Iterable[tuple[int, int]]) -> tuple[int, float | None]:
        """Tokens and cost spent in the stretches, each from a call to the end of a turn, overlaps counted once.

        The cost is None when a turn that a stretch touches has none; a stretch of no tokens costs nothing.
        """
        tokens, cost, reached = 0, 0.0, 0
        known = True
        spans = sorted((self._after(call), self.turn_ends[turn - 1][0]) for call, turn in stretches)
        for begin, end in spans:
            begin = max(begin, reached)
            if end <= begin:
                continue
            tokens += end - begin
            of_span = self._cost(begin, end)
            known = known and of_span is not None
            cost += of_span or 0.0
            reached = end
        if not any(cost is not None for _, cost in self.turn_ends):
            known = False
        return tokens, cost if known else None

    def _after(self, call: int) -> int:
        """Tokens spent when the call was answered; a negative one stands for the begin of the session."""
        return self.answered_at[call] if 0 <= call < len(self.answered_at) else 0

    def _cost(self, begin: int, end: int) -> float | None:
        total, turn_begin = 0.0, 0
        for turn_end, cost in self.turn_ends:
            touched = min(end, turn_end) - max(begin, turn_begin)
            if touched > 0:
                if cost is None:
                    return None
                total += cost * touched / (turn_end - turn_begin)
            turn_begin = turn_end
        return total
