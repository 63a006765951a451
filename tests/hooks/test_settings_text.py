"""Hooks go into a settings file and out again without touching a byte of what others wrote in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.errors import InputError
from touchline.hooks.agents_known import hooks_of
from touchline.hooks.settings_text import MARK, commands_in, installed, removed

CLAUDE = hooks_of("claude")
EVENTS = list(CLAUDE)


def put_in(text: str | None) -> str:
    return installed(text, CLAUDE)


own_group = st.fixed_dictionaries(
    {
        "hooks": st.lists(
            st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=12)}), max_size=2
        )
    },
    optional={"matcher": st.sampled_from(["", "Bash", "Write|Edit"])},
)
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
documents = st.builds(
    lambda others, hooks, first: (
        {**({"hooks": hooks} if hooks is not None and first else {}), **others}
        | ({"hooks": hooks} if hooks is not None else {})
    ),
    st.dictionaries(st.text(max_size=6).filter(lambda k: k != "hooks"), plain, max_size=3),
    st.none()
    | st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), st.lists(own_group, max_size=2), max_size=4),
    st.booleans(),
)


@st.composite
def written(draw: st.DrawFn) -> str:
    """A settings file in one of the ways people and programs write them, odd white space included."""
    value = draw(documents)
    indent = draw(st.sampled_from([None, 2, 4, 1, "\t", 0]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : "), (",\n\n", ":\t")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("[]", "[ ]").replace("{}", "{\n  }") if '"' not in text else text
    text = draw(st.sampled_from(["", "\n", " "])) + text + draw(st.sampled_from(["", "\n", "\n\n", " \n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(text=written())
@settings(max_examples=400, deadline=None)
def test_out_again_is_byte_for_byte_what_it_was(text: str) -> None:
    changed = put_in(text)
    assert set(commands_in(changed)) == set(EVENTS)
    assert removed(changed) == text
    before, after = json.loads(text), json.loads(changed)
    assert {k: v for k, v in after.items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups


@given(text=written(), remark=st.sampled_from(["// a, b: {\n", '/* "x" , ] */', "//\n/**/"]), data=st.data())
@settings(max_examples=200, deadline=None)
def test_comments_stay_byte_for_byte(text: str, remark: str, data: st.DataObject) -> None:
    """A comment at any place where white space may be."""
    places = [at for at in range(len(text)) if _is_between(text, at)]
    at = data.draw(st.sampled_from(places))
    remarked = text[:at] + remark + text[at:]
    changed = installed(remarked, CLAUDE, comments=True)
    assert set(commands_in(changed, comments=True)) == set(EVENTS)
    assert removed(changed, comments=True) == remarked


def _is_between(text: str, at: int) -> bool:
    """Outside of strings, numbers and words, where a comment may stand."""
    try:
        json.loads(text[:at] + "\n" + text[at:])
    except ValueError:
        return False
    return True


@given(text=written())
@settings(max_examples=150, deadline=None)
def test_in_twice_is_in_once(text: str) -> None:
    assert put_in(put_in(text)) == put_in(text)


@given(text=written(), value=plain)
@settings(max_examples=150, deadline=None)
def test_what_a_person_adds_meanwhile_stays(text: str, value: Any) -> None:
    """A key put at the head of the file while the hooks are in is there when they are out, and nothing else changed."""

    def edited(of: str) -> str:
        head, brace, rest = of.partition("{")
        more = "," if json.loads(of) else ""
        return f'{head}{brace}"added by hand": {json.dumps(value)}{more}{rest}'

    assert removed(edited(put_in(text))) == edited(text)


@pytest.mark.parametrize("empty", ["", "\n", "  \r\n"])
def test_an_empty_file_is_empty_again(empty: str) -> None:
    changed = put_in(empty)
    assert set(json.loads(changed)["hooks"]) == set(EVENTS)
    assert removed(changed) == empty


def test_a_file_made_for_the_hooks_goes_with_them() -> None:
    assert removed(put_in(None)) is None


def test_an_older_installation_is_replaced() -> None:
    old = {event: {**hook, "command": f"/old/python /old/{MARK} claude"} for event, hook in CLAUDE.items()}
    text = '{\n  "model": "opus"\n}\n'
    assert put_in(installed(text, old)) == put_in(text)


def test_a_hook_that_somebody_moved_into_their_own_group_is_taken_out_alone() -> None:
    mine = json.dumps(CLAUDE["Stop"])
    text = f'{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "theirs"}}, {mine}]}}]}}}}'
    assert removed(text) == '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}'


def test_a_file_that_a_program_wrote_anew_loses_our_hooks_alone() -> None:
    text = json.dumps(json.loads(put_in('{"model": "opus", "hooks": {"Stop": [{"hooks": []}]}}')), indent=4)
    assert json.loads(removed(text) or "") == {"model": "opus", "hooks": {"Stop": [{"hooks": []}]}}


@pytest.mark.parametrize("separators", [None, (",", ":")])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"model": "opus"}, {"model": "opus"}),
        ({"model": "opus", "hooks": {"Notification": []}}, {"model": "opus", "hooks": {"Notification": []}}),
        ({"hooks": {"Stop": [{"hooks": []}]}, "x": []}, {"hooks": {"Stop": [{"hooks": []}]}, "x": []}),
        (None, {}),
    ],
    ids=["none before", "an empty list of another event", "a group of theirs", "no file before"],
)
def test_a_file_that_a_program_wrote_anew_on_one_line_keeps_no_list_of_ours(
    before: dict[str, Any] | None, after: dict[str, Any], separators: tuple[str, str] | None
) -> None:
    text = json.dumps(json.loads(put_in(None if before is None else json.dumps(before))), separators=separators)
    assert removed(text) == json.dumps(after, separators=separators)


def test_an_empty_list_that_was_there_before_stays_where_nobody_wrote_the_file_anew() -> None:
    text = '{"hooks": {"Stop": [], "PreToolUse": []}}'
    assert removed(put_in(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"x": NaN}',
        '{"x": [1, -Infinity]}',
        "// a comment\n{}",
        "[]",
        "null",
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": 1}}',
        '{"a": 1,}',
        "[" * 100_000,
    ],
)
def test_what_cannot_be_used_is_refused_with_words(text: str) -> None:
    with pytest.raises(InputError) as refused:
        put_in(text)
    assert refused.value.hint
