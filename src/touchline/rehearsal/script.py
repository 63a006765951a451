"""What does a rehearsal script say? Reads and checks the YAML; every error names file, line, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from touchline.rehearsal.fields import Fields, Source
from touchline.rehearsal.filling import BUILT_IN, names_in
from touchline.rehearsal.turns import (
    ALWAYS,
    Call,
    Conversation,
    Fault,
    FaultKind,
    Finding,
    Pattern,
    Script,
    Turn,
    Usage,
    expression_of,
)

FAULTS: Mapping[int | str, tuple[int, FaultKind, str]] = {
    400: (400, "bad_request", "the request does not fit"),
    401: (401, "login", "the key is not valid"),
    403: (403, "forbidden", "the key may not do this"),
    404: (404, "not_found", "there is no such model"),
    429: (429, "rate_limit", "too many requests"),
    500: (500, "server", "internal server error"),
    503: (503, "server", "the service is unavailable"),
    529: (529, "overloaded", "Overloaded"),
    "prompt_too_long": (400, "too_long", "prompt is too long: 250000 tokens > 200000 maximum"),
}
CALLS = {"shell": (), "write": ("content",), "edit": ("old", "new"), "read": (), "raw": ("args",)}
TURN_FIELDS = (
    *("text", "thinking", "calls", "json", "error", "message", "retry_after", "drop", "delay", "stall", "usage"),
    *("times", "until", "heard", "saw", "else"),
)
CONVERSATION_FIELDS = ("turns", "answers", "find", "plain")
SCRIPT_FIELDS = ("strict", "usage", "conversations", *CONVERSATION_FIELDS)


def load_script(path: Path | str) -> Script:
    """The script in a file. Raises `ScriptError`."""
    from touchline.rehearsal.yaml_source import read_source

    return script_of(read_source(Path(path)))


def parse_script(text: str, *, file: str = "script.yaml") -> Script:
    """The script in a text, for tests and programs. Raises `ScriptError`."""
    from touchline.rehearsal.yaml_source import source_of

    return script_of(source_of(text, file=file))


def script_of(source: Source) -> Script:
    """Check what was read, and make it a script."""
    top = Fields(source, (), source.data, SCRIPT_FIELDS, what="a script")
    conversations = tuple(
        _conversation(each, name=f"conversation {number}", named=True)
        for number, each in enumerate(
            top.mappings("conversations", (*CONVERSATION_FIELDS, "name", "when"), what="a conversation"), start=1
        )
    )
    if "turns" in top:
        conversations = (*conversations, _conversation(top, name="main", named=False))
    elif not conversations:
        raise top.error("has neither `turns` nor `conversations`", "Give it `turns:`, a list of what the model says.")
    elif stray := [name for name in CONVERSATION_FIELDS if name in top]:
        raise top.at(stray[0]).error("belongs to `turns`, which the script does not have", "Put it in a conversation.")
    names = [each.name for each in conversations]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise top.error(f"has two conversations named {twice!r}", "Give each a name of its own.")
    open_ones = [each.name for each in conversations[:-1] if each.when is None]
    if open_ones:
        raise top.error(
            f"has conversations that are never reached, because {open_ones[0]!r} has no `when` and takes every prompt",
            "Give it a `when`, or put it last.",
        )
    return Script(
        file=source.file,
        conversations=conversations,
        usage=_usage(top) or Usage(),
        strict=top.truth("strict"),
    )


def _conversation(fields: Fields, *, name: str, named: bool) -> Conversation:
    find = {}
    for key, where in fields.entries("find"):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key) or key in BUILT_IN:
            raise where.error(
                f"{key!r} cannot be the name of a value",
                f"Use small letters, digits and _; not {', '.join(sorted(BUILT_IN))}.",
            )
        find[key] = _finding(where)
    known = {*BUILT_IN, *find}
    turns = tuple(_turn(each, known) for each in fields.mappings("turns", TURN_FIELDS, what="a turn", empty=False))
    answers = tuple(_turn(each, known) for each in fields.mappings("answers", TURN_FIELDS, what="an answer"))
    for number, answer in enumerate(answers):
        if answer.heard is None:
            raise fields.at("answers", number).error("an answer needs `heard`", "Say which words it answers to.")
        if answer.times != 1 or answer.until or answer.otherwise or answer.fails:
            raise fields.at("answers", number).error(
                "an answer cannot have times, until, else, error or drop", "Make it a turn instead."
            )
    return Conversation(
        name=(fields.text("name") or name) if named else name,
        turns=turns,
        when=_pattern(fields, "when") if named else None,
        answers=answers,
        find=find,
        plain=fields.truth("plain"),
    )


def _turn(fields: Fields, known: set[str], *, inner: bool = False) -> Turn:
    calls = tuple(_call(each) for each in fields.mappings("calls", _call_fields(), what="a call"))
    fault = _fault(fields)
    drop = fields.truth("drop")
    if fault is not None and any(name in fields for name in ("text", "calls", "json", "thinking", "drop")):
        raise fields.error("an error comes instead of a reply", "Make the reply a turn of its own, after the error.")
    if not any(name in fields for name in ("text", "calls", "json", "thinking", "error", "drop")):
        raise fields.error("says nothing", "Give it text, calls, json, thinking, error or drop.")
    if "json" in fields and calls:
        raise fields.at("json").error("cannot stand beside calls", "Make it a turn of its own, after the calls.")
    if inner and (stray := [name for name in ("heard", "saw", "until", "times", "else") if name in fields]):
        raise fields.at(stray[0]).error("cannot stand inside `else`", "Make it a turn of its own.")
    if "else" in fields and not ("heard" in fields or "saw" in fields):
        raise fields.at("else").error("needs `heard` or `saw` beside it", "Say when the turn itself is played.")
    otherwise = fields.mapping("else", TURN_FIELDS, what="a turn")
    until = _pattern(fields, "until")
    turn = Turn(
        line=fields.line,
        text=fields.text("text"),
        thinking=fields.text("thinking"),
        calls=calls,
        json=fields.get("json"),
        fault=fault,
        drop=drop,
        delay=fields.seconds("delay") or 0.0,
        stall=fields.seconds("stall") or 0.0,
        usage=_usage(fields),
        times=_times(fields, default=ALWAYS if until else 1),
        until=until,
        heard=_pattern(fields, "heard"),
        saw=_pattern(fields, "saw"),
        otherwise=_turn(otherwise, known, inner=True) if otherwise else None,
    )
    for value in (turn.text, turn.thinking, turn.json, *((c.target, c.content, c.old, c.args) for c in calls)):
        if unknown := names_in(value) - known:
            raise fields.error(
                f"${{{min(unknown)}}} has no value",
                f"Known: {', '.join(sorted(known))}. Add it under `find`; or write $${{…}} for the characters.",
            )
    return turn


def _times(fields: Fields, *, default: int) -> int:
    value = fields.get("times")
    if value is None:
        return default
    if value == "always":
        return ALWAYS
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise fields.at("times").error(f"{value!r} does not fit", "Allowed: a number from 1, or always.")
    return value


def _fault(fields: Fields) -> Fault | None:
    value = fields.get("error")
    if value is None:
        for name in ("message", "retry_after"):
            if name in fields:
                raise fields.at(name).error("belongs to an `error`", "Add `error:`, or take it out.")
        return None
    if isinstance(value, bool) or not isinstance(value, int | str) or value not in FAULTS:
        allowed = ", ".join(str(each) for each in FAULTS)
        raise fields.at("error").error(f"{value!r} is not an error that can be played", f"Allowed: {allowed}.")
    status, kind, message = FAULTS[value]
    return Fault(
        status=status,
        kind=kind,
        message=fields.text("message") or message,
        retry_after=fields.seconds("retry_after"),
    )


def _usage(fields: Fields) -> Usage | None:
    told = fields.mapping("usage", ("input", "cached", "output"), what="usage")
    if told is None:
        return None
    plain = Usage()
    return Usage(
        input=told.count("input", plain.input),
        cached=told.count("cached", plain.cached),
        output=told.count("output", plain.output),
    )


def _call_fields() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for kind, more in CALLS.items() for name in (kind, *more)))


def _call(fields: Fields) -> Call:
    kinds = [kind for kind in CALLS if kind in fields]
    if len(kinds) != 1:
        raise fields.error("a call needs exactly one of its kinds", f"Allowed: {', '.join(CALLS)}.")
    kind = kinds[0]
    for name in fields.data:
        if name != kind and name not in CALLS[kind]:
            allowed = ", ".join(CALLS[kind]) or "nothing"
            raise fields.at(name).error(f"does not belong to a {kind} call", f"Allowed beside `{kind}`: {allowed}.")
    for name in CALLS[kind]:
        if name not in fields and name != "args":
            raise fields.error(f"a {kind} call needs `{name}`", f"Add `{name}:`.")
    target = fields.text(kind)
    if not target:
        raise fields.at(kind).error("is empty", f"Say what to {kind}.")
    args = fields.get("args", {})
    if not isinstance(args, dict):
        raise fields.at("args").error(f"{args!r} is not a mapping", "Give the tool's arguments by name.")
    match kind:
        case "write":
            return Call(kind="write", target=target, content=fields.text("content"))
        case "edit":
            return Call(kind="edit", target=target, content=fields.text("new"), old=fields.text("old"))
        case "read":
            return Call(kind="read", target=target)
        case "raw":
            return Call(kind="raw", target=target, args=args)
        case _:
            return Call(kind="shell", target=target)


def _pattern(fields: Fields, name: str) -> Pattern | None:
    source = fields.text(name)
    if not source:
        return None
    expression = expression_of(source)
    if expression is not None:
        _check(expression, fields.at(name))
    return Pattern(source=source)


def _finding(where: Fields) -> Finding:
    if isinstance(where.data, str):
        pattern, otherwise = where.data, None
    else:
        pair = Fields(where.source, where.path, where.data, ("pattern", "else"), what="a value to find")
        pattern, otherwise = pair.text("pattern"), (pair.text("else") if "else" in pair else None)
    if not pattern:
        raise where.error("has no pattern", "Give a regular expression.")
    _check(pattern, where)
    return Finding(pattern=pattern, otherwise=otherwise)


def _check(expression: str, where: Fields) -> None:
    try:
        re.compile(expression)
    except re.error as error:
        raise where.error(f"is not a regular expression ({error})", "Mend it, or write plain words.") from None
