"""Each provider's API by plain HTTP: what is sent has the provider's shape; the same turns come through all four."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from touchline.rehearsal.script import parse_script
from touchline.rehearsal.server import RehearsalServer, serving

Body = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[Any]:
        """The data of each server-sent event."""
        lines = [line.removeprefix("data: ") for line in self.body.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


def post(server: RehearsalServer, run: str, path: str, body: Body | str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request("POST", f"/s/{run}{path}", body if isinstance(body, str) else json.dumps(body))
        response = connection.getresponse()
        read = response.read().decode()
        return Answer(status=response.status, headers={k.lower(): v for k, v in response.getheaders()}, body=read)
    finally:
        connection.close()


# Each API: its path, and a request made of words (user), > results and < replies of the model.


def anthropic(said: list[str], stream: bool, tools: list[str]) -> tuple[str, Body]:
    def message(each: str) -> Body:
        if each.startswith("<"):
            return {"role": "assistant", "content": [{"type": "text", "text": each[1:]}]}
        if each.startswith(">"):
            block = {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": each[1:]}]}
            return {"role": "user", "content": [block]}
        return {"role": "user", "content": each}

    offered = [{"name": name, "input_schema": {"type": "object"}} for name in tools]
    body = {"model": "m", "max_tokens": 9, "stream": stream, "tools": offered, "messages": [*map(message, said)]}
    return "/v1/messages?beta=true", body


def responses(said: list[str], stream: bool, tools: list[str]) -> tuple[str, Body]:
    def item(each: str) -> Body:
        if each.startswith("<"):
            return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": each[1:]}]}
        if each.startswith(">"):
            return {"type": "function_call_output", "call_id": "call_0_x", "output": each[1:]}
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": each}]}

    offered = [{"type": "custom" if name == "apply_patch" else "function", "name": name} for name in tools]
    return "/v1/responses", {"model": "m", "stream": stream, "tools": offered, "input": [*map(item, said)]}


def chat(said: list[str], stream: bool, tools: list[str]) -> tuple[str, Body]:
    def message(each: str) -> Body:
        roles = {"<": "assistant", ">": "tool"}
        return {"role": roles.get(each[0], "user"), "content": each.lstrip("<>")}

    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    body = {"model": "m", "stream": stream, "tools": offered, "messages": [*map(message, said)]}
    return "/v1/chat/completions", body


def gemini(said: list[str], stream: bool, tools: list[str]) -> tuple[str, Body]:
    def content(each: str) -> Body:
        if each.startswith("<"):
            return {"role": "model", "parts": [{"text": each[1:]}]}
        if each.startswith(">"):
            part = {"functionResponse": {"name": "x", "response": {"output": each[1:]}}}
            return {"role": "user", "parts": [part]}
        return {"role": "user", "parts": [{"text": each}]}

    way = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [*map(content, said)], "tools": [{"functionDeclarations": [{"name": name} for name in tools]}]}
    return f"/v1beta/models/m:{way}", body


# What a client makes of the answer: its words, its calls, and the tokens (new, cached, put out).

Said = tuple[str, list[tuple[str, Any]], tuple[int, int, int]]


def from_anthropic(answer: Answer, stream: bool) -> Said:
    if not stream:
        whole = answer.json()
        blocks, usage = whole["content"], whole["usage"]
    else:
        events = answer.events()
        assert [events[0]["type"], events[-2]["type"], events[-1]["type"]] == [
            "message_start",
            "message_delta",
            "message_stop",
        ]
        assert events[0]["message"]["usage"]["output_tokens"] == 1
        blocks, usage = [], events[-2]["usage"]
        for event in events:
            match event["type"]:
                case "content_block_start":
                    blocks.append({**event["content_block"], "pieces": ""})
                case "content_block_delta":
                    delta = event["delta"]
                    blocks[event["index"]]["pieces"] += delta.get("text") or delta.get("partial_json") or ""
        blocks = [
            {**b, "text": b["pieces"]} if b["type"] == "text" else {**b, "input": json.loads(b["pieces"])}
            for b in blocks
        ]
    words = "".join(b["text"] for b in blocks if b["type"] == "text")
    calls = [(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    return words, calls, (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"])


def from_responses(answer: Answer, stream: bool) -> Said:
    if stream:
        events = answer.events()
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[0]["type"] == "response.created"
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        whole = events[-1]["response"]
        assert events[-1]["type"] == "response.completed"
        assert whole["output"] == done
    else:
        whole = answer.json()
    items, usage = whole["output"], whole["usage"]
    words = "".join(part["text"] for item in items if item["type"] == "message" for part in item["content"])
    calls: list[tuple[str, Any]] = []
    for item in items:
        if item["type"] == "function_call":
            calls.append((item["name"], json.loads(item["arguments"])))
        elif item["type"] == "custom_tool_call":
            calls.append((item["name"], item["input"]))
    cached = usage["input_tokens_details"]["cached_tokens"]
    return words, calls, (usage["input_tokens"] - cached, cached, usage["output_tokens"])


def from_chat(answer: Answer, stream: bool) -> Said:
    if stream:
        assert answer.body.endswith("data: [DONE]\n\n")
        chunks = answer.events()
        usage = chunks[-1]["usage"]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        words = "".join(delta.get("content") or "" for delta in deltas)
        found: dict[int, list[str]] = {}
        for call in (call for delta in deltas for call in delta.get("tool_calls", ())):
            pair = found.setdefault(call["index"], ["", ""])
            pair[0] += call["function"].get("name", "")
            pair[1] += call["function"]["arguments"]
        calls = [(name, json.loads(arguments)) for name, arguments in found.values()]
    else:
        whole = answer.json()
        usage, message = whole["usage"], whole["choices"][0]["message"]
        words = message["content"] or ""
        functions = [call["function"] for call in message.get("tool_calls", ())]
        calls = [(function["name"], json.loads(function["arguments"])) for function in functions]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return words, calls, (usage["prompt_tokens"] - cached, cached, usage["completion_tokens"])


def from_gemini(answer: Answer, stream: bool) -> Said:
    chunks = answer.events() if stream else [answer.json()]
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    usage = chunks[-1]["usageMetadata"]
    calls = [(part["functionCall"]["name"], part["functionCall"]["args"]) for part in parts if "functionCall" in part]
    cached = usage["cachedContentTokenCount"]
    tokens = (usage["promptTokenCount"] - cached, cached, usage["candidatesTokenCount"])
    return "".join(part.get("text", "") for part in parts), calls, tokens


@dataclass(frozen=True, kw_only=True)
class Api:
    name: str
    ask: Callable[[list[str], bool, list[str]], tuple[str, Body]]
    read: Callable[[Answer, bool], Said]
    tools: list[str]
    calls: list[tuple[str, Any]]
    """What `WORK` becomes."""


WORK = "calls: [{shell: ls}, {write: a.txt, content: 'hi'}]"
RUN = "Run a command"
APIS = [
    Api(
        name="anthropic",
        ask=anthropic,
        read=from_anthropic,
        tools=["Bash", "Write"],
        calls=[("Bash", {"command": "ls", "description": RUN}), ("Write", {"file_path": "a.txt", "content": "hi"})],
    ),
    Api(
        name="responses",
        ask=responses,
        read=from_responses,
        tools=["exec_command", "apply_patch"],
        calls=[
            ("exec_command", {"cmd": "ls"}),
            ("apply_patch", "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch"),
        ],
    ),
    Api(
        name="chat",
        ask=chat,
        read=from_chat,
        tools=["bash", "write"],
        calls=[("bash", {"command": "ls", "description": RUN}), ("write", {"filePath": "a.txt", "content": "hi"})],
    ),
    Api(
        name="gemini",
        ask=gemini,
        read=from_gemini,
        tools=["run_shell_command", "write_file"],
        calls=[
            ("run_shell_command", {"command": "ls", "description": RUN}),
            ("write_file", {"file_path": "a.txt", "content": "hi"}),
        ],
    ),
]
each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


def begin(server: RehearsalServer, request: pytest.FixtureRequest, script: str) -> str:
    run = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    server.url(run, parse_script(script))
    return run


@each_api
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_session_of_words_calls_and_tokens(
    server: RehearsalServer, request: pytest.FixtureRequest, api: Api, stream: bool
) -> None:
    long = "It is done, and this is long enough to be sent in more than one piece. ü"
    run = begin(server, request, f"turns:\n- text: I begin.\n  {WORK}\n- text: {long}\n  usage: {{output: 7}}")

    def ask(*said: str) -> Said:
        path, body = api.ask(list(said), stream, api.tools)
        answer = post(server, run, path, body)
        assert answer.status == 200, answer.body
        return api.read(answer, stream)

    assert ask("Go.") == ("I begin.", api.calls, (1000, 200, 50))
    assert ask("Go.", "<I begin.", ">a.txt") == (long, [], (1000, 200, 7))
    report = server.report(run)
    assert (report.turns, report.used_up) == (2, True)
    assert server.played(run)[1].saw.endswith(("a.txt", 'a.txt"}'))


@each_api
def test_errors_have_the_providers_shape(server: RehearsalServer, request: pytest.FixtureRequest, api: Api) -> None:
    run = begin(server, request, "turns: [{error: 429, retry_after: 2, message: slower}, {error: 529}, {text: fine}]")
    path, body = api.ask(["Go."], True, api.tools)
    first, second, third = (post(server, run, path, body) for _ in range(3))
    assert (first.status, first.headers["retry-after"], second.status, third.status) == (429, "2", 529, 200)
    error = first.json()["error"]
    assert error["message"] == "slower"
    named = {
        "anthropic": error.get("type") == "rate_limit_error" and first.json().get("type") == "error",
        "responses": error.get("code") == "rate_limit_exceeded",
        "chat": error.get("code") == "rate_limit_exceeded",
        "gemini": (error.get("code"), error.get("status")) == (429, "RESOURCE_EXHAUSTED"),
    }
    assert named[api.name]
    assert (server.report(run).failures, server.report(run).turns) == (2, 1)


@each_api
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_dropped_connection_ends_in_the_middle(
    server: RehearsalServer, request: pytest.FixtureRequest, api: Api, stream: bool
) -> None:
    run = begin(server, request, "turns: [{drop: true, text: 'half of it is heard'}, {text: whole}]")
    path, body = api.ask(["Go."], stream, api.tools)
    with pytest.raises((http.client.IncompleteRead, http.client.RemoteDisconnected, ConnectionResetError)):
        post(server, run, path, body)
    assert api.read(post(server, run, path, body), stream)[0] == "whole"


@each_api
def test_asides_cost_no_turn(server: RehearsalServer, request: pytest.FixtureRequest, api: Api) -> None:
    run = begin(server, request, "turns: [{text: one}]")
    path, body = api.ask(["Generate a title for this conversation: Go."], False, [])
    assert api.read(post(server, run, path, body), False)[0] == "Rehearsal"
    path, body = api.ask(["Go."], False, api.tools)
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "kind": {"enum": ["a", "b"]}}}
    asked = with_schema(api.name, body, schema)
    assert json.loads(api.read(post(server, run, path, asked), False)[0]) == {"title": "rehearsal", "kind": "a"}
    assert api.read(post(server, run, path, body), False)[0] == "one"
    assert (server.report(run).asides, server.report(run).turns) == (2, 1)


@each_api
def test_structured_answers_are_turns_where_the_script_has_some(
    server: RehearsalServer, request: pytest.FixtureRequest, api: Api
) -> None:
    run = begin(server, request, "turns: [{json: {verdict: good}}]")
    path, body = api.ask(["Judge."], False, [])
    asked = with_schema(api.name, body, {"type": "object"})
    assert json.loads(api.read(post(server, run, path, asked), False)[0]) == {"verdict": "good"}
    assert server.report(run).used_up


def with_schema(name: str, body: Body, schema: Body) -> Body:
    extra: dict[str, Body] = {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "responses": {"text": {"format": {"type": "json_schema", "schema": schema}}},
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}},
        "gemini": {"generationConfig": {"responseJsonSchema": schema}},
    }
    return {**body, **extra[name]}


def test_a_structured_answer_is_a_call_where_the_client_has_a_tool_for_it(
    server: RehearsalServer, request: pytest.FixtureRequest
) -> None:
    run = begin(server, request, "turns: [{json: {verdict: good}}]")
    path, body = anthropic(["Judge."], False, ["Bash", "StructuredOutput"])
    said = from_anthropic(post(server, run, path, body), False)
    assert said[:2] == ("", [("StructuredOutput", {"verdict": "good"})])


def test_a_call_without_a_tool_for_it_is_an_error_that_says_so(
    server: RehearsalServer, request: pytest.FixtureRequest
) -> None:
    run = begin(server, request, f"turns:\n- {WORK}")
    path, body = chat(["Go."], True, ["search"])
    answer = post(server, run, path, body)
    assert answer.status == 400
    assert "no tool for a shell call; it offers: search" in answer.json()["error"]["message"]
    assert not server.report(run).used_up
    assert len(server.report(run).problems) == 1


def test_calls_of_one_reply_are_one_reply_though_results_stand_between(
    server: RehearsalServer, request: pytest.FixtureRequest
) -> None:
    run = begin(server, request, "turns:\n- calls: [{shell: a}, {shell: b}]\n- text: two")
    path, body = responses(["Go."], False, ["exec_command"])
    calls = post(server, run, path, body).json()["output"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "ok"} for call in calls]
    body["input"] += [calls[0], results[0], calls[1], results[1]]
    assert from_responses(post(server, run, path, body), False)[0] == "two"


def test_what_is_said_inside_a_tool_result_counts_as_said(
    server: RehearsalServer, request: pytest.FixtureRequest
) -> None:
    run = begin(server, request, "turns: [{text: one}, {heard: slower, saw: /^done$/, text: two}]")
    result = "done\n\n<system-reminder>\nThe user sent a new message:\nslower\n</system-reminder>"
    path, body = anthropic(["Go.", "<one", f">{result}"], False, ["Bash"])
    assert from_anthropic(post(server, run, path, body), False)[0] == "two"


def test_plain_programs_may_ask_without_tools(server: RehearsalServer, request: pytest.FixtureRequest) -> None:
    run = begin(server, request, "plain: true\nturns: [{text: one}]")
    path, body = chat(["Go."], False, [])
    assert from_chat(post(server, run, path, body), False)[0] == "one"


def test_sessions_side_by_side_do_not_disturb_each_other(
    server: RehearsalServer, request: pytest.FixtureRequest
) -> None:
    run = begin(server, request, "turns: [{text: one}, {error: 500}, {text: two}]")
    tools = ["bash"]
    first, second = chat(["A."], False, tools), chat(["B."], False, tools)
    assert [from_chat(post(server, run, *each), False)[0] for each in (first, second)] == ["one", "one"]
    first, second = chat(["A.", "<one", "more"], False, tools), chat(["B.", "<one", "more"], False, tools)
    assert [post(server, run, *each).status for each in (first, second)] == [500, 500]
    assert [from_chat(post(server, run, *each), False)[0] for each in (first, second)] == ["two", "two"]


def test_what_is_not_there_or_not_json_is_refused(server: RehearsalServer, request: pytest.FixtureRequest) -> None:
    run = begin(server, request, "turns: [{text: one}]")
    assert post(server, run, "/v1/nothing", {}).status == 404
    assert post(server, "never-begun", "/v1/messages", {}).status == 404
    assert post(server, run, "/v1/messages", "{").status == 400
    assert post(server, run, "/v1/messages", "[]").status == 400
    assert post(server, run, "/v1/messages/count_tokens", {}).json() == {"input_tokens": 1000}
    assert server.report(run).turns == 0


def test_a_server_that_closes_does_not_wait_for_slow_replies() -> None:
    lost = []
    with serving(parse_script("turns: [{text: late, delay: 3600}]")) as server:
        path, body = chat(["Go."], True, ["bash"])

        def ask() -> None:
            try:
                post(server, "main", path, body)
            except (http.client.HTTPException, OSError) as error:
                lost.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        while not server.played():
            time.sleep(0.01)
    asking.join(20)
    assert len(lost) == 1
