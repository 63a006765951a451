"""A turn held against its output contract, and the free rungs of the ladder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.contract import (
    Content,
    Contract,
    PathFacts,
    Token,
    check_contract,
    declared_paths,
    find_values,
    has_marker,
)
from touchline.supervision.evidence import Ledger, Write
from touchline.supervision.facts import Ended, Text, Turn

MARKER = "::done-7f3a::"
CONTRACT = Contract(tokens=(Token(name="plan_path", type="path"),), marker=MARKER)
GOOD = PathFacts(exists=True, inside=True, fresh=True)
PATHS = {"/w/plan.md": GOOD}


def turn(*messages: str, ended: Ended = Ended.FINISHED) -> Turn:
    events = tuple(Text(text=text, message_id=f"m{n}") for n, text in enumerate(messages))
    return Turn(cli="claude", session_id="s", events=events, ended=ended)


def test_a_kept_contract_is_complete_and_the_marker_is_stripped() -> None:
    check = check_contract(CONTRACT, turn(f"Plan written.\nplan_path = /w/plan.md\n{MARKER}"), paths=PATHS)
    assert check.content is Content.COMPLETE
    assert check.values == {"plan_path": "/w/plan.md"}
    assert MARKER not in check.body
    assert check.recovered_by == ""


@pytest.mark.parametrize(
    "line",
    [
        "plan_path = /w/plan.md",
        "**plan_path** = /w/plan.md",
        "**plan_path = /w/plan.md**",
        "*plan_path* = `/w/plan.md`",
        "- plan_path = /w/plan.md",
        "  plan_path=/w/plan.md  ",
        '`plan_path` = "/w/plan.md"',
        "_plan_path_ = **/w/plan.md**",
        "plan_path = ** /w/plan.md",
    ],
)
def test_emphasis_around_a_token_does_not_matter(line: str) -> None:
    assert find_values(line, CONTRACT) == {"plan_path": "/w/plan.md"}


def test_underscores_inside_a_path_survive() -> None:
    assert find_values("plan_path = /w/__init__/_a_.md", CONTRACT) == {"plan_path": "/w/__init__/_a_.md"}


@pytest.mark.parametrize(
    "text",
    [
        f"I will print {MARKER} when I am done.",
        f"> {MARKER}",
        f"```\n{MARKER}\n```",
        f"`{MARKER}`",
        f"{MARKER}.",
        "",
    ],
)
def test_a_marker_in_prose_quote_or_code_is_no_completion(text: str) -> None:
    assert not has_marker(text, MARKER)


def test_a_marker_alone_on_its_line_is_one() -> None:
    assert has_marker(f"Done.\n  {MARKER}  \n", MARKER)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        (None, "not_checked"),
        (PathFacts(exists=False, inside=True, fresh=False), "not_found"),
        (PathFacts(exists=True, inside=False, fresh=True), "outside"),
        (PathFacts(exists=True, inside=True, fresh=False), "stale"),
    ],
)
def test_a_path_must_exist_inside_and_be_fresh(facts: PathFacts | None, wrong: str) -> None:
    paths = {} if facts is None else {"/w/plan.md": facts}
    check = check_contract(CONTRACT, turn(f"plan_path = /w/plan.md\n{MARKER}"), paths=paths)
    assert check.content is Content.CONTRACT_VIOLATION
    assert [p.wrong for p in check.problems] == [wrong]


@pytest.mark.parametrize(
    ("token", "value", "wrong"),
    [
        (Token(name="t", type="path"), "plan.md", "not_a_path"),
        (Token(name="t", type="number"), "twelve", "not_a_number"),
        (Token(name="t", type="number"), "1.5e3", None),
        (Token(name="t", type="verdict", choices=("pass", "fail")), "maybe", "not_a_choice"),
        (Token(name="t", type="verdict", choices=("pass", "fail")), "fail", None),
        (Token(name="t", type="text"), "anything", None),
    ],
)
def test_token_types(token: Token, value: str, wrong: str | None) -> None:
    check = check_contract(Contract(tokens=(token,)), turn(f"t = {value}"))
    assert [p.wrong for p in check.problems] == ([wrong] if wrong else [])


def test_ends_that_are_not_finished_are_session_errors_whatever_was_said() -> None:
    said = f"plan_path = /w/plan.md\n{MARKER}"
    for ended in set(Ended) - {Ended.FINISHED}:
        assert check_contract(CONTRACT, turn(said, ended=ended), paths=PATHS).content is Content.SESSION_ERROR


def test_no_words_at_all_is_absent() -> None:
    assert check_contract(CONTRACT, turn(), paths=PATHS).content is Content.ABSENT
    assert check_contract(CONTRACT, turn("  "), paths=PATHS).content is Content.ABSENT


def test_rung_1_a_marker_in_a_message_of_its_own_is_joined() -> None:
    check = check_contract(CONTRACT, turn("plan_path = /w/plan.md", MARKER), paths=PATHS)
    assert (check.content, check.recovered_by) == (Content.COMPLETE, "joined_messages")


def test_rung_2_tokens_of_earlier_messages_are_taken() -> None:
    check = check_contract(CONTRACT, turn("plan_path = /w/plan.md", "Now a summary.", f"Bye.\n{MARKER}"), paths=PATHS)
    assert (check.content, check.recovered_by) == (Content.COMPLETE, "earlier_message")


def test_rung_3_one_artefact_is_taken_only_when_the_stream_was_not_observed() -> None:
    said = turn(f"The plan is ready.\n{MARKER}")
    ledger = Ledger(writes=(Write(path="/w/plan.md", call=0, how="tool"),))
    assert check_contract(CONTRACT, said, paths=PATHS, ledger=ledger).content is Content.CONTRACT_VIOLATION
    taken = check_contract(CONTRACT, said, paths=PATHS, ledger=ledger, observed=False)
    assert (taken.recovered_by, taken.values) == ("artefact", {"plan_path": "/w/plan.md"})


def test_rung_3_two_candidates_are_ambiguous() -> None:
    ledger = Ledger(writes=tuple(Write(path=p, call=0, how="tool") for p in ("/w/plan.md", "/w/b.md")))
    paths = {"/w/plan.md": GOOD, "/w/b.md": GOOD}
    check = check_contract(CONTRACT, turn(f"x\n{MARKER}"), paths=paths, ledger=ledger, observed=False)
    assert check.content is Content.CONTRACT_VIOLATION


def test_the_paths_to_look_up_are_named() -> None:
    said = turn("plan_path = /w/old.md", "plan_path = /w/plan.md\nother = /etc/passwd")
    assert declared_paths(CONTRACT, said) == {"/w/old.md", "/w/plan.md"}


SCHEMA = {
    "type": "object",
    "required": ["verdict", "files"],
    "additionalProperties": False,
    "properties": {
        "verdict": {"enum": ["pass", "fail"]},
        "files": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('{"verdict": "pass", "files": ["a"]}', 0),
        ('```json\n{"verdict": "pass", "files": ["a"]}\n```', 0),
        ('{"verdict": "maybe", "files": ["a"]}', 1),
        ('{"verdict": "pass", "files": [1]}', 1),
        ('{"verdict": "pass", "files": []}', 1),
        ('{"files": ["a"], "more": 1}', 2),
        ("[]", 1),
        ("verdict: pass", 1),
        ("[" * 100_000, 1),
    ],
)
def test_json_schema(text: str, problems: int) -> None:
    check = check_contract(Contract(schema=SCHEMA), turn(text))
    assert len(check.problems) == problems


@given(st.text(max_size=400))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    check = check_contract(CONTRACT, turn(text))
    assert check.content in (Content.CONTRACT_VIOLATION, Content.ABSENT)
