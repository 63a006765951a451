"""`touchline decide` as a program in another language meets it: JSON in, JSON out, clear errors."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


def decide(situation: object) -> subprocess.CompletedProcess[str]:
    given = situation if isinstance(situation, str) else json.dumps(situation)
    return subprocess.run(
        [sys.executable, "-m", "touchline", "decide"], input=given, capture_output=True, text=True, check=False
    )


def decided(situation: object) -> dict[str, Any]:
    done = decide(situation)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["schema"] == "touchline.decision/1"
    return dict(answer)


def bash(command: str, text: str, exit_code: int = 0) -> dict[str, Any]:
    return {"tool": "Bash", "args": {"command": command}, "result": {"text": text, "exit_code": exit_code}}


EDIT = {"tool": "Edit", "args": {"file_path": "/w/a.py"}, "result": {"text": "ok"}}


def test_a_contradicted_claim_is_sent_back_and_the_message_names_the_call() -> None:
    answer = decided({"text": "Fixed. All 12 tests pass.", "calls": [EDIT, bash("pytest -q", "3 failed, 9 passed", 1)]})
    assert (answer["action"], answer["reason"]) == ("continue", "completion_rejected")
    assert "contradicted_claim" in answer["stop"]["rejected"]
    assert "call 1" in answer["message"]


def test_a_proved_completion_is_delivered() -> None:
    answer = decided({"text": "Fixed. All 12 tests pass.", "calls": [EDIT, bash("pytest -q", "12 passed in 0.2s")]})
    assert (answer["action"], answer["delivery"]) == ("deliver", "accepted")


def test_a_loop_is_steered_and_one_left_behind_is_not() -> None:
    failing = [bash("make", "no rule to make target 'all'", 2)] * 5
    assert decided({"text": "Trying again.", "calls": failing})["action"] == "steer"
    out = decided({"text": "Let me look at another file.", "calls": [*failing, bash("ls", "src")]})
    assert out["thrash"] is None


def test_what_is_carried_comes_back_and_the_third_same_rejection_asks() -> None:
    situation: dict[str, Any] = {"text": "Done, I fixed it.", "calls": [EDIT], "workflow_id": "w-1", "task": "fix it"}
    actions = []
    for _ in range(3):
        answer = decided(situation)
        actions.append(answer["action"])
        carried = answer["work"]
        assert (carried["workflow_id"], carried["task"]) == ("w-1", "fix it")
        situation |= {name: carried[name] for name in ("continuations", "same_rejections", "last_rejection")}
    assert actions == ["continue", "continue", "ask"]


CONTRACT = {"tokens": [{"name": "plan_path", "type": "path"}], "marker": "::done::"}
WROTE = {"tool": "Write", "args": {"file_path": "/w/plan.md"}, "result": {"text": "ok"}}


def test_a_forgotten_token_is_nudged_without_handing_the_value_over() -> None:
    answer = decided(
        {"text": "The plan is ready.\n::done::", "calls": [WROTE], "session_id": "s", "contract": CONTRACT}
    )
    assert (answer["action"], answer["seconds_allowed"]) == ("nudge", 60)
    assert "/w/plan.md" not in answer["message"]
    assert answer["missing"] == ["plan_path (missing)"]


def test_a_path_nobody_looked_up_is_no_pass() -> None:
    said = {"text": "plan_path = /w/plan.md\n::done::", "calls": [WROTE], "contract": {**CONTRACT, "nudged": True}}
    assert decided(said)["action"] == "retry"
    looked_up = {**CONTRACT, "paths": {"/w/plan.md": {"exists": True, "inside": True, "fresh": True}}}
    assert decided({**said, "contract": looked_up})["contract"]["content"] == "complete"


def test_a_provider_fault_waits() -> None:
    answer = decided({"ended": "api_error", "fault": {"kind": "overloaded", "message": "529"}, "provider_retries": 1})
    assert (answer["action"], answer["delay_seconds"], answer["counts_as_attempt"]) == ("retry", 15.0, False)


def test_a_stream_is_read_by_its_own_reader() -> None:
    stream = [
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Which database?"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}},
    ]
    lines = [json.dumps(record) for record in stream]
    answer = decided({"cli": "codex", "exit_code": 0, "stream": lines})
    assert (answer["action"], answer["reason"]) == ("ask", "question")
    crashed = decided({"cli": "codex", "exit_code": 1, "stream": lines[:3]})
    assert (crashed["action"], crashed["delivery"]) == ("deliver", "error")


def test_limits_can_be_given() -> None:
    status = {"text": "Next I will write the parser.", "continuations": 1}
    assert decided(status)["action"] == "continue"
    assert decided({**status, "limits": {"continue_cap": 1}})["reason"] == "cap_reached"


@pytest.mark.parametrize(
    ("situation", "field"),
    [
        ([], "$"),
        ({"text": 3}, "text"),
        ({"tekst": "x"}, "tekst"),
        ({"ended": "finshed"}, "ended"),
        ({"budget": {"turns": "three"}}, "budget.turns"),
        ({"budget": {"turn": 3}}, "budget.turn"),
        ({"spent": {"turns": -1}}, "spent.turns"),
        ({"continuations": True}, "continuations"),
        ({"calls": [{"args": {}}]}, "calls[0].tool"),
        ({"calls": [{"tool": "Bash", "result": {"exit_code": "1"}}]}, "calls[0].result.exit_code"),
        ({"calls": {}}, "calls"),
        ({"contract": {"tokens": [{"name": "v", "type": "verdict"}]}}, "contract.tokens[0].choices"),
        ({"contract": {"paths": {"/w/a": {"exist": True}}}}, "contract.paths./w/a.exist"),
        ({"plan": {"text": "x"}}, "plan.path"),
        ({"phase": "bild"}, "phase"),
        ({"fault": {"kind": "flood"}}, "fault.kind"),
        ({"limits": {"sure": None}}, "limits.sure"),
        ({"limits": {"shure": 0.5}}, "limits.shure"),
        ({"limits": {"cycle_longest": 0}}, "limits.cycle_longest"),
        ({"limits": {"cycle_longest": 1_000_000_000}}, "limits.cycle_longest"),
        ({"stream": ["{}"], "text": "x"}, "text"),
        ({"stream": ["{}"], "cli": "clod"}, "cli"),
        ({"last_rejection": [1]}, "last_rejection[0]"),
        ({"schema": "touchline.situation/9"}, "schema"),
    ],
)
def test_bad_input_names_the_field_and_exits_2(situation: object, field: str) -> None:
    done = decide(situation)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"touchline: {field}: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("given", ["", "{", "[" * 100_000, "nul"])
def test_what_is_not_json_says_so(given: str) -> None:
    done = decide(given)
    assert done.returncode == 2
    assert "not JSON" in done.stderr


def test_a_misspelt_word_gets_a_suggestion() -> None:
    assert "did you mean 'finished'?" in decide({"ended": "finshed"}).stderr


# Everything the situation says reaches the decision: each of these fails when its one argument is not passed on.


def test_the_phase_reaches_the_gate_and_the_coach() -> None:
    done = {"text": "Fixed. All 12 tests pass.", "calls": [EDIT, bash("pytest -q", "12 passed in 0.2s")]}
    answer = decided({**done, "task": "/do-build the cart"})
    assert answer["stop"]["rejected"] == ["phase_evidence_missing"]
    assert "build phase" in answer["message"]
    assert decided({**done, "phase": "build"})["stop"]["rejected"] == ["phase_evidence_missing"]


def test_the_plan_reaches_the_coach() -> None:
    plan = {"path": "plan.md", "text": "## Success Criteria\n- p95 under 50 ms\n"}
    status = {"text": "Next I will write the parser.", "phase": "build"}
    assert decided({**status, "plan": plan})["coaching"]["tier"] == "criteria"
    assert decided({**status, "plan": {"path": "plan.md", "text": None}})["coaching"]["tier"] == "pointer"
    assert decided(status)["coaching"]["tier"] == "hint"
    assert decided({"text": "Next I will write the parser."})["coaching"]["tier"] == "plain"


def test_the_criteria_limit_reaches_the_coach() -> None:
    plan = {"path": "plan.md", "text": "## Success Criteria\n" + "x" * 400}
    said = decided({"text": "Next I will go on.", "phase": "build", "plan": plan, "limits": {"criteria_chars": 50}})
    assert "x" * 60 not in said["message"]


def test_the_ledger_reaches_the_coach() -> None:
    assert "/w/a.py" in decided({"text": "Done, I fixed it.", "calls": [EDIT]})["message"]


def test_budget_and_spending_reach_the_decision() -> None:
    status = {"text": "Next I will write the parser.", "budget": {"turns": 3}, "spent": {"turns": 3}}
    assert decided(status)["reason"] == "budget_exhausted"
    assert decided({**status, "reviewer": True})["action"] == "review"
    assert decided({**status, "spent": {"turns": 2}})["action"] == "continue"


def test_the_ladder_of_a_loop_is_climbed_by_what_is_carried() -> None:
    situation: dict[str, Any] = {
        "text": "Trying again.",
        "calls": [bash("make", "no rule to make target 'all'", 2)] * 5,
        "reviewer": True,
    }
    actions = []
    for _ in range(3):
        answer = decided(situation)
        actions.append(answer["action"])
        situation |= {name: answer["work"][name] for name in ("steered", "reviewed")}
    assert actions == ["steer", "review", "deliver"]


def test_the_limits_reach_the_loop_rules() -> None:
    looping = {"text": "Trying again.", "calls": [bash("make", "no rule to make target 'all'", 2)] * 5}
    assert decided({**looping, "limits": {"same_result": 10}})["thrash"] is None


def test_a_process_that_failed_has_crashed_whatever_the_text_says() -> None:
    assert decided({"text": "Working on it.", "exit_code": 137})["reason"] == "crashed"
    assert decided({"stream": [], "cli": "claude", "exit_code": 1})["delivery"] == "error"
    assert decide({"text": "Done.", "exit_code": 1, "ended": "finished"}).returncode == 2


def test_without_calls_the_text_is_judged_alone() -> None:
    assert decided({"text": "I fixed the bug. Everything works now."})["stop"]["rejected"] == ["no_proof_shown"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ('{"limits": {"continue_cap": NaN}}', "limits.continue_cap"),
        ('{"limits": {"continue_cap": 1e400}}', "limits.continue_cap"),
        ('{"limits": {"continue_cap": -1}}', "limits.continue_cap"),
        ('{"limits": {"continue_cap": 1.7}}', "limits.continue_cap"),
        ('{"spent": {"usd": NaN}}', "spent.usd"),
        ('{"contract": {"schema": {"type": 5}}}', "contract.schema"),
        ('{"contract": {"schema": {"properties": []}}}', "contract.schema"),
    ],
)
def test_numbers_that_are_none_and_schemas_that_are_none(given: str, field: str) -> None:
    done = decide(given)
    assert done.returncode == 2
    assert done.stderr.startswith(f"touchline: {field}: ")


def test_a_closed_input_is_said() -> None:
    command = f"{sys.executable} -m touchline decide <&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "standard input" in done.stderr
