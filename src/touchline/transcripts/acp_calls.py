"""Which tool did an agent of the Agent Client Protocol call, and what came of it?

A call is told in pieces: announced, filled in, allowed, done. It becomes one `Call` once it runs (or is done) and one
`Result`. Agents differ in what they tell: OpenCode and Claude give arguments, Gemini CLI only a title and a difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from touchline.transcripts.bounds import RESULT_TAIL
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.shapes import identifier, items, joined_text, mapping, text, whole

DONE = frozenset({"completed", "failed"})
TWICE_NAMED = re.compile(r"([A-Za-z]\w*?)__\1_\d")
"""Gemini CLI's ids begin with the tool's name, said twice; it stands nowhere else."""
REFUSED = "The supervisor did not allow this call."


class _Told:
    """What is known of a call so far."""

    def __init__(self) -> None:
        self.tool = ""
        self.title = ""
        self.kind = ""
        self.args: Mapping[str, Any] = {}
        self.content: list[Any] = []
        self.path = ""
        self.output = ""
        self.begun = False
        self.refused = False


class Calls:
    """The calls of a turn, added to it as they begin and end."""

    def __init__(self, turn: Gathering) -> None:
        self._turn = turn
        self._open: dict[str, _Told] = {}
        self._done: set[str] = set()

    def update(self, update: Mapping[str, Any]) -> str:
        """A `tool_call` or `tool_call_update`; returns the error of a call that failed by it."""
        call_id = self._take(update)
        status = text(update.get("status"))
        if call_id is None or status not in ("in_progress", *DONE):
            return ""
        self._begin(call_id)
        if status == "in_progress":
            return ""
        words = self._end(call_id, update, failed=status == "failed")
        return words if status == "failed" else ""

    def permission(self, call: Mapping[str, Any]) -> None:
        """The agent asks whether it may; some tell of the call here only."""
        known = self._open.get(identifier(call.get("toolCallId")) or "")
        before = known.args if known is not None else {}
        call_id = self._take(call)
        if call_id is not None:
            # A question shows a digest of the arguments; what was told before of them counts more.
            self._open[call_id].args = {**self._open[call_id].args, **before}
            self._begin(call_id)

    def refused(self, call: Mapping[str, Any]) -> None:
        told = self._open.get(identifier(call.get("toolCallId")) or "")
        if told is not None:
            told.refused = True

    def begin_known(self) -> None:
        """The model's message is over: calls that have their arguments run now, whether or not the agent says so."""
        for call_id, told in self._open.items():
            if told.args:
                self._begin(call_id)

    def close(self) -> None:
        """Nothing more comes. What was refused has failed, also where the agent does not say so."""
        for call_id, told in self._open.items():
            self._begin(call_id)
            if told.refused:
                self._turn.result(call_id, REFUSED, failed=True)
        self._open.clear()

    def _take(self, update: Mapping[str, Any]) -> str | None:
        call_id = identifier(update.get("toolCallId")) or f"unnamed_{self._turn.added}"
        if call_id in self._done:
            return None
        told = self._open.setdefault(call_id, _Told())
        told.tool = told.tool or _tool_name(call_id, update)
        told.title = text(update.get("title")) or told.title
        told.kind = text(update.get("kind")) or told.kind
        told.args = mapping(update.get("rawInput")) or told.args
        if "content" in update:
            told.content = items(update.get("content"))
        for place in map(mapping, items(update.get("locations"))):
            told.path = text(place.get("path")) or told.path
        delta = text(mapping(mapping(update.get("_meta")).get("terminal_output_delta")).get("data"))
        if delta:
            told.output = (told.output + delta)[-10 * RESULT_TAIL :]
        return call_id

    def _begin(self, call_id: str) -> None:
        told = self._open[call_id]
        if not told.begun:
            told.begun = True
            self._turn.call(call_id, told.tool or told.kind or "other", told.args or _args(told))

    def _end(self, call_id: str, update: Mapping[str, Any], *, failed: bool) -> str:
        told = self._open.pop(call_id)
        self._done.add(call_id)
        raw = update.get("rawOutput")
        output = mapping(raw)
        words = (
            text(raw)
            or text(output.get("output"))
            or text(output.get("error"))
            or "\n".join(filter(None, (joined_text(mapping(item).get("content")) for item in told.content)))
            or told.output
        )
        exits = mapping(mapping(update.get("_meta")).get("terminal_exit"))
        codes = (mapping(output.get("metadata")).get("exit"), exits.get("exit_code"), output.get("exit_code"))
        exit_code = next((code for code in map(whole, codes) if code is not None), None)
        self._turn.result(call_id, words, failed=failed or told.refused, exit_code=exit_code)
        return words


def _tool_name(call_id: str, update: Mapping[str, Any]) -> str:
    named = text(update.get("name")) or text(mapping(mapping(update.get("_meta")).get("claudeCode")).get("toolName"))
    if named:
        return named
    if found := TWICE_NAMED.match(call_id):
        return found[1]
    # OpenCode announces a call under its tool's name, and gives it a title for people only later.
    announced = update.get("sessionUpdate") == "tool_call" and "rawInput" in update
    title = text(update.get("title"))
    return title if announced and re.fullmatch(r"\w[\w-]*", title) else ""


def _args(told: _Told) -> dict[str, Any]:
    """Arguments in the words the rules know, from what an agent shows to people."""
    changes = [mapping(item) for item in told.content if mapping(item).get("type") == "diff"]
    if len(changes) > 1:
        kinds = [text(mapping(change.get("_meta")).get("kind")) or "update" for change in changes]
        return {"changes": [{"path": text(c.get("path")), "kind": k} for c, k in zip(changes, kinds, strict=True)]}
    if changes:
        change = changes[0]
        old, new = text(change.get("oldText")), text(change.get("newText"))
        path = text(change.get("path"))
        return {"path": path, "oldText": old, "newText": new} if old else {"path": path, "content": new}
    if told.kind == "execute" and told.title:
        return {"command": told.title}
    if told.path:
        return {"path": told.path}
    return {"title": told.title} if told.title else {}
