"""What is worth telling of a running session? Each event as one line, or none. Pure; how lines look is the view's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from touchline.audit.figures import plain
from touchline.audit.visible import one_line
from touchline.store.events import Event

Tone = Literal["", "dim", "good", "notice", "bad"]
_WIDE = 400
_SHORT = 110
_TURNS = {
    "first": "the task",
    "continue": "coached",
    "steer": "steered",
    "nudge": "nudged",
    "retry": "tried again",
    "review": "reviewed",
    "answer": "your answer",
    "resume": "goes on",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that happened."""

    word: str
    """What kind of thing, in one word."""
    text: str
    tone: Tone = ""
    lasting: bool = True
    """It is about the supervision, or ends something; the rest is shown while it goes on."""


def told(event: Event, *, workspace: str = "") -> Line | None:
    """The line for an event; None for what is told by another one. Paths in the workspace are told from there."""
    given = event.payload
    match event.type:
        case "session.started":
            return Line(word="started", text=_started(given), tone="dim")
        case "session.resumed":
            return Line(word="resumed", text=one_line(given.get("message") or "It goes on where it was.", _WIDE))
        case "session.interrupted":
            words = f"Turn {given['number']} was cut off by a crash of Touchline and is {given.get('how') or 'begun'}."
            return Line(word="crash", text=words, tone="notice")
        case "session.quiet":
            words = f"No recent activity: the agent has written nothing for {given['seconds']:.0f} s. It is left alone."
            return Line(word="quiet", text=words, tone="notice")
        case "session.stop_asked":
            return Line(word="stopping", text="The agent is told to stop.", tone="notice")
        case "turn.started":
            kind = _TURNS.get(given.get("kind") or "", given.get("kind") or "")
            return Line(word=f"turn {given['number']}", text=kind, tone="dim")
        case "turn.ended" if given.get("stopped"):
            return Line(word="ended", text=one_line(given["stopped"], _WIDE), tone="notice")
        case "agent.said":
            return Line(word="says", text=one_line(_from_here(given["text"], workspace), _SHORT), lasting=False)
        case "agent.called":
            return Line(word="does", text=call_words(given, workspace), lasting=False)
        case "agent.answered" if given["failed"]:
            return Line(word="failed", text=_answer(given), lasting=False)
        case "agent.fault":
            words = f"{plain(given['kind'])}: {one_line(given['text'], _SHORT)}"
            return Line(word="fault", text=words, tone="bad")
        case "check.run":
            good = given["verified"]
            words = f"{one_line(given['command'], _SHORT)}: {'passed' if good else 'no pass'}, {given.get('why') or ''}"
            return Line(word="check", text=words.rstrip(", "), tone="good" if good else "bad")
        case "reminder.sent":
            return Line(word="steered", text=one_line(given["text"], _WIDE), tone="notice")
        case "coaching.sent":
            word = "steered" if given["tier"] == "steer" else "coached"
            return Line(word=word, text=one_line(_from_here(given["text"], workspace), _WIDE), tone="notice")
        case "nudge.sent":
            return Line(word="nudged", text=one_line(given["text"], _WIDE), tone="notice")
        case "decision.made" if given["action"] == "retry":
            return Line(word="again", text=one_line(given.get("message") or plain(given["reason"]), _WIDE))
        case "review.completed":
            words = f"{plain(given['verdict'])}: {given.get('guidance') or ''}"
            return Line(word="review", text=one_line(words, _WIDE), tone="notice")
        case "question.asked":
            return Line(word="asks", text=one_line(given["text"], _WIDE), tone="notice")
        case "question.answered":
            return Line(word="answered", text=one_line(given["answer"], _WIDE))
        case "session.ended" | "session.stopped":
            return Line(word="over", text=plain(given.get("reason") or "stopped"), tone="dim")
        case _:
            return None


def call_words(given: Mapping[str, Any], workspace: str = "") -> str:
    """A tool call in a few words: a command as it was typed, a file with what is done to it."""
    args = given.get("args") or {}
    for name in ("command", "cmd"):
        if args.get(name):
            return f"$ {one_line(str(args[name]), _SHORT)}"
    for name in ("file_path", "path", "filePath", "absolute_path"):
        if args.get(name):
            return f"{given['tool']} {one_line(_from_here(str(args[name]), workspace), _SHORT)}"
    first = next((str(value) for value in args.values() if value not in (None, "")), "")
    return f"{given['tool']} {one_line(first, 60)}".rstrip()


def _from_here(words: str, workspace: str) -> str:
    return words.replace(f"{workspace}/", "") if workspace else words


def _started(given: Mapping[str, Any]) -> str:
    who = " ".join(filter(None, (given["agent"], given.get("version"))))
    parts = [who, f"sandbox {given['sandbox']}: {given['sandbox_why']}" if given.get("sandbox") else ""]
    if given.get("base_commit"):
        parts.append(f"in a clone at {given['base_commit'][:10]}")
    return " · ".join(filter(None, parts))


def _answer(given: Mapping[str, Any]) -> str:
    lines = [line for line in str(given.get("text") or "").splitlines() if line.strip()]
    code = f"exit code {given['exit_code']}" if given.get("exit_code") is not None else "the call failed"
    last = one_line(lines[-1], _SHORT) if lines else ""
    return f"{code}: {last}" if last and not last.startswith("Exit code") else code
