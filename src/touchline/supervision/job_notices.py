"""How did a command end that a line left to the background, when the shell itself tells it?

A shell that stays open between the calls prints `[1]+  Done   make docs` with the next command. It counts only for a
line that an earlier call ended with `&`, word for word, and not where the call that shows it says those words itself.
"""

from __future__ import annotations

from touchline.supervision.evidence import Command
from touchline.supervision.prepared import shape
from touchline.supervision.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NOTICE = r"(?m)^\[\d{1,4}\][+-]? {1,2}(?:Done|Exit (\d{1,3})) {2,}(\S[^\n]{0,2000})$"


def settled(commands: Sequence[Command], line: str, text: str) -> list[Command]:
    """The commands, with the ends that this output of a later line tells."""
    found = list(commands)
    if "Done" in line or "Exit" in line:
        return found
    for code, job in shape(_NOTICE).findall(text):
        for at in range(len(found) - 1, -1, -1):
            command = found[at]
            if command.open and command.text.rstrip().endswith("&") and _same(command.text, job):
                found[at] = replace(command, exit_code=int(code or 0), failed=bool(int(code or 0)), open=False)
                break
    return found


def _same(command: str, job: str) -> bool:
    return " ".join(command.rstrip(" \n&").split()) == " ".join(job.rstrip(" &").split())
