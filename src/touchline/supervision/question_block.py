"""Does the agent say itself that it asks? A fenced block with the info string `question` is a report of its own about
how it stopped, and needs no reading of prose. Inside another block it is only shown, and in a block quote it is quoted.
"""

from __future__ import annotations

from touchline.supervision.prepared import shape
from touchline.supervision.stops import Span

_ANY = shape(r"[ >]{0,12}(?:[-*] )?(`{3,}|~{3,})")
_ASKS = shape(r" {0,3}(?:`{3,}|~{3,})[ \t]*(?i:question)[ \t\r]*$")


def questions_in(text: str) -> tuple[Span, ...]:
    """What stands in the question blocks of a message; empty blocks and such that are not closed ask nothing."""
    if "question" not in text.lower():
        return ()
    found: list[Span] = []
    fence, begun, offset = "", -1, 0
    for line in text.split("\n"):
        mark = _ANY.match(line)
        if mark and fence:
            if mark[1].startswith(fence) and not line[mark.end() :].strip("`~ \t\r"):
                if begun >= 0 and (words := text[begun:offset].strip()):
                    start = text.index(words, begun)
                    found.append(Span(start=start, end=start + len(words), text=words))
                fence = ""
        elif mark and not line.count(mark[1], mark.end()):
            fence, begun = mark[1], offset + len(line) + 1 if _ASKS.match(line) else -1
        offset += len(line) + 1
    return tuple(found)
