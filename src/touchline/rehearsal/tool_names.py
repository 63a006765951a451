"""What does a CLI call its tools? A call of the script becomes a call of a tool that the CLI offers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from touchline.rehearsal.turns import Call
from touchline.rehearsal.wire import Asked, ToolUse, new_id

Arguments = Callable[[Call], Mapping[str, Any]]

SHELL: Mapping[str, Arguments] = {
    "Bash": lambda call: {"command": call.target, "description": "Run a command"},
    "bash": lambda call: {"command": call.target, "description": "Run a command"},
    "exec_command": lambda call: {"cmd": call.target},
    "shell_command": lambda call: {"command": call.target},
    "shell": lambda call: {"command": ["bash", "-lc", call.target]},
    "run_shell_command": lambda call: {"command": call.target, "description": "Run a command"},
}
WRITE: Mapping[str, Arguments] = {
    "Write": lambda call: {"file_path": call.target, "content": call.content},
    "write": lambda call: {"filePath": call.target, "content": call.content},
    "write_file": lambda call: {"file_path": call.target, "content": call.content},
}
EDIT: Mapping[str, Arguments] = {
    "Edit": lambda call: {"file_path": call.target, "old_string": call.old, "new_string": call.content},
    "edit": lambda call: {"filePath": call.target, "oldString": call.old, "newString": call.content},
    "replace": lambda call: {
        "file_path": call.target,
        "instruction": "Change the text",
        "old_string": call.old,
        "new_string": call.content,
    },
}
READ: Mapping[str, Arguments] = {
    "Read": lambda call: {"file_path": call.target},
    "read": lambda call: {"filePath": call.target},
    "read_file": lambda call: {"file_path": call.target},
}
KINDS: Mapping[str, Mapping[str, Arguments]] = {"shell": SHELL, "write": WRITE, "edit": EDIT, "read": READ}
STRUCTURED = ("StructuredOutput", "final_result")
"""Tools by which a client takes a structured answer."""


class NoTool(Exception):
    """The CLI offers no tool for a call of the script; the text says which."""


def use_for(call: Call, asked: Asked, *, reply: int) -> ToolUse:
    """The call as one of the tools on offer. Raises `NoTool`."""
    # The reply's number is part of the id: calls of one reply are recognised when the CLI sends them back.
    call_id = new_id(f"call_{reply}_")
    if call.kind == "raw":
        words = call.args.get("input") if call.target in asked.free_form else None
        return ToolUse(id=call_id, name=call.target, args=call.args, text=words if isinstance(words, str) else None)
    for name, arguments in KINDS[call.kind].items():
        if name in asked.tools:
            return ToolUse(id=call_id, name=name, args=arguments(call))
    if "exec" in asked.free_form:
        return ToolUse(id=call_id, name="exec", text=_program(call))
    if call.kind in ("write", "edit"):
        if "apply_patch" in asked.free_form:
            return ToolUse(id=call_id, name="apply_patch", text=_patch(call))
        if "apply_patch" in asked.tools:
            return ToolUse(id=call_id, name="apply_patch", args={"input": _patch(call)})
    for name, arguments in SHELL.items():
        if name in asked.tools and call.kind != "shell":
            return ToolUse(id=call_id, name=name, args=arguments(_by_shell(call)))
    offered = ", ".join(asked.tools) or "none"
    raise NoTool(f"the client offers no tool for a {call.kind} call; it offers: {offered}")


def structured_use(value: Any, asked: Asked, *, reply: int) -> ToolUse | None:
    """A structured answer as a tool call, when that is how the client takes it."""
    name = asked.forced or next(
        (tool for wanted in STRUCTURED for tool in asked.tools if tool.startswith(wanted)), None
    )
    return ToolUse(id=new_id(f"call_{reply}_"), name=name, args=value) if name else None


def _program(call: Call) -> str:
    """For models that answer with a program in JavaScript, which calls the tools."""
    if call.kind in ("write", "edit"):
        return f"text(await tools.apply_patch({json.dumps(_patch(call))}));"
    command = call.target if call.kind == "shell" else _by_shell(call).target
    return f"text(await tools.exec_command({json.dumps({'cmd': command})}));"


def _patch(call: Call) -> str:
    if call.kind == "write":
        body = [f"*** Add File: {call.target}", *(f"+{line}" for line in _lines(call.content))]
    else:
        body = [
            f"*** Update File: {call.target}",
            "@@",
            *(f"-{line}" for line in _lines(call.old)),
            *(f"+{line}" for line in _lines(call.content)),
        ]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch"])


def _lines(content: str) -> list[str]:
    return content.removesuffix("\n").split("\n")


def _by_shell(call: Call) -> Call:
    """The same through a shell, for CLIs without such a tool."""
    name = shlex.quote(call.target)
    if call.kind == "read":
        return Call(kind="shell", target=f"cat {name}")
    if call.kind == "write":
        return Call(kind="shell", target=f"printf %s {shlex.quote(call.content)} > {name}")
    program = "import sys;p,o,n=sys.argv[1:];t=open(p).read();assert o in t;open(p,'w').write(t.replace(o,n,1))"
    words = " ".join(shlex.quote(each) for each in (program, call.target, call.old, call.content))
    return Call(kind="shell", target=f"python3 -c {words}")
