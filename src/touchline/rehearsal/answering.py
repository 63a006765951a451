"""How does one HTTP request get its answer? Framing, errors, slowness and cut connections; `runs` says what is said."""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, ClassVar

from touchline.rehearsal.api_anthropic import Anthropic
from touchline.rehearsal.api_chat import Chat
from touchline.rehearsal.api_gemini import Gemini
from touchline.rehearsal.api_responses import Responses
from touchline.rehearsal.runs import Played, Run
from touchline.rehearsal.tool_names import NoTool, structured_use, use_for
from touchline.rehearsal.turns import Fault, Reply, Usage
from touchline.rehearsal.wire import Api, Asked, Event, Spoken, new_id

if TYPE_CHECKING:
    from touchline.rehearsal.server import RehearsalServer

APIS: Mapping[str, tuple[str, Api]] = {
    r"/messages$": ("anthropic", Anthropic()),
    r"/responses$": ("responses", Responses()),
    r"/chat/completions$": ("chat", Chat()),
    r":(?:streamGenerateContent|generateContent)$": ("gemini", Gemini()),
}
COUNTS = {"/messages/count_tokens": {"input_tokens": 1000}, ":countTokens": {"totalTokens": 1000}}
MAX_BODY = 64 * 1024 * 1024


class _Cut(Exception):
    """The connection was closed on purpose."""


class Answering(BaseHTTPRequestHandler):
    """The handler of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "touchline-rehearsal"
    server_for: ClassVar[RehearsalServer]

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: standard error is the CLI's."""

    def do_HEAD(self) -> None:
        self._send_json({}, body=False)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        named = re.fullmatch(r"/s/([\w.-]+)/report", path)
        run = self.server_for.run(named[1]) if named else None
        if run is not None:
            self._send_json(run.report().as_json())
        elif path.endswith("/models"):
            model = {"id": "rehearsal", "object": "model", "created": 0, "owned_by": "touchline"}
            self._send_json({"object": "list", "data": [model], "models": []})
        else:
            self._send_json({"error": {"message": f"nothing is at {path}"}}, 404)

    def do_POST(self) -> None:
        try:
            self._post()
        except (_Cut, ConnectionError, TimeoutError):
            self.close_connection = True

    def _post(self) -> None:
        raw = self._body()
        path = self.path.partition("?")[0]
        for end, count in COUNTS.items():
            if path.endswith(end):
                return self._send_json(count)
        found = next((each for pattern, each in APIS.items() if re.search(pattern, path)), None)
        named = re.match(r"/s/([\w.-]+)/", path)
        run = self.server_for.run(named[1] if named else "main")
        if found is None or run is None:
            return self._send_json({"error": {"message": f"nothing is at {path}"}}, 404)
        name, api = found
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            fault = Fault(status=400, kind="bad_request", message="the request is not a JSON object")
            return self._send_json(api.refusal(fault), 400)
        asked = api.read(body, path)
        reply = run.ask(asked)
        if isinstance(reply, str):
            run.note(Played(api=name, model=asked.model, aside=True, heard=asked.told[-1].words, tools=asked.tools))
            spoken = Spoken(id=new_id("aside_"), text=reply, usage=Usage(input=0, cached=0, output=0))
            return self._send(api, spoken, asked)
        return self._play(name, api, run, asked, reply)

    def _play(self, name: str, api: Api, run: Run, asked: Asked, reply: Reply) -> None:
        fault, problem = reply.fault, reply.problem
        spoken = None
        if fault is None:
            try:
                spoken = spoken_of(reply, asked)
            except NoTool as missing:
                problem = f"{run.script.file}: turn {reply.turn} of {reply.conversation!r}: {missing}"
                fault = Fault(status=400, kind="bad_request", message=f"The script cannot be played: {problem}.")
        run.note(
            Played(
                api=name,
                model=asked.model,
                aside=False,
                conversation=reply.conversation,
                turn=reply.turn,
                number=reply.number,
                heard=asked.told[-1].words,
                saw=asked.told[-1].results,
                tools=asked.tools,
                status=fault.status if fault else 0 if reply.drop else 200,
                ran_out=reply.ran_out,
                problem=problem,
            )
        )
        self._wait(reply.delay)
        if fault is not None or spoken is None:
            assert fault is not None
            after = () if fault.retry_after is None else (("retry-after", f"{fault.retry_after:g}"),)
            return self._send_json(api.refusal(fault), fault.status, after)
        return self._send(api, spoken, asked, stall=reply.stall, drop=reply.drop)

    def _send(self, api: Api, spoken: Spoken, asked: Asked, *, stall: float = 0.0, drop: bool = False) -> None:
        if not asked.stream:
            self._wait(stall)
            if drop:
                self._cut()
            return self._send_json(api.whole(spoken, asked))
        events = api.events(spoken, asked)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("request-id", new_id("req_"))
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if number == max(1, len(events) // 2):
                self._wait(stall)
                if drop:
                    self._cut()
            self._chunk(_framed(event))
        self._chunk(b"")
        return None

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _wait(self, seconds: float) -> None:
        if seconds and self.server_for.closing.wait(seconds):
            self._cut()

    def _cut(self) -> None:
        """End the connection with a reset, as a broken network does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        raise _Cut

    def _send_json(
        self,
        value: Mapping[str, Any],
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (),
        *,
        body: bool = True,
    ) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data) if body else 0))
        self.send_header("request-id", new_id("req_"))
        for name, words in headers:
            self.send_header(name, words)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            parts = []
            while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            data = b"".join(parts)
        else:
            data = self.rfile.read(min(int(self.headers.get("content-length") or 0), MAX_BODY))
        if self.headers.get("content-encoding", "").lower() == "gzip":
            data = gzip.decompress(data)
        return data


def spoken_of(reply: Reply, asked: Asked) -> Spoken:
    """The reply with the names of the client's own tools. Raises `NoTool`."""
    text, uses = reply.text, [use_for(call, asked, reply=reply.number) for call in reply.calls]
    if reply.json is not None:
        use = structured_use(reply.json, asked, reply=reply.number)
        if use is not None:
            uses.append(use)
        else:
            text = json.dumps(reply.json, ensure_ascii=False)
    return Spoken(id=new_id("msg_"), usage=reply.usage, text=text, thinking=reply.thinking, uses=tuple(uses))


def _framed(event: Event) -> bytes:
    name, data = event
    words = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {words}\n\n".encode()
