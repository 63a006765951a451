"""What does an agent of the Agent Client Protocol send? (JSON-RPC lines on its standard output)

Only the agent's half is read, live and saved alike. `agents.acp_talk` therefore names its requests after their methods
(`session/prompt:1`), so that an answer tells what it answers; in other clients' streams the answer's shape tells it.
What comes before the session stands is the replay of an earlier session's history and is no part of this turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from touchline.supervision.facts import Ended, FaultKind, Spent
from touchline.transcripts.acp_calls import Calls
from touchline.transcripts.acp_usage import add_usage
from touchline.transcripts.ending import End, Process
from touchline.transcripts.faults import kind_of, status_in
from touchline.transcripts.gathering import NO_USAGE, Gathering
from touchline.transcripts.opencode_parts import REJECTED
from touchline.transcripts.shapes import identifier, items, joined_text, mapping, money, text, whole

INITIALIZE = "initialize"
AUTHENTICATE = "authenticate"
NEW = "session/new"
LOAD = "session/load"
RESUME = "session/resume"
PROMPT = "session/prompt"
FENCE = "_touchline/fence"
"""A request nobody knows: its refusal shows that the replay of a loaded session has come to its end."""
OURS = (INITIALIZE, AUTHENTICATE, "session/", FENCE)
"""How the ids of our own requests begin."""

NAMES = {"opencode": "opencode", "gemini-cli": "gemini"}
"""How agents call themselves, and how Touchline calls them."""
ENDS = {
    "end_turn": Ended.FINISHED,
    "max_tokens": Ended.LIMIT,
    "max_turn_requests": Ended.LIMIT,
    "cancelled": Ended.INTERRUPTED,
}
AUTH_REQUIRED = -32000
PIECES_KEPT = 1_000_000
"""Characters of one message that are put together before they are handed on."""
MODE_NOTE = "[MODE_UPDATE] "
"""Gemini CLI tells a change of its mode as words of the agent."""
TURNED = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update"}
)
IGNORED = frozenset({"plan", "available_commands_update", "current_mode_update", "session_info_update"})
CLIENT_WORK = ("fs/", "terminal/", "_", "$/")
"""Requests and notes for a client with abilities that were not declared, and extensions: no part of the turn."""


class AcpRecords:
    """The records of one turn. `told_usd` is what the session had cost before; agents tell only the sum.

    `messages`, where given, takes every message, for whoever has to answer it.
    """

    def __init__(
        self, cli: str = "", *, told_usd: float | None = None, messages: deque[Mapping[str, Any]] | None = None
    ) -> None:
        self.turn = Gathering(cli or "acp")
        self.told_usd = told_usd
        self.live = True
        """False while what comes is the history of an earlier session."""
        self.awaited: set[str] = set()
        """Prompts that were sent and not answered yet; only who sent them knows."""
        self._named = bool(cli)
        self._messages = messages
        self._calls = Calls(self.turn)
        self._pieces: list[str] = []
        self._pieces_size = 0
        self._pieces_id: str | None = None
        self._replayed = 0
        self._resumed = False
        self._active = False
        self._rejected = False
        self._final: End | None = None
        self._failure: tuple[End, FaultKind, str, int | None] | None = None

    def read(self, record: Mapping[str, Any]) -> bool:
        if self._messages is not None:
            self._messages.append(record)
        method = record.get("method")
        if isinstance(method, str):
            params = mapping(record.get("params"))
            if method == "session/update":
                return self._update(params)
            if method == "session/request_permission":
                if self.live:
                    self._flush()
                    self._calls.permission(mapping(params.get("toolCall")))
                return True
            return method.startswith(CLIENT_WORK)
        if "id" in record and ("result" in record or "error" in record):
            return self._response(record)
        return False

    def refused(self, call: Mapping[str, Any]) -> None:
        """The client did not allow a call."""
        self._calls.refused(call)
        self.turn.fault("permission", f"not allowed: {text(call.get('title')) or 'a call without a title'}")

    def fail(self, message: str, *, kind: FaultKind = "other", detail: str = "") -> None:
        """The client found that the turn cannot go on."""
        self._failure = (End(ended=Ended.CRASHED, detail=detail or message), kind, message, None)

    def end(self, _process: Process, /) -> End | None:
        self._flush()
        self._calls.close()
        if self._failure is not None:
            end, kind, message, status = self._failure
            self.turn.fault(kind, message, status=status, fatal=True)
            return end
        return None if self.awaited else self._final

    def _update(self, params: Mapping[str, Any]) -> bool:
        session = identifier(params.get("sessionId"))
        if self.turn.session_id is None:
            self.turn.session_id = session
        elif session is not None and session != self.turn.session_id:
            return True
        update = mapping(params.get("update"))
        kind = text(update.get("sessionUpdate"))
        if kind == "usage_update":
            self._cost(update)
        elif kind == "config_option_update":
            self._options(update)
        elif not self.live:
            self._replayed += kind in TURNED
            return kind in TURNED or kind in IGNORED
        elif kind == "agent_message_chunk":
            self._piece(update)
        elif kind in ("tool_call", "tool_call_update"):
            self._flush()
            self._active, self._final = True, None
            self._rejected = REJECTED in self._calls.update(update)
        elif kind == "user_message_chunk":
            self._flush()
            self.turn.prompt(joined_text(update.get("content")))
        elif kind == "agent_thought_chunk":
            self._active = True
        else:
            return kind in IGNORED
        return True

    def _piece(self, update: Mapping[str, Any]) -> None:
        words, message = joined_text(update.get("content")), identifier(update.get("messageId"))
        if words.startswith(MODE_NOTE) and "\n" not in words:
            return
        if message != self._pieces_id or self._pieces_size > PIECES_KEPT:
            self._flush()
        self._active, self._rejected, self._final = True, False, None
        self._pieces.append(words)
        self._pieces_size += len(words)
        self._pieces_id = message

    def _flush(self) -> None:
        if self._pieces:
            self.turn.text("".join(self._pieces), message_id=self._pieces_id)
        self._pieces, self._pieces_size, self._pieces_id = [], 0, None

    def _cost(self, update: Mapping[str, Any]) -> None:
        if self.live:
            self._calls.begin_known()
        told = mapping(update.get("cost"))
        sum_now = money(told.get("amount"))
        if sum_now is None or text(told.get("currency")) not in ("", "USD"):
            return
        # Without a sum to take off, what a resumed session costs now cannot be told from what it cost before.
        if self.live and (self.told_usd is not None or not self._resumed):
            cost = max(0.0, sum_now - (self.told_usd or 0.0))
            self.turn.charge(cost)
            if cost:
                self.turn.add(Spent(usage=NO_USAGE, model=self.turn.model, cost_usd=cost))
        self.told_usd = sum_now

    def _options(self, result: Mapping[str, Any]) -> None:
        model = text(mapping(result.get("models")).get("currentModelId"))
        for option in map(mapping, items(result.get("configOptions"))):
            if option.get("category") == "model" or option.get("id") == "model":
                model = text(option.get("currentValue"))
        self.turn.model = model or self.turn.model

    def _response(self, record: Mapping[str, Any]) -> bool:
        method, result = _method_of(record), mapping(record.get("result"))
        if isinstance(record.get("id"), str):
            self.awaited.discard(record["id"])
        if method == FENCE:
            self.live = self.live or not self._replayed
            self._replayed = 0
        elif "error" in record:
            self._error(method, mapping(record.get("error")))
        elif method == INITIALIZE:
            self._introduced(result)
        elif method in (NEW, RESUME, LOAD):
            self._stands(method, result)
        elif method == PROMPT:
            self._answered(result)
        else:
            self._options(result)
        return True

    def _introduced(self, result: Mapping[str, Any]) -> None:
        self.live = False
        name = text(mapping(result.get("agentInfo")).get("name"))
        if not self._named:
            self.turn.cli = NAMES.get(name.lower(), self.turn.cli)

    def _stands(self, method: str, result: Mapping[str, Any]) -> None:
        """The session is there. A loaded one may still be telling its history: some agents do not wait for that."""
        self._recovered()
        self.live = method != LOAD
        self._resumed = method != NEW
        self._replayed = 0
        self.turn.session_id = identifier(result.get("sessionId")) or self.turn.session_id
        self._options(result)

    def _answered(self, result: Mapping[str, Any]) -> None:
        self._flush()
        if self._final is not None and not self._active:
            # Two prompts that were merged are both answered, with the same numbers.
            return
        self._active = False
        add_usage(self.turn, result)
        reason = text(result.get("stopReason"))
        if reason == "refusal":
            message = "the model, or a filter in front of it, refused to go on"
            self._failure = (End(ended=Ended.API_ERROR, detail=reason), "bad_request", message, None)
        if self._rejected and reason == "end_turn":
            # OpenCode stops at a call that was not allowed, and calls that the end of its turn.
            self._final = End(ended=Ended.INTERRUPTED, detail="permission rejected")
            return
        self._final = End(ended=ENDS.get(reason, Ended.UNKNOWN), detail=reason or "no stop reason")

    def _error(self, method: str, error: Mapping[str, Any]) -> None:
        self._flush()
        self._recovered()
        code, data = whole(error.get("code")), mapping(error.get("data"))
        message = text(error.get("message")) or "the agent gave an error without a message"
        detail = text(data.get("details")) or text(data.get("message"))
        if detail and detail not in message:
            message = f"{message}: {detail}"
        status = next(
            (n for n in (code, whole(data.get("statusCode")), whole(data.get("status"))) if _is_status(n)), None
        )
        status = status or status_in(message)
        word = text(data.get("errorName")) or None
        kind: FaultKind = "auth" if code == AUTH_REQUIRED else kind_of(status=status, word=word, message=message)
        ended = Ended.API_ERROR if method == PROMPT or kind == "auth" or status else Ended.CRASHED
        name = (
            "prompt_too_long" if kind == "context" else f"api {status}" if status else f"{method or 'request'}: {kind}"
        )
        self._failure = (End(ended=ended, detail=name), kind, message, status)

    def _recovered(self) -> None:
        """What failed before was not the end."""
        if self._failure is not None:
            _, kind, message, status = self._failure
            self.turn.fault(kind, message, status=status)
            self._failure = None


def _is_status(number: int | None) -> bool:
    return number is not None and 400 <= number < 600


def _method_of(record: Mapping[str, Any]) -> str:
    """Which request an answer belongs to: by its id when it was ours, else by what it holds."""
    name = record.get("id")
    if isinstance(name, str) and name.startswith(OURS):
        return name.partition(":")[0]
    result = mapping(record.get("result"))
    if "protocolVersion" in result:
        return INITIALIZE
    if "stopReason" in result or "error" in record:
        return PROMPT
    return NEW if {"sessionId", "modes", "models"} & result.keys() else ""
