"""Whose words are in the output of a shell line? Counts are proof only where the runner of the tests printed them.

A runner whose output was sent away has printed nothing that can be seen, unless the line shows the file it went to.
What `echo` and `printf` say is the agent's own words, and is taken out. What other programs print is not known: where
it and the runner do not agree, neither is believed.
"""

from __future__ import annotations

from touchline.supervision.commands import Part
from touchline.supervision.programs import name_of, tables
from touchline.supervision.values import Literal, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_Shown = Literal["all", "part", "nothing"]
_CODE = "$?"


class Printed(Value):
    """What of an output can be a runner's own."""

    text: str
    runs: int
    """How many of its runs can be seen."""
    doubtful: bool = False
    """Something else that is not known was printed after it."""
    partly: bool = False
    """One of its streams, perhaps the one with the counts, was sent away."""


def printed_by(parts: Sequence[Part], runners: Collection[int], text: str) -> Printed | None:
    """The output without the agent's own words; None when nothing of what these parts printed is shown."""
    shown = {at: _shown(parts, at) for at in runners}
    seen = [at for at in runners if shown[at] != "nothing"]
    if not seen:
        return None
    doubtful = False
    lines: list[str] | None = None
    for at, part in enumerate(parts):
        if at in runners or part.piped or part.out:
            continue
        said = _said(part)
        if said:
            lines = text.split("\n") if lines is None else lines
            _take_out(lines, said, last=at > seen[0])
        elif at > seen[0] and not _shows_runner(parts, at, runners):
            doubtful = doubtful or said is None or _prints(part)
    return Printed(
        text=text if lines is None else "\n".join(lines),
        runs=len(seen),
        doubtful=doubtful,
        partly=all(shown[at] == "part" for at in seen),
    )


def _shown(parts: Sequence[Part], at: int) -> _Shown:
    part, end = parts[at], _end_of_pipe(parts, at)
    hidden_out = _sent_away(parts, at, part.out) or (end != at and (_is_deaf(parts[end]) or _gone(parts, end)))
    hidden_err = _sent_away(parts, at, part.err)
    if hidden_out and hidden_err:
        return "nothing"
    return "part" if hidden_out or hidden_err else "all"


def _gone(parts: Sequence[Part], at: int) -> bool:
    return _sent_away(parts, at, parts[at].out)


def _sent_away(parts: Sequence[Part], at: int, file: str) -> bool:
    """Whether a stream that goes to this file is not seen: nobody shows the file, or others wrote it, too."""
    if not file:
        return False
    others = (p for n, p in enumerate(parts) if n != at)
    if file.startswith("/dev/") or any(file in p.targets for p in others):
        return True
    return not any(_reads(p, file) for p in parts[at + 1 :])


def _reads(part: Part, file: str) -> bool:
    return not part.out and any(file == word or (file == "$(" and "$" in word) for word in part.words[1:])


def _end_of_pipe(parts: Sequence[Part], at: int) -> int:
    while parts[at].piped and at + 1 < len(parts):
        at += 1
    return at


def _shows_runner(parts: Sequence[Part], at: int, runners: Collection[int]) -> bool:
    """Whether a part passes on what a runner printed, through a pipe or from the file it went to."""
    return any(_end_of_pipe(parts, n) == at or _reads(parts[at], parts[n].out or "\0") for n in runners)


def _is_deaf(part: Part) -> bool:
    """Whether it prints something else than what it is given."""
    name = name_of(part.words)
    plain = [word for word in part.words[1:] if not word.startswith(("-", "+")) and not word.isdigit()]
    return name in ("echo", "printf", "true", ":") or (name in ("cat", "head", "tail", "tac") and bool(plain))


def _prints(part: Part) -> bool:
    return "run" in part.kinds or name_of(part.words) in tables()["prints"]


def _said(part: Part) -> tuple[str, ...] | None:
    """The lines that `echo` or `printf` say; None when they cannot be told, nothing for other programs."""
    name, words = name_of(part.words), list(part.words[1:])
    if name not in ("echo", "printf"):
        return ()
    while name == "echo" and words and words[0] in ("-e", "-E", "-n", "-ne", "-en"):
        if "n" in words.pop(0):
            return None
    plain = " ".join(words)
    rest = plain.replace(_CODE, "")
    if "$" in rest or "`" in rest or (name == "printf" and ("%" in plain or not plain.endswith("\\n"))):
        return None
    # A plain echo leaves `\n` as it is in one shell and breaks the line in another.
    return tuple(dict.fromkeys((plain, *plain.replace("\\n", "\n").split("\n"))))


def _take_out(lines: list[str], said: Sequence[str], *, last: bool) -> None:
    """Take each line out once; what was said after the runner stands nearer to the end."""
    for words in said:
        order = range(len(lines) - 1, -1, -1) if last else range(len(lines))
        at = next((n for n in order if _is_said(lines[n].rstrip(), words.rstrip())), None)
        if at is not None and words.strip():
            lines[at] = ""


def _is_said(line: str, words: str) -> bool:
    if _CODE not in words:
        return line == words
    before, _, after = words.partition(_CODE)
    code = line[len(before) : len(line) - len(after)]
    return line.startswith(before) and line.endswith(after) and code.isdigit()
