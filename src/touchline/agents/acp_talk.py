"""What is said to an agent of the Agent Client Protocol, and what does it answer? One turn as JSON-RPC lines.

initialize, then the session (new, resumed or loaded; after an authentication where the agent wants one), its mode and
model, and the prompt. The client offers no abilities: an agent that can write files through its client does so, and
fails. What the lines tell of the turn is read by `transcripts.acp`, as it is of a saved stream.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from touchline.agents.acp_permissions import CANCELLED, allowed, outcome
from touchline.agents.acp_setup import Preset
from touchline.agents.port import Heard, Request
from touchline.supervision.facts import Turn
from touchline.transcripts.acp import (
    AUTH_REQUIRED,
    AUTHENTICATE,
    FENCE,
    INITIALIZE,
    LOAD,
    NEW,
    PROMPT,
    RESUME,
    AcpRecords,
)
from touchline.transcripts.ending import EndedBy
from touchline.transcripts.faults import kind_of
from touchline.transcripts.shapes import items, mapping, text, whole
from touchline.transcripts.stream import Stream

VERSION = 1
SET_MODE = "session/set_mode"
SET_MODEL = "session/set_model"
SET_OPTION = "session/set_config_option"
METHOD_NOT_FOUND = -32601
FENCES = 200
"""Round trips that the replay of a loaded session is waited for."""
AS_WORDS = "Task:\n"
"""Put before a prompt that begins like a command: agents run those, and drop the ones they do not know in silence."""


class AcpConversation:
    """A `Conversation` with the agent that `preset` describes. `told_usd` is what the session had cost before."""

    def __init__(self, preset: Preset, request: Request, *, told_usd: float | None = None) -> None:
        self._preset = preset
        self._request = request
        self._messages: deque[Mapping[str, Any]] = deque()
        self._records = AcpRecords(preset.name, told_usd=told_usd, messages=self._messages)
        self._records.turn.session_id = request.session
        self._records.turn.cwd = str(request.workspace)
        self._stream = Stream(self._records)
        self._asked: dict[str, str] = {}
        self._numbers = 0
        self._steps: deque[tuple[str, dict[str, Any]]] = deque()
        self._capabilities: Mapping[str, Any] = {}
        self._methods: frozenset[str] = frozenset()
        self._authenticated = False
        self._stopping = False
        self._fences = 0
        self._over = False

    @property
    def over(self) -> bool:
        return self._over

    @property
    def session_id(self) -> str | None:
        return self._records.turn.session_id

    @property
    def told_usd(self) -> float | None:
        """What the session has cost so far, where the agent says."""
        return self._records.told_usd

    def open(self) -> bytes:
        params = {
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "touchline", "version": "1"},
        }
        return self._ask(INITIALIZE, params)

    def hear(self, line: bytes) -> Heard:
        if self._over:
            return Heard()
        events = self._stream.feed(line)
        reply = b""
        before = self._records.turn.added
        while self._messages:
            message = self._messages.popleft()
            if not self._over:
                reply += self._react(message)
        added = self._records.turn.added - before
        return Heard(events=(*events, *self._records.turn.events[-added:]) if added else events, reply=reply)

    def say(self, text: str) -> bytes | None:
        if not self._preset.abilities.speak or self._stopping or self._over or not self._records.awaited:
            return None
        return self._prompt(text)

    def interrupt(self) -> bytes | None:
        if not self._preset.abilities.interrupt or self._over or not self._records.awaited:
            return None
        self._stopping = True
        return _line({"method": "session/cancel", "params": {"sessionId": self.session_id}})

    def finish(
        self, *, exit_code: int | None, signal: int | None = None, ended_by: EndedBy | None = None, errors: str = ""
    ) -> Turn:
        if errors and not self._over and ended_by is None:
            # It went before its answer; what it said on standard error is all there is to go by.
            self._records.turn.fault(kind_of(message=errors), errors.strip(), fatal=True)
        return self._stream.finish(exit_code=exit_code, signal=signal, ended_by=ended_by)

    def _react(self, message: Mapping[str, Any]) -> bytes:
        method, name = message.get("method"), message.get("id")
        if isinstance(method, str):
            return self._serve(method, name, mapping(message.get("params"))) if "id" in message else b""
        asked = self._asked.pop(name, "") if isinstance(name, str) else ""
        if not asked:
            return b""
        if asked == FENCE:
            return self._next()
        if "error" in message:
            return self._refusal(asked, mapping(message.get("error")))
        return self._answer(asked, mapping(message.get("result")))

    def _serve(self, method: str, name: Any, params: Mapping[str, Any]) -> bytes:
        """A request of the agent."""
        if not isinstance(name, str | int | None):
            return b""
        if method != "session/request_permission":
            error = {"code": METHOD_NOT_FOUND, "message": f"{method[:200]} is not offered by this client"}
            return _line({"id": name, "error": error})
        call = mapping(params.get("toolCall"))
        if self._stopping:
            return _line({"id": name, "result": {"outcome": CANCELLED}})
        allow = allowed(self._request, call)
        if not allow:
            self._records.refused(call)
        return _line({"id": name, "result": {"outcome": outcome(params.get("options"), allow=allow)}})

    def _answer(self, asked: str, result: Mapping[str, Any]) -> bytes:
        if asked == INITIALIZE:
            return self._introduced(result)
        if asked == AUTHENTICATE:
            return self._session()
        if asked in (NEW, RESUME, LOAD):
            self._plan(result)
        elif asked == PROMPT:
            self._over = not self._records.awaited
            return b""
        return self._next()

    def _introduced(self, result: Mapping[str, Any]) -> bytes:
        version = whole(result.get("protocolVersion"))
        if version != VERSION:
            return self._give_up(
                f"It speaks version {version} of the Agent Client Protocol; this client speaks {VERSION}."
            )
        self._capabilities = mapping(result.get("agentCapabilities"))
        methods = (text(mapping(method).get("id")) for method in items(result.get("authMethods")))
        self._methods = frozenset(methods)
        return self._session()

    def _session(self) -> bytes:
        """Resuming is silent; loading tells the whole history again. Both only where the agent offers them."""
        params: dict[str, Any] = {"cwd": str(self._request.workspace), "mcpServers": []}
        able = mapping(self._capabilities.get("sessionCapabilities"))
        if self._request.folders and "additionalDirectories" in able:
            params["additionalDirectories"] = [str(folder) for folder in self._request.folders]
        if self._request.session is None:
            return self._ask(NEW, params)
        params["sessionId"] = self._request.session
        if "resume" in able:
            return self._ask(RESUME, params)
        if self._capabilities.get("loadSession") is True:
            return self._ask(LOAD, params)
        return self._give_up(f"It cannot go on with session {self._request.session}: it offers no way to load one.")

    def _plan(self, session: Mapping[str, Any]) -> None:
        """What has to be set before the prompt, as the session stands."""
        if self._request.session is None and not text(session.get("sessionId")):
            self._give_up("It opened a session without an id.")
            return
        options = {text(mapping(o).get("id")): mapping(o) for o in items(session.get("configOptions"))}
        mode = self._preset.read_only_mode if self._request.read_only else self._preset.work_mode
        current = text(mapping(session.get("modes")).get("currentModeId"))
        if mode and (self._request.read_only or current or "mode" in options):
            self._set("mode", mode, current, SET_MODE, "modeId", options)
        model = self._request.model if self._preset.sets_model else None
        if model:
            current = text(mapping(session.get("models")).get("currentModelId"))
            if "model" not in options and "models" not in session:
                self._give_up(f"It offers no choice of a model, and {model} was asked for.")
            self._set("model", model, current, SET_MODEL, "modelId", options)

    def _set(
        self, option: str, value: str, current: str, method: str, key: str, options: Mapping[str, Mapping[str, Any]]
    ) -> None:
        offered = options.get(option)
        if offered is not None:
            method, key, current = SET_OPTION, "value", text(offered.get("currentValue"))
        if value != current:
            params = {"sessionId": self.session_id, key: value}
            self._steps.append((method, {**params, "configId": option} if offered is not None else params))

    def _next(self) -> bytes:
        if self._over:
            return b""
        if not self._records.live:
            self._fences += 1
            if self._fences > FENCES:
                return self._give_up("It does not come to an end of telling the loaded session's history.")
            return self._ask(FENCE, {})
        if self._steps:
            return self._ask(*self._steps.popleft())
        return self._prompt(self._request.prompt)

    def _prompt(self, words: str) -> bytes:
        if words.lstrip().startswith(("/", "$")):
            words = AS_WORDS + words
        params = {"sessionId": self.session_id, "prompt": [{"type": "text", "text": words}]}
        line = self._ask(PROMPT, params)
        self._records.awaited.add(f"{PROMPT}:{self._numbers}")
        return line

    def _refusal(self, asked: str, error: Mapping[str, Any]) -> bytes:
        method = self._preset.auth_method
        if asked in (NEW, RESUME, LOAD) and whole(error.get("code")) == AUTH_REQUIRED and not self._authenticated:
            self._authenticated = True
            if method in self._methods:
                return self._ask(AUTHENTICATE, {"methodId": method})
        # A mode or model that cannot be set is not gone on without. Other prompts may still be at work.
        self._over = asked != PROMPT or not self._records.awaited
        return b""

    def _give_up(self, why: str) -> bytes:
        self._records.fail(why)
        self._over = True
        return b""

    def _ask(self, method: str, params: Mapping[str, Any]) -> bytes:
        self._numbers += 1
        name = f"{method}:{self._numbers}"
        self._asked[name] = method
        return _line({"id": name, "method": method, "params": params})


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
