"""What is written into an agent's settings, and what is taken out again? Text in, text out; files are `install`'s.

One line per event, recognised by the program it starts. Other hooks, unknown keys and formatting stay byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from touchline.errors import InputError
from touchline.hooks.json_text import Layout, Node, add, last_path, layout_of, parse, remove

MARK = "touchline/hooks/entry.py"
"""What makes a command ours: the program it starts, wherever it is installed."""


def installed(text: str | None, commands: Mapping[str, Mapping[str, Any]], *, comments: bool = False) -> str:
    """The text with our hook at each event; `commands` holds what is put there, by the event's name.

    Hooks of ours that are there already are taken out first. `text` is None for a missing file. `comments`: the agent
    reads JSON with comments, which stay.
    """
    if text is not None:
        text = removed(text, comments=comments)
    made = [(event, _group(hook)) for event, hook in commands.items()]
    if text is None:
        layout = Layout()
        return f"{{{layout.lead(1)}{_hooks(made, layout)}{layout.newline}}}{layout.newline}"
    if not text.strip():
        # One space inside the brace: a sign for `removed` that the file was there and empty.
        return "{ " + _hooks(made, Layout()) + "}" + text
    document = _document(text, comments)
    if document.member("hooks") is None:
        layout = layout_of(text)
        return add(text, document, _hooks(made, layout), layout.lead(1))
    for event, group in made:
        text = _with_event(text, event, group, comments)
    return text


def _with_event(text: str, event: str, group: str, comments: bool) -> str:
    layout, hooks = layout_of(text), _document(text, comments).member("hooks")
    assert hooks is not None
    if hooks.node.kind != "object":
        raise InputError(
            f'"hooks" is {json.dumps(hooks.node.value)[:60]}, not an object.', hint="Mend the file, then try again."
        )
    member = hooks.node.member(event)
    if member is None:
        return add(text, hooks.node, _event(event, group, layout), layout.lead(2))
    if member.node.kind != "array":
        raise InputError(
            f'"hooks" has {event} as {json.dumps(member.node.value)[:60]}, not as a list.',
            hint="Mend the file, then try again.",
        )
    return add(text, member.node, group, layout.lead(3))


def removed(text: str, *, comments: bool = False) -> str | None:
    """The text without our hooks; None when the file was made for them."""
    anew: bool | None = None
    while text.strip():
        document = _document(text, comments)
        path = _last_hook(document)
        if path is None:
            return text
        if anew is None:
            # We write at least one line break between our hooks: where none is, another program wrote them down.
            hooks = document.items[path[0][1]].node
            anew = "\n" not in text[hooks.start : hooks.end]
        only = document.items[0] if len(document.items) == 1 else None
        text = remove(text, _with_group(path), anew=anew)
        if only is not None and not text.strip():
            return text if only.start == document.start + 2 else None
    return text


def _with_group(path: tuple[tuple[Node, int], ...]) -> tuple[tuple[Node, int], ...]:
    """The way to the group around our hook; to the hook alone, when somebody put it into a group with others."""
    (above, index), (hooks, _) = path[-2:]
    return path[:-2] if above.items[index].key == "hooks" and len(hooks.items) == 1 else path


def _last_hook(document: Node) -> tuple[tuple[Node, int], ...] | None:
    """The way to the last of our hooks. A command elsewhere that looks like one, as in a status line, is a person's."""
    at = next((n for n in reversed(range(len(document.items))) if document.items[n].key == "hooks"), None)
    below = None if at is None else last_path(document.items[at].node, _ours)
    return None if at is None or below is None else ((document, at), *below)


def commands_in(text: str, *, comments: bool = False) -> dict[str, str]:
    """Our command at each event where it stands."""
    found: dict[str, str] = {}
    hooks = _document(text, comments).member("hooks") if text.strip() else None
    for item in hooks.node.items if hooks else ():
        path = last_path(item.node, _ours)
        if path is not None and item.key is not None:
            holder, index = path[-1]
            found[item.key] = str(holder.items[index].node.value["command"])
    return found


def value_of(text: str, *, comments: bool = False) -> Mapping[str, Any]:
    """What the file says. Raises `InputError`."""
    value: Mapping[str, Any] = _document(text, comments).value if text.strip() else {}
    return value


def _ours(node: Node) -> bool:
    command = node.value.get("command") if node.kind == "object" else None
    return isinstance(command, str) and MARK in command.replace("\\", "/")


def _document(text: str, comments: bool = False) -> Node:
    try:
        document = parse(text, comments=comments)
    except ValueError as error:
        raise InputError(f"it is not JSON ({error}).", hint="Mend the file, then try again.") from error
    if document.kind != "object":
        raise InputError("it holds no JSON object.", hint="Mend the file, then try again.")
    return document


def _group(hook: Mapping[str, Any]) -> str:
    matcher = {k: v for k, v in hook.items() if k == "matcher"}
    return json.dumps({**matcher, "hooks": [{k: v for k, v in hook.items() if k != "matcher"}]}, ensure_ascii=False)


def _event(event: str, group: str, layout: Layout) -> str:
    return f"{json.dumps(event)}: [{layout.lead(3)}{group}{layout.lead(2)}]"


def _hooks(made: Sequence[tuple[str, str]], layout: Layout) -> str:
    events = f",{layout.lead(2)}".join(_event(event, group, layout) for event, group in made)
    return f'"hooks": {{{layout.lead(2)}{events}{layout.lead(1)}}}'
