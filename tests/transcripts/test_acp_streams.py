"""What agents of the Agent Client Protocol sent, read into turns: real streams, and the traps found in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.supervision.facts import Call, Ended, Fault, Result, Spent, Text, Turn, Usage, steps_of
from touchline.supervision.ledger import ledger_of
from touchline.transcripts import LogFormat, read_log, read_turn, sniff
from touchline.transcripts.acp import AcpRecords
from touchline.transcripts.acp_usage import usage_of
from touchline.transcripts.stream import Stream

DATA = Path(__file__).parent.parent / "data" / "acp"
RECORDED = sorted(path for path in DATA.glob("*/*.jsonl") if path.parent.name != "raw")
RAW = sorted((DATA / "raw").glob("*.jsonl"))
COMMAND = "python3 hello.py && git status --short"


def incoming(path: Path) -> list[bytes]:
    """The agent's half of a recording."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [json.dumps(r["msg"]).encode() for r in records if r["dir"] == "incoming"]


def recorded(agent: str, scenario: str = "b_tools_and_cancel") -> Turn:
    return read_turn(incoming(DATA / agent / f"{scenario}.jsonl"), cli="acp", exit_code=0)


def update(what: str, /, **fields: Any) -> dict[str, Any]:
    params = {"sessionId": "s", "update": {"sessionUpdate": what, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def words(text: str, message: str | None = None) -> dict[str, Any]:
    more = {} if message is None else {"messageId": message}
    return update("agent_message_chunk", content={"type": "text", "text": text}, **more)


def answer(name: str, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": name, "result": result}


def turn_of(*records: Any, told_usd: float | None = None, exit_code: int | None = 0) -> Turn:
    stream = Stream(AcpRecords(told_usd=told_usd))
    for record in records:
        stream.feed(json.dumps(record))
    return stream.finish(exit_code=exit_code)


DONE = answer("session/prompt:9", {"stopReason": "end_turn"})


class TestRealStreams:
    @pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
    def test_file_written_and_run(self, agent: str) -> None:
        turn = recorded(agent)
        calls = [e for e in turn.events if isinstance(e, Call)]
        results = [e for e in turn.events if isinstance(e, Result)]
        assert len(calls) == 3
        assert len({call.id for call in calls}) == 3
        assert len({result.call_id for result in results}) == len(results)
        assert calls[1].args["command"] == COMMAND
        assert [e.text for e in turn.events if isinstance(e, Text)] == [
            "I will create hello.py.",
            "Now I run it.",
            "Done: hello.py exists and prints its greeting.",
            "Long.",
        ]
        assert turn.ended is Ended.INTERRUPTED
        assert turn.end_detail == "cancelled"
        ledger = ledger_of(turn)
        assert [write.path for write in ledger.writes] == ["/workspace/repo/hello.py"]

    @pytest.mark.parametrize(
        ("agent", "tools"),
        [
            ("claude", ["Write", "Bash", "Bash"]),
            ("codex", ["edit", "exec_command", "exec_command"]),
            ("gemini", ["write_file", "run_shell_command", "run_shell_command"]),
            ("opencode", ["write", "bash", "bash"]),
        ],
    )
    def test_tools_have_the_names_the_rules_know(self, agent: str, tools: list[str]) -> None:
        assert [e.tool for e in recorded(agent).events if isinstance(e, Call)] == tools

    @pytest.mark.parametrize(("agent", "code"), [("claude", None), ("codex", 0), ("gemini", None), ("opencode", 0)])
    def test_exit_codes_where_they_are_told(self, agent: str, code: int | None) -> None:
        run = next(step for step in steps_of(recorded(agent)) if step.call.args.get("command") == COMMAND)
        assert run.result is not None
        assert run.result.exit_code == code

    @pytest.mark.parametrize(
        ("agent", "usage", "cost"),
        [
            ("claude", Usage(input=5000, output=250, cache_read=1000), 0.01905),
            ("codex", Usage(input=4000, output=200, cache_read=800), None),
            ("gemini", Usage(input=3600, output=150), None),
            # Of the last model request only, and nothing of the cancelled prompt.
            ("opencode", Usage(input=1000, output=50, cache_read=200), 0.01143),
        ],
    )
    def test_tokens_and_cost(self, agent: str, usage: Usage, cost: float | None) -> None:
        turn = recorded(agent)
        assert turn.usage == usage
        assert turn.cost_usd == cost
        assert turn.model is not None
        assert turn.usage_by_model == {turn.model: usage}

    def test_a_merged_message_is_one_turn_counted_once(self) -> None:
        turn = recorded("opencode", "k_second_prompt_while_running")
        assert turn.ended is Ended.FINISHED
        assert turn.final_text == "Answer A."
        assert len([e for e in turn.events if isinstance(e, Spent) and e.usage.total]) == 1
        assert turn.cost_usd == 0.00762

    def test_two_prompts_one_after_the_other_are_summed(self) -> None:
        turn = recorded("codex", "k_second_prompt_while_running")
        assert turn.usage == Usage(input=3000, output=150, cache_read=600)
        assert turn.final_text == "Answer B."

    def test_the_agent_is_named_by_itself(self) -> None:
        assert recorded("opencode").cli == "opencode"
        assert recorded("gemini").cli == "gemini"
        assert recorded("codex").cli == "acp"

    def test_every_line_of_the_recordings_is_known(self) -> None:
        for path in RECORDED:
            unread = [e for e in read_turn(incoming(path), cli="acp").events if type(e).__name__ == "Unread"]
            assert not unread, (path, unread)

    @pytest.mark.parametrize("path", RAW, ids=lambda path: path.stem)
    def test_a_saved_stream_is_read_back(self, path: Path) -> None:
        assert sniff(path) is LogFormat.ACP_STREAM
        (turn,) = read_log(path)
        assert turn.ended is Ended.FINISHED
        assert turn.cli == path.stem.partition("_")[0]
        assert turn.session_id
        assert turn.final_text in ("Done: it runs.", "Second done.")

    def test_history_of_a_loaded_session_is_no_part_of_the_turn(self) -> None:
        (turn,) = read_log(DATA / "raw" / "gemini_loaded.jsonl")
        assert [e.text for e in turn.events if isinstance(e, Text)] == ["Again.", "Second done."]
        assert [e.args for e in turn.events if isinstance(e, Call)] == [{"command": "echo second"}]

    def test_a_failing_command_shows_by_its_exit_code(self) -> None:
        (turn,) = read_log(DATA / "raw" / "opencode_tools.jsonl")
        run = next(step for step in steps_of(turn) if "exit 3" in str(step.call.args))
        assert run.result is not None
        assert (run.result.exit_code, run.result.failed, run.result.text) == (3, True, "hello\n")


class TestTraps:
    def test_pieces_of_a_message_are_one_text_and_messages_are_several(self) -> None:
        turn = turn_of(words("one ", "a"), words("two", "a"), words("three", "b"), DONE)
        assert [e.text for e in turn.events if isinstance(e, Text)] == ["one two", "three"]

    def test_a_call_is_told_once_with_its_arguments(self) -> None:
        turn = turn_of(
            update("tool_call", toolCallId="c", title="bash", kind="execute", status="pending", rawInput={}),
            update("tool_call_update", toolCallId="c", status="in_progress", title="ls", rawInput={"command": "ls"}),
            update("tool_call_update", toolCallId="c", status="completed", rawOutput={"output": "a"}),
            update("tool_call_update", toolCallId="c", status="completed", rawOutput={"output": "b"}),
            DONE,
        )
        assert [(e.tool, dict(e.args)) for e in turn.events if isinstance(e, Call)] == [("bash", {"command": "ls"})]
        assert [e.text for e in turn.events if isinstance(e, Result)] == ["a"]

    def test_a_running_call_is_seen_before_it_ends(self) -> None:
        stream = Stream(AcpRecords())
        begun = update("tool_call", toolCallId="c", title="sleep 9", kind="execute", status="in_progress")
        (event,) = stream.feed(json.dumps(begun))
        assert isinstance(event, Call)
        assert (event.tool, event.args) == ("execute", {"command": "sleep 9"})

    def test_a_question_does_not_hide_the_arguments(self) -> None:
        question = {"toolCallId": "c", "status": "pending", "title": "ls", "rawInput": {"command": "ls"}}
        turn = turn_of(
            update("tool_call", toolCallId="c", title="bash", status="pending", rawInput={"cwd": "/w"}),
            {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"toolCall": question}},
            DONE,
        )
        assert [e.args for e in turn.events if isinstance(e, Call)] == [{"command": "ls", "cwd": "/w"}]

    @pytest.mark.parametrize(
        ("reason", "ended"),
        [
            ("end_turn", Ended.FINISHED),
            ("max_tokens", Ended.LIMIT),
            ("max_turn_requests", Ended.LIMIT),
            ("cancelled", Ended.INTERRUPTED),
            ("refusal", Ended.API_ERROR),
            ("something_new", Ended.UNKNOWN),
            (None, Ended.UNKNOWN),
        ],
    )
    def test_stop_reasons(self, reason: str | None, ended: Ended) -> None:
        turn = turn_of(words("Hello."), answer("session/prompt:3", {"stopReason": reason}))
        assert turn.ended is ended

    def test_no_answer_to_the_prompt_is_a_crash(self) -> None:
        assert turn_of(words("All done.")).ended is Ended.CRASHED

    def test_words_after_the_answer_take_the_end_back(self) -> None:
        assert turn_of(words("Done."), DONE, words("And more")).ended is Ended.CRASHED

    @pytest.mark.parametrize(
        ("error", "kind", "status"),
        [
            ({"code": 429, "message": "nope"}, "rate_limit", 429),
            ({"code": 503, "message": "nope"}, "overloaded", 503),
            ({"code": 500, "message": "nope"}, "server", 500),
            ({"code": 401, "message": "nope"}, "auth", 401),
            ({"code": -32000, "message": "Authentication required"}, "auth", None),
            ({"code": -32603, "message": "x", "data": {"statusCode": 529}}, "overloaded", 529),
            ({"code": -32603, "message": "x", "data": {"errorName": "ContextOverflowError"}}, "context", None),
            ({"code": -32603, "message": "Internal error: Rate limit reached"}, "rate_limit", None),
            ({"code": 400, "message": "prompt is too long: 9 > 8"}, "context", 400),
            ({"code": -32603}, "other", None),
        ],
    )
    def test_errors_end_the_turn_with_their_kind(self, error: dict[str, Any], kind: str, status: int | None) -> None:
        turn = turn_of(words("Hello."), {"jsonrpc": "2.0", "id": "session/prompt:3", "error": error})
        assert turn.ended is Ended.API_ERROR
        assert turn.fault is not None
        assert (turn.fault.kind, turn.fault.status) == (kind, status)

    def test_a_session_that_cannot_be_had_is_a_crash_with_its_reason(self) -> None:
        error = {"code": -32603, "message": "Internal error", "data": {"details": "No such session."}}
        turn = turn_of({"jsonrpc": "2.0", "id": "session/load:2", "error": error})
        assert turn.ended is Ended.CRASHED
        assert turn.fault is not None
        assert turn.fault.message == "Internal error: No such session."

    def test_an_error_that_was_got_over_is_not_the_end(self) -> None:
        refused = {"jsonrpc": "2.0", "id": "session/new:2", "error": {"code": -32000, "message": "log in"}}
        turn = turn_of(refused, answer("session/new:4", {"sessionId": "s"}), words("Done."), DONE)
        assert turn.ended is Ended.FINISHED
        assert turn.fault is None
        assert [e.kind for e in turn.events if isinstance(e, Fault)] == ["auth"]

    def test_a_turn_that_stops_at_a_refused_call_is_not_finished(self) -> None:
        refused = "The user rejected permission to use this specific tool call."
        call = update("tool_call", toolCallId="c", title="write", status="in_progress", rawInput={"path": "x"})
        failed = update("tool_call_update", toolCallId="c", status="failed", rawOutput={"error": refused})
        assert turn_of(words("I write."), call, failed, DONE).ended is Ended.INTERRUPTED
        assert turn_of(words("I write."), call, failed, words("Then not."), DONE).ended is Ended.FINISHED

    def test_cost_is_the_difference_to_what_was_told_before(self) -> None:
        costs = [update("usage_update", cost={"amount": a, "currency": "USD"}) for a in (0.5, 0.7)]
        resumed = answer("session/resume:2", {})
        assert turn_of(resumed, *costs, words("x"), DONE, told_usd=0.4).cost_usd == pytest.approx(0.3)
        assert turn_of(answer("session/new:2", {"sessionId": "s"}), *costs, words("x"), DONE).cost_usd == 0.7
        # Of a resumed session nothing is known of before, the first sum is no cost of this turn.
        assert turn_of(resumed, *costs, words("x"), DONE).cost_usd == pytest.approx(0.2)
        euros = update("usage_update", cost={"amount": 3, "currency": "EUR"})
        assert turn_of(euros, words("x"), DONE).cost_usd is None

    def test_updates_of_other_sessions_are_left_out(self) -> None:
        other = words("from a helper")
        other["params"]["sessionId"] = "another"
        turn = turn_of(answer("session/new:2", {"sessionId": "s"}), other, words("mine"), DONE)
        assert turn.final_text == "mine"

    @pytest.mark.parametrize(
        ("told", "usage"),
        [
            (
                {"inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 4, "totalTokens": 15},
                Usage(input=6, output=5, cache_read=4),
            ),
            (
                {"inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 4, "totalTokens": 19},
                Usage(input=10, output=5, cache_read=4),
            ),
            ({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3, "totalTokens": 18}, Usage(input=10, output=8)),
            ({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3, "totalTokens": 15}, Usage(input=10, output=5)),
            ({"inputTokens": "many", "outputTokens": -5}, Usage()),
            ("nonsense", Usage()),
        ],
    )
    def test_tokens_are_counted_once(self, told: Any, usage: Usage) -> None:
        assert usage_of(told) == usage


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
LINES = [json.loads(line) for path in RECORDED for line in incoming(path)]
LINES += [json.loads(line) for path in RAW for line in path.read_text().splitlines()]


def strings_in(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a record: the container and the key."""
    found: list[tuple[Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found.append((value, key))
        found.extend(strings_in(inner))
    return found


@given(st.lists(st.sampled_from(LINES), max_size=12), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_value_anywhere_makes_it_raise(lines: list[dict[str, Any]], data: st.DataObject) -> None:
    records = AcpRecords()
    stream = Stream(records)
    for line in lines:
        changed = json.loads(json.dumps(line))
        places = strings_in(changed)
        if len(places) > 0 and data.draw(st.booleans()):
            container, key = data.draw(st.sampled_from(places))
            container[key] = data.draw(values)
        # Below the net of `Stream`, so that what slips through shows.
        if isinstance(changed, dict):
            records.read(changed)
        stream.feed(json.dumps(changed))
    turn = stream.finish(exit_code=0)
    steps_of(turn)
    json.dumps(turn.final_text).encode()
