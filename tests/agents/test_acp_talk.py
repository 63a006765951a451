"""What is said to an agent of the Agent Client Protocol: every step of a conversation, without a process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.agents.acp_gemini import GEMINI
from touchline.agents.acp_opencode import OPENCODE
from touchline.agents.acp_presets import gemini, opencode
from touchline.agents.acp_setup import Preset
from touchline.agents.acp_talk import AcpConversation
from touchline.agents.port import Conversation, Request
from touchline.supervision.facts import Call, Ended, Fault, Result, Text
from touchline.transcripts import read_turn

DATA = Path(__file__).parent.parent / "data" / "acp" / "raw"
REQUEST = Request(prompt="Do it.", workspace=Path("/work"), confined=True)
PLAIN = Preset(name="plain", command=("plain",), advice="Get it.")


def raw(name: str) -> list[bytes]:
    return (DATA / f"{name}.jsonl").read_bytes().splitlines()


def said(reply: bytes | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (reply or b"").splitlines()]


class Agent:
    """An agent played by hand: hears one message, and answers with what the test gives."""

    def __init__(self, preset: Preset = PLAIN, request: Request = REQUEST, told_usd: float | None = None) -> None:
        self.conversation: Conversation = AcpConversation(preset, request, told_usd=told_usd)
        (self.asked,) = said(self.conversation.open())
        self.events: list[Any] = []

    def tells(self, **message: Any) -> list[dict[str, Any]]:
        heard = self.conversation.hear(json.dumps({"jsonrpc": "2.0", **message}).encode())
        self.events.extend(heard.events)
        replies = said(heard.reply)
        self.asked = next((reply for reply in replies if "method" in reply), self.asked)
        return replies

    @property
    def over(self) -> bool:
        return self.conversation.over

    def answers(self, result: Any = None, *, error: Any = None) -> dict[str, Any]:
        """Answer what was asked last; the next request."""
        self.tells(id=self.asked["id"], **({"error": error} if error else {"result": result}))
        return self.asked

    def updates(self, what: str, **fields: Any) -> None:
        update = {"sessionUpdate": what, **fields}
        self.tells(method="session/update", params={"sessionId": "s-1", "update": update})

    def speaks(self, words: str) -> None:
        self.updates("agent_message_chunk", content={"type": "text", "text": words})

    def begins(self, **more: Any) -> dict[str, Any]:
        self.answers({"protocolVersion": 1, "agentCapabilities": more})
        return self.answers({"sessionId": "s-1"})


class TestOpening:
    def test_from_the_first_word_to_the_end(self) -> None:
        agent = Agent()
        assert agent.asked["method"] == "initialize"
        abilities = agent.asked["params"]["clientCapabilities"]
        assert abilities == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        new = agent.answers({"protocolVersion": 1})
        assert (new["method"], new["params"]) == ("session/new", {"cwd": "/work", "mcpServers": []})
        prompt = agent.answers({"sessionId": "s-1"})
        assert prompt["method"] == "session/prompt"
        assert prompt["params"] == {"sessionId": "s-1", "prompt": [{"type": "text", "text": "Do it."}]}
        assert agent.conversation.session_id == "s-1"
        agent.speaks("Done.")
        before = agent.over
        agent.answers({"stopReason": "end_turn"})
        assert (before, agent.over) == (False, True)
        turn = agent.conversation.finish(exit_code=0)
        assert (turn.ended, turn.final_text, turn.cli) == (Ended.FINISHED, "Done.", "plain")

    def test_authentication_is_tried_once_and_only_as_offered(self) -> None:
        preset = replace(PLAIN, auth_method="key")
        agent = Agent(preset)
        agent.answers({"protocolVersion": 1, "authMethods": [{"id": "key"}]})
        asked = agent.answers(error={"code": -32000, "message": "log in"})
        assert (asked["method"], asked["params"]) == ("authenticate", {"methodId": "key"})
        assert agent.answers({})["method"] == "session/new"
        agent.answers(error={"code": -32000, "message": "log in"})
        assert agent.over
        turn = agent.conversation.finish(exit_code=0)
        assert turn.ended is Ended.API_ERROR
        assert turn.fault is not None
        assert turn.fault.kind == "auth"
        other = Agent(preset)
        other.answers({"protocolVersion": 1, "authMethods": [{"id": "browser"}]})
        other.answers(error={"code": -32000, "message": "log in"})
        assert other.over

    def test_another_protocol_version_is_given_up(self) -> None:
        agent = Agent()
        agent.answers({"protocolVersion": 2})
        assert agent.over
        turn = agent.conversation.finish(exit_code=0)
        assert turn.ended is Ended.CRASHED
        assert turn.fault is not None
        assert "version 2" in turn.fault.message

    def test_mode_and_model_are_set_before_the_prompt(self) -> None:
        agent = Agent(OPENCODE, replace(REQUEST, model="p/m", read_only=True))
        agent.answers({"protocolVersion": 1})
        options = [{"id": "model", "currentValue": "p/other"}, {"id": "mode", "currentValue": "build"}]
        mode = agent.answers({"sessionId": "s-1", "configOptions": options})
        assert mode["method"] == "session/set_config_option"
        assert mode["params"] == {"sessionId": "s-1", "configId": "mode", "value": "plan"}
        model = agent.answers({})
        assert model["params"] == {"sessionId": "s-1", "configId": "model", "value": "p/m"}
        assert agent.answers({})["method"] == "session/prompt"

    def test_what_stands_already_is_not_set_again(self) -> None:
        agent = Agent(OPENCODE, replace(REQUEST, model="p/m"))
        agent.answers({"protocolVersion": 1})
        options = [{"id": "model", "currentValue": "p/m"}, {"id": "mode", "currentValue": "build"}]
        assert agent.answers({"sessionId": "s-1", "configOptions": options})["method"] == "session/prompt"

    def test_agents_with_modes_and_models_of_the_older_kind(self) -> None:
        agent = Agent(replace(PLAIN, read_only_mode="plan"), replace(REQUEST, model="m", read_only=True))
        agent.answers({"protocolVersion": 1})
        session = {"sessionId": "s-1", "modes": {"currentModeId": "default"}, "models": {"currentModelId": "x"}}
        mode = agent.answers(session)
        assert (mode["method"], mode["params"]["modeId"]) == ("session/set_mode", "plan")
        model = agent.answers({})
        assert (model["method"], model["params"]["modelId"]) == ("session/set_model", "m")

    def test_a_model_that_cannot_be_had_ends_the_turn(self) -> None:
        agent = Agent(PLAIN, replace(REQUEST, model="m"))
        agent.answers({"protocolVersion": 1})
        agent.answers({"sessionId": "s-1", "models": {"currentModelId": "x"}})
        agent.answers(error={"code": -32602, "message": "model not found: m"})
        assert agent.over
        turn = agent.conversation.finish(exit_code=0)
        assert turn.ended is Ended.CRASHED
        assert turn.fault is not None
        assert "model not found" in turn.fault.message
        none = Agent(PLAIN, replace(REQUEST, model="m"))
        none.answers({"protocolVersion": 1})
        none.answers({"sessionId": "s-1"})
        assert none.over

    @pytest.mark.parametrize("prompt", ["/etc/hosts is wrong.", " /nosuch do it", "$HOME is wrong."])
    def test_a_prompt_is_never_taken_for_a_command(self, prompt: str) -> None:
        agent = Agent(request=replace(REQUEST, prompt=prompt))
        (block,) = agent.begins()["params"]["prompt"]
        assert not block["text"].lstrip().startswith(("/", "$"))
        assert prompt in block["text"]


class TestGoingOn:
    request = replace(REQUEST, session="s-1")

    def test_resuming_is_chosen_where_it_is_offered(self) -> None:
        agent = Agent(request=self.request)
        able = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
        resume = agent.answers({"protocolVersion": 1, "agentCapabilities": able})
        assert (resume["method"], resume["params"]["sessionId"]) == ("session/resume", "s-1")
        assert resume["params"]["cwd"] == "/work"
        assert agent.answers({})["method"] == "session/prompt"

    def test_the_prompt_waits_for_the_end_of_the_history(self) -> None:
        agent = Agent(request=self.request)
        load = agent.answers({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        assert load["method"] == "session/load"
        agent.speaks("Old words before the answer.")
        fence = agent.answers({})
        assert fence["method"] == "_touchline/fence"
        agent.speaks("Old words after the answer: I am done.")
        missing = {"code": -32601, "message": "Method not found"}
        assert agent.answers(error=missing)["method"] == "_touchline/fence"
        assert agent.answers(error=missing)["method"] == "session/prompt"
        agent.speaks("New words.")
        agent.answers({"stopReason": "end_turn"})
        assert [event.text for event in agent.events if isinstance(event, Text)] == ["New words."]
        assert agent.conversation.finish(exit_code=0).ended is Ended.FINISHED

    def test_an_endless_history_is_given_up(self) -> None:
        agent = Agent(request=self.request)
        agent.answers({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        agent.answers({})
        for _ in range(1_000):
            agent.speaks("Old.")
            agent.answers(error={"code": -32601, "message": "Method not found"})
            if agent.over:
                break
        assert agent.over
        assert agent.conversation.finish(exit_code=0).ended is Ended.CRASHED

    def test_without_a_way_to_load_it_nothing_is_begun_anew(self) -> None:
        agent = Agent(request=self.request)
        agent.answers({"protocolVersion": 1})
        assert agent.over
        turn = agent.conversation.finish(exit_code=0)
        assert turn.ended is Ended.CRASHED
        assert turn.fault is not None
        assert "s-1" in turn.fault.message

    def test_cost_of_the_session_before_is_taken_off(self) -> None:
        lines = raw("opencode_resumed")
        request = replace(self.request, session=read_turn(lines, cli="acp").session_id)
        conversation = opencode.converse(request, spent_before={"told_usd": 0.01143})
        conversation.open()
        for line in lines:
            conversation.hear(line)
        assert opencode.spent(conversation) == {"told_usd": 0.01905}
        assert conversation.finish(exit_code=0).cost_usd == pytest.approx(0.00762)


class TestWhileItWorks:
    def test_a_message_is_a_second_prompt_and_both_are_waited_for(self) -> None:
        agent = Agent(OPENCODE)
        first = agent.begins()
        assert said(agent.conversation.say("Look here."))[0]["params"]["prompt"][0]["text"] == "Look here."
        agent.speaks("Done.")
        agent.tells(id=first["id"], result={"stopReason": "end_turn"})
        before = agent.over
        agent.tells(id="session/prompt:4", result={"stopReason": "end_turn"})
        assert (before, agent.over) == (False, True)
        assert agent.conversation.say("Too late.") is None

    def test_a_message_that_was_not_answered_leaves_the_turn_unfinished(self) -> None:
        agent = Agent(OPENCODE)
        first = agent.begins()
        agent.conversation.say("Look here.")
        agent.speaks("Done.")
        agent.tells(id=first["id"], result={"stopReason": "end_turn"})
        assert agent.conversation.finish(exit_code=None, signal=9).ended is Ended.KILLED

    def test_nothing_is_said_before_the_prompt_or_to_an_agent_that_would_stop(self) -> None:
        agent = Agent(OPENCODE)
        assert agent.conversation.say("Early.") is None
        plain = Agent()
        plain.begins()
        assert plain.conversation.say("Look here.") is None

    def test_an_agent_that_forgets_what_is_cancelled_is_not_interrupted(self) -> None:
        agent = Agent(GEMINI)
        agent.begins()
        assert agent.conversation.interrupt() is None

    def test_interrupt(self) -> None:
        agent = Agent()
        assert agent.conversation.interrupt() is None
        agent.begins()
        (cancel,) = said(agent.conversation.interrupt())
        assert (cancel["method"], cancel["params"]) == ("session/cancel", {"sessionId": "s-1"})
        assert "id" not in cancel
        (reply,) = agent.tells(id=7, method="session/request_permission", params={"options": []})
        assert reply == {"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "cancelled"}}}
        agent.answers({"stopReason": "cancelled"})
        assert agent.over
        assert agent.conversation.finish(exit_code=0, ended_by="us").ended is Ended.KILLED

    @pytest.mark.parametrize("method", ["fs/write_text_file", "terminal/create", "session/elicitation", "no/such"])
    def test_unknown_requests_are_refused_not_left_waiting(self, method: str) -> None:
        agent = Agent()
        agent.begins()
        (reply,) = agent.tells(id="x", method=method, params={"path": "/work/a"})
        assert (reply["id"], reply["error"]["code"]) == ("x", -32601)
        assert agent.tells(method=method, params={}) == []

    def test_a_refused_call_is_told_and_has_failed(self) -> None:
        agent = Agent(request=replace(REQUEST, read_only=True))
        agent.begins()
        call = {"toolCallId": "c", "title": "touch x", "kind": "execute"}
        options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
        (reply,) = agent.tells(id=0, method="session/request_permission", params={"toolCall": call, "options": options})
        assert reply["result"] == {"outcome": {"outcome": "selected", "optionId": "no"}}
        assert [type(event) for event in agent.events] == [Call, Fault]
        agent.speaks("Then not.")
        agent.answers({"stopReason": "end_turn"})
        turn = agent.conversation.finish(exit_code=0)
        assert [event.failed for event in turn.events if isinstance(event, Result)] == [True]

    def test_a_process_that_goes_before_its_answer_is_explained_by_its_errors(self) -> None:
        agent = Agent()
        agent.begins()
        turn = agent.conversation.finish(exit_code=41, errors="Invalid API key\n")
        assert turn.ended is Ended.CRASHED
        assert turn.fault is not None
        assert (turn.fault.kind, turn.fault.message) == ("auth", "Invalid API key")


@pytest.mark.parametrize("name", ["opencode_tools", "opencode_resumed", "gemini_tools", "gemini_loaded"])
def test_a_saved_stream_gives_the_same_turn_as_the_conversation(name: str) -> None:
    cli, _, how = name.partition("_")
    lines = raw(name)
    session = None if how == "tools" else str(read_turn(lines, cli="acp").session_id)
    driver = {"opencode": opencode, "gemini": gemini}[cli]
    conversation = driver.converse(replace(REQUEST, session=session))
    conversation.open()
    heard = [event for line in lines for event in conversation.hear(line).events]
    assert conversation.over
    turn = conversation.finish(exit_code=0)
    assert turn == replace(read_turn(lines, cli="acp", exit_code=0), cwd="/work")
    assert list(turn.events) == heard


PIECES: list[bytes] = [line for name in ("opencode_tools", "gemini_loaded") for line in raw(name)]


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(PIECES)), max_size=15), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_order_of_lines_is_taken(lines: Iterable[bytes], resumed: bool) -> None:
    agent = Agent(OPENCODE, replace(REQUEST, session="s-1" if resumed else None))
    for line in lines:
        for reply in said(agent.conversation.hear(line).reply):
            assert reply["jsonrpc"] == "2.0"
        agent.conversation.say("Hm.")
    agent.conversation.interrupt()
    agent.conversation.finish(exit_code=0)
