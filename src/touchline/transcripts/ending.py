"""How did the turn end?

Puts together what the CLI's records say and what the process shows. Exit code 0 is no success by itself, and a
missing final record is a crash however politely the last message reads.
"""

from __future__ import annotations

from touchline.supervision.facts import Ended
from touchline.supervision.values import Literal, Value

EndedBy = Literal["timeout", "us", "user"]
BY = {
    "timeout": (Ended.TIMED_OUT, "time limit"),
    "us": (Ended.KILLED, "ended by the supervisor"),
    "user": (Ended.INTERRUPTED, "ended by a person"),
}
STOPPED = {"SIGINT": Ended.INTERRUPTED, "SIGTERM": Ended.KILLED, "SIGKILL": Ended.KILLED, "SIGHUP": Ended.KILLED}
"""Signals sent from outside; any other one is the process's own fault."""
BY_SHELL = frozenset({129, 130, 131, 134, 137, 139, 143})
"""Exit codes by which shells and CLIs report a signal: 128 and its number."""


class Process(Value):
    """What is known of the CLI's process. All None when only its output is at hand."""

    exit_code: int | None = None
    signal: int | None = None
    ended_by: EndedBy | None = None

    @property
    def signal_name(self) -> str | None:
        """The signal that ended it: told, or read from a negative or a shell's exit code."""
        number, code = self.signal, self.exit_code
        if not number and code is not None:
            number = -code if code < 0 else code - 128 if code in BY_SHELL else None
        if not number:
            return None
        import signal as signals  # its tables take milliseconds to build, and most turns end without one

        try:
            return signals.Signals(number).name
        except ValueError:
            return f"signal {number}"


class End(Value):
    """How a turn ended, and the CLI's own word for it."""

    ended: Ended
    detail: str = ""


NO_END = End(ended=Ended.UNKNOWN, detail="no end recorded")


def settle(said: End | None, process: Process) -> End:
    """The end of a turn whose records say `said` (None: they name no end)."""
    name, code = process.signal_name, process.exit_code
    if said is not None and said.ended is Ended.FINISHED:
        # A process that is stopped after its turn was over has still finished it; one that fails has not.
        if code and name is None and process.ended_by is None:
            return End(ended=Ended.CRASHED, detail=f"exit {code} after the final record")
        return said
    if said is not None and said.ended in (Ended.LIMIT, Ended.API_ERROR):
        return said
    if process.ended_by is not None:
        ended, detail = BY[process.ended_by]
        return End(ended=ended, detail=detail)
    if said is not None:
        return said
    if name is not None:
        return End(ended=STOPPED.get(name, Ended.CRASHED), detail=name)
    if code is None:
        return NO_END
    return End(ended=Ended.CRASHED, detail=f"exit {code}, no final record")
