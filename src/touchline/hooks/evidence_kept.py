"""What has the agent done in this session? The ledger, kept between stops and added to from the transcript's growth."""

from __future__ import annotations

import posix
from time import monotonic, sleep

from touchline.hooks.dialects import Heard
from touchline.hooks.memory import Memory
from touchline.hooks.quick import LOOK_BACK
from touchline.plain_json import loads
from touchline.supervision.claim_check import only_looks
from touchline.supervision.evidence import Background, Command, Commit, Ledger, TestRun, Weakened, Write
from touchline.supervision.facts import Call, Event, Prompt, Result, Turn
from touchline.supervision.ledger import ledger_of
from touchline.supervision.values import Value, columns_of, from_columns, replace
from touchline.transcripts.lines import lines_of
from touchline.transcripts.session_log import SessionLog, turns_of
from touchline.transcripts.shapes import joined_text, mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

PATIENCE = 0.6
"""Seconds that the transcript is waited for."""
PAUSE = 0.02
AT_MOST = 32_000_000
"""Bytes read of one turn; beyond, its beginning is left out."""
KEPT = 400
"""Entries of each kind kept between stops: claims are about the latest."""
LOOKS_KEPT = 60
"""Commands that only looked at something, from before the person last spoke: most of a session, and every stop reads
what is kept."""


class Evidence(Value):
    """What is known at a stop."""

    ledger: Ledger
    first_call: int
    """Index of the first call since a person spoke."""
    task: str = ""
    last_text: str = ""
    whole: bool = True
    """False when neither transcript nor hooks tell of the turn: then nothing can be held against anybody."""


def gather(heard: Heard, memory: Memory) -> Evidence:
    """The evidence up to now; what was newly read is remembered. Raises `OSError` for an unreadable transcript."""
    if not heard.transcript:
        seen, first = _from_journal(memory, heard.agent, 0)
        return replace(_added(Evidence(ledger=Ledger(), first_call=0), (seen,), heard), first_call=first)
    kept = memory.load("evidence.json")
    kept = kept if isinstance(kept, dict) and kept.get("path") == heard.transcript else {}
    ledger = _ledger(kept.get("ledger"))
    if ledger is None:
        # Left by another version, say: without its ledger the place where reading ended is worth nothing.
        kept, ledger = {}, Ledger()
    known = Evidence(ledger=ledger, first_call=_whole(kept.get("first_call")), task=str(kept.get("task", "")))
    start, new, ended = _written(heard, kept, memory.state)
    turns = tuple(_turns(heard.agent, new))
    if not ended or _lacks_calls(heard.agent, turns, memory.state):
        # What the hooks saw counts instead; the transcript is read from the same place again at the next stop.
        seen, _ = _from_journal(memory, heard.agent, _whole(memory.state.get("judged")))
        return replace(_added(known, (seen,), heard), whole=bool(seen.events))
    memory.state["judged"] = int(memory.state.get("calls", 0))
    helpers = _helpers(memory)
    now = settled = _added(known, turns, heard, helpers)
    if (waiting := _waits_from(new, turns)) is not None:
        # A call whose result is not written yet is read again at the next stop, with all that follows it.
        new = new[:waiting]
        settled = _added(known, _turns(heard.agent, new), heard, helpers)
    memory.save(
        "evidence.json",
        {
            "path": heard.transcript,
            "offset": start + len(new),
            "first_call": settled.first_call,
            "task": settled.task[:8_000],
            "ledger": _as_json(settled.ledger, settled.first_call),
        },
    )
    return now


def _lacks_calls(agent: str, turns: Sequence[Turn], state: Mapping[str, Any]) -> bool:
    """The hooks saw calls end since the last stop, and the transcript tells of fewer, or with other agents of none.

    Those do not tell a hook of each of their calls, or tell it less than they write down.
    """
    seen = int(state.get("calls", 0)) - _whole(state.get("judged"))
    told = sum(isinstance(event, Call) for turn in turns for event in turn.events)
    return told < seen if agent == "claude" else seen > 0 and not told


def _added(known: Evidence, turns: Iterable[Turn], heard: Heard, helpers: Sequence[Ledger] = ()) -> Evidence:
    """The evidence with that of more turns, and of helpers that worked meanwhile."""
    ledger, first_call, task, last_text = known.ledger, known.first_call, known.task, ""
    parts: Iterable[tuple[Turn, Sequence[Ledger]]] = ((turn, ()) for turn in turns)
    if helpers:
        from touchline.hooks.subagents import joined, with_helpers

        parts = with_helpers(tuple(turns), helpers)
    for turn, helped in parts:
        if turn.cwd is None:
            # A log read from its middle does not say where the agent works.
            turn = replace(turn, cwd=heard.cwd or None)
        if asked := _asked(turn):
            first_call, task = ledger.calls, asked
        ledger = ledger_of(turn, ledger)
        for each in helped:
            ledger = joined(ledger, each)
        last_text = turn.final_text or last_text
    return Evidence(ledger=ledger, first_call=first_call, task=task, last_text=last_text)


def _helpers(memory: Memory) -> Sequence[Ledger]:
    """What the agent's helpers did since its last stop."""
    names = [entry.name for entry in posix.scandir(memory.folder) if entry.is_dir(follow_symlinks=False)]
    if not names:
        return ()
    from touchline.hooks.subagents import new_evidence

    return new_evidence(memory, names, _ledger)


def _waits_from(lines: bytes, turns: Sequence[Turn]) -> int | None:
    """Where the line of the first call begins that has no result yet; None when there is none."""
    events = turns[-1].events if turns else ()
    answered = {event.call_id for event in events if isinstance(event, Result)}
    open_calls = [event.id for event in events if isinstance(event, Call) and event.id not in answered]
    places = [at for name in open_calls if (at := lines.find(name.encode("utf-8", "replace"))) >= 0]
    return lines.rfind(b"\n", 0, min(places)) + 1 if places else None


def _asked(turn: Turn) -> str:
    """What the turn was asked for; a helper's prompt is the agent's own, and a coach's word in the middle none."""
    if turn.prompt:
        return turn.prompt
    first = turn.events[0] if turn.events else None
    return first.text if isinstance(first, Prompt) else ""


def _written(heard: Heard, kept: Mapping[str, Any], state: Mapping[str, Any]) -> tuple[int, bytes, bool]:
    """As `_grown`, once the agent has written down the message it stopped with; and whether it did.

    Claude Code starts its hooks first and writes a moment later: without the last results, work that was proved
    would be sent back.
    """
    message = heard.last_message.strip() if heard.agent == "claude" else ""
    until = monotonic() + PATIENCE
    while True:
        start, new = _grown(heard, kept, state)
        ended = not message or _ends_with(new, message, helper=bool(heard.helper))
        if ended or monotonic() >= until:
            return start, new, ended
        sleep(PAUSE)


def _ends_with(lines: bytes, message: str, *, helper: bool) -> bool:
    """The agent's last record is of this message, or of its last part: the words alone may stand anywhere before."""
    from touchline.transcripts.claude_log import skip

    end = len(lines)
    while end > 0:
        begin = lines.rfind(b"\n", 0, end - 1) + 1
        line, end = lines[begin:end], begin
        if b'"assistant"' not in line or skip(line):
            continue
        try:
            record = loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("type") == "assistant" and (helper or not record.get("isSidechain")):
            said = joined_text(mapping(record.get("message")).get("content")).strip()
            return bool(said) and message.endswith(said)
    return False


def _grown(heard: Heard, kept: Mapping[str, Any], state: Mapping[str, Any]) -> tuple[int, bytes]:
    """Where reading goes on, and the whole lines from there."""
    with open(heard.transcript, "rb") as file:
        size = posix.fstat(file.fileno()).st_size
        start = kept.get("offset")
        if not isinstance(start, int) or not 0 <= start <= size:
            begun = state.get("begun")
            start = begun if isinstance(begun, int) and 0 <= begun <= size else max(0, size - LOOK_BACK)
        start = max(start, size - AT_MOST)
        file.seek(max(0, start - 1))
        new = file.read(size - max(0, start - 1))
    if start:
        # From the middle of a line the rest of it is passed over; right behind a line end nothing is.
        passed = new.find(b"\n") + 1
        start, new = (start - 1 + passed, new[passed:]) if passed else (size, b"")
    return start, new[: new.rfind(b"\n") + 1]


def _turns(agent: str, lines: bytes) -> Iterator[Turn]:
    from io import BytesIO

    log, skip = _reader(agent)
    return turns_of(log, lines_of(BytesIO(lines)), skip=skip)


def _reader(agent: str) -> tuple[SessionLog, Callable[[bytes], object]]:
    if agent == "codex":
        from touchline.transcripts import codex_log

        return codex_log.CodexLog(), codex_log.skip
    if agent == "gemini":
        from touchline.transcripts.gemini_log import GeminiLog
        from touchline.transcripts.session_log import nothing_skipped

        return GeminiLog(project=None), nothing_skipped
    from touchline.transcripts import claude_log

    return claude_log.ClaudeLog(timed=False), claude_log.skip


def _from_journal(memory: Memory, agent: str, since: int) -> tuple[Turn, int]:
    """The calls that the hooks saw, from this one on; and how many of them were before a person last spoke."""
    events: list[Event] = []
    before = 0
    for entry in memory.calls():
        if len(entry) == 2 and entry[0] == "told":
            before = len(events) // 2
        if len(entry) == 6 and isinstance(entry[2], dict) and _whole(entry[0]) >= since:
            index, tool, args, text, digest, failed = entry
            events.append(Call(id=str(index), tool=str(tool), args=args))
            events.append(Result(call_id=str(index), text=str(text), digest=str(digest), failed=bool(failed)))
    return Turn(cli=agent, events=tuple(events)), before


def _as_json(ledger: Ledger, first_call: int) -> dict[str, Any]:
    """By columns: told one by one with their names, hundreds of entries would cost more than the rules."""
    commands = columns_of(Command, _telling(ledger.commands[-KEPT:], first_call))
    commands["kinds"] = list(map(sorted, commands["kinds"]))
    weakened = ledger.weakened
    return {
        "calls": ledger.calls,
        "writes": columns_of(Write, ledger.writes[-KEPT:]),
        "commands": commands,
        "test_runs": columns_of(TestRun, ledger.test_runs[-KEPT:]),
        "commits": columns_of(Commit, ledger.commits[-KEPT:]),
        "pushes": ledger.pushes[-KEPT:],
        "pull_requests": ledger.pull_requests[-KEPT:],
        "weakened": None if weakened is None else columns_of(Weakened, (weakened,)),
        "background": columns_of(Background, ledger.background[-KEPT:]),
        "deeds": ledger.deeds[-KEPT:],
    }


def _telling(commands: Sequence[Command], first_call: int) -> Sequence[Command]:
    """Without those of earlier prompts that only looked, but for the latest."""
    looks = [each.call for each in commands if each.call < first_call and only_looks(each)]
    gone = frozenset(looks[:-LOOKS_KEPT])
    return [each for each in commands if each.call not in gone] if gone else commands


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _ledger(told: Any) -> Ledger | None:
    """The ledger that `_as_json` told; None when it cannot be read."""
    try:
        commands, weakened = told["commands"], told["weakened"]
        return Ledger(
            calls=int(told["calls"]),
            writes=from_columns(Write, told["writes"]),
            commands=from_columns(Command, {**commands, "kinds": list(map(frozenset, commands["kinds"]))}),
            test_runs=from_columns(TestRun, told["test_runs"]),
            commits=from_columns(Commit, told["commits"]),
            pushes=tuple(map(int, told["pushes"])),
            pull_requests=tuple(map(str, told["pull_requests"])),
            weakened=None if weakened is None else from_columns(Weakened, weakened)[0],
            background=from_columns(Background, told["background"]),
            deeds=tuple(map(int, told["deeds"])),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        return None
