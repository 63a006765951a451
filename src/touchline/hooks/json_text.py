"""How is a JSON file changed without touching a byte of what others wrote in it?

Entries are put in at the end of a list or object and taken out again by their place in the text; nothing is ever
written anew. The white space before an entry tells, when it is taken out, whose the list or object around it was:
none means that it was there and empty, any means that it was made for the entry and goes with it. Where somebody wrote
the file anew without line breaks it tells nothing any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from touchline.supervision.values import Value

_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()
_COMMENTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
"""Comments, and strings, in which nothing is one."""
_INK = re.compile(r"[^\r\n]")


class Node(Value):
    """A value, and where it stands in the text."""

    kind: Literal["object", "array", "other"]
    start: int
    end: int
    value: Any
    """The value as `json` reads it."""
    items: tuple[Item, ...] = ()
    """What an object or a list holds, in order."""

    def member(self, key: str) -> Item | None:
        """The member that counts: of several with one name readers take the last."""
        return next((item for item in reversed(self.items) if item.key == key), None)


class Item(Value):
    """A member of an object, or an element of a list."""

    start: int
    """Where it begins: at its key, where it has one."""
    key: str | None
    node: Node


def parse(text: str, *, comments: bool = False) -> Node:
    """The document. Raises `ValueError` where the text is not JSON, and for nesting beyond all use."""
    plain = blanked(text) if comments else text
    try:
        json.loads(plain, parse_constant=_no_json)  # the strict reading; what follows may rely on it
        return _value(plain, _blank(plain, 0))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_json(word: str) -> None:
    """`NaN` and the like, which Python reads and agents do not."""
    raise ValueError(f"{word} is no JSON")


def blanked(text: str) -> str:
    """The text with spaces in the place of comments, so that every other character stands where it stood."""
    return _COMMENTS.sub(lambda found: found[0] if found[0][0] == '"' else _INK.sub(" ", found[0]), text)


def _remarks(text: str, start: int, end: int) -> str:
    """What stands there, if a comment is in it: white space around an entry is the entry's, a comment is a person's."""
    return text[start:end] if blanked(text)[start:end] != text[start:end] else ""


def _value(text: str, at: int) -> Node:
    start = at
    if text[at] not in "{[":
        value, end = _DECODER.raw_decode(text, at)
        return Node(kind="other", start=start, end=end, value=value)
    named = text[at] == "{"
    closing = "}" if named else "]"
    items: list[Item] = []
    at = _blank(text, at + 1)
    while text[at] != closing:
        if text[at] == ",":
            at = _blank(text, at + 1)
        begin, key = at, None
        if named:
            key, at = _DECODER.raw_decode(text, at)
            at = _blank(text, _blank(text, at) + 1)
        node = _value(text, at)
        items.append(Item(start=begin, key=key, node=node))
        at = _blank(text, node.end)
    held: Any = {str(i.key): i.node.value for i in items} if named else [i.node.value for i in items]
    return Node(kind="object" if named else "array", start=start, end=at + 1, value=held, items=tuple(items))


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def add(text: str, holder: Node, entry: str, lead: str) -> str:
    """Put an entry in at the end of a list or object; `lead` is the white space before it."""
    if not holder.items:
        at = holder.start + 1
        return text[:at] + entry + text[at:]
    at = holder.items[-1].node.end
    return text[:at] + "," + lead + entry + text[at:]


def remove(text: str, path: tuple[tuple[Node, int], ...], *, anew: bool = False) -> str:
    """Take out what `path` leads to: from the document down, each holder with the index of the item in it.

    A holder that was made for the entry goes with it. An empty text means that nothing is left. `anew`: white space
    does not tell which those are; all that would be empty go, but for the document.
    """
    holder, index = path[-1]
    item = holder.items[index]
    if index > 0:
        comma = blanked(text).index(",", holder.items[index - 1].node.end)
        return text[:comma] + _remarks(text, comma + 1, item.start) + text[item.node.end :]
    if len(holder.items) > 1:
        comma = blanked(text).index(",", item.node.end)
        return text[: holder.start + 1] + _remarks(text, holder.start + 1, item.start) + text[comma + 1 :]
    if len(path) == 1 if anew else item.start == holder.start + 1:
        return text[: item.start] + text[item.node.end :]
    if len(path) > 1:
        return remove(text, path[:-1], anew=anew)
    return text[: holder.start] + text[holder.end :]


def last_path(
    node: Node, wanted: Callable[[Node], bool], before: tuple[tuple[Node, int], ...] = ()
) -> tuple[tuple[Node, int], ...] | None:
    """The way to the last wanted value in the text, or None."""
    return next(_paths(node, wanted, before), None)


def _paths(
    node: Node, wanted: Callable[[Node], bool], before: tuple[tuple[Node, int], ...]
) -> Iterator[tuple[tuple[Node, int], ...]]:
    for index in range(len(node.items) - 1, -1, -1):
        way = (*before, (node, index))
        inner = node.items[index].node
        if wanted(inner):
            yield way
        else:
            yield from _paths(inner, wanted, way)


class Layout(Value):
    """How a file is written: its line ends and one step of indentation."""

    newline: str = "\n"
    step: str = "  "

    def lead(self, depth: int) -> str:
        """A new line, indented."""
        return self.newline + self.step * depth


def layout_of(text: str) -> Layout:
    """The layout of a file, by its first line end and its first indented line."""
    head, end, rest = text.partition("\n")
    if not end:
        return Layout()
    newline = "\r\n" if head.endswith("\r") else "\n"
    for line in (head + "\n" + rest).splitlines():
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return Layout(newline=newline, step=indent)
    return Layout(newline=newline)
