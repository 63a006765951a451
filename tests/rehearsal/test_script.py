"""Scripts are read as they are written, and what is wrong is told with its file, its line and what is allowed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from touchline.errors import ScriptError
from touchline.rehearsal.filling import BUILT_IN
from touchline.rehearsal.script import CALLS, FAULTS, SCRIPT_FIELDS, TURN_FIELDS, load_script, parse_script
from touchline.rehearsal.script_copies import read_script, write_copy
from touchline.rehearsal.turns import ALWAYS, Call, Usage

WHOLE = """\
strict: true
usage: {input: 10, cached: 2, output: 5}
conversations:
  - name: builder
    when: /task \\d+/i
    find:
      marker: 'MARK-(\\w+)'
      colour: {pattern: 'colour (\\w+)', else: red}
    answers:
      - heard: hurry
        text: I do.
    turns:
      - thinking: Hm.
        text: I begin with ${marker}.
        calls:
          - shell: echo ${HOME}
          - {write: a.txt, content: "a\\n"}
          - {edit: a.txt, old: a, new: b}
          - read: a.txt
          - {raw: TodoWrite, args: {todos: []}}
      - {error: 429, times: 3, retry_after: 0.5}
      - {drop: true, text: Half of this.}
      - {text: Again., until: stop, delay: 1, stall: 2}
      - heard: evidence
        text: Here it is.
        else: {text: What?}
  - turns:
      - json: {ok: true}
"""


def test_everything_a_script_can_say_is_read() -> None:
    script = parse_script(WHOLE)
    builder, rest = script.conversations
    assert (script.strict, script.usage) == (True, Usage(input=10, cached=2, output=5))
    assert builder.when is not None
    assert builder.when.found_in("This is TASK 7.")
    assert not builder.when.found_in("This is a task.")
    assert builder.find["colour"].otherwise == "red"
    assert builder.answers[0].text == "I do."
    first, error, drop, again, coached = builder.turns
    assert [call.kind for call in first.calls] == ["shell", "write", "edit", "read", "raw"]
    assert first.calls[2] == Call(kind="edit", target="a.txt", old="a", content="b")
    assert error.fault is not None
    assert (error.fault.status, error.times, error.fault.retry_after) == (429, 3, 0.5)
    assert drop.drop
    assert drop.fails
    assert (again.times, again.delay, again.stall) == (ALWAYS, 1.0, 2.0)
    assert coached.otherwise is not None
    assert coached.otherwise.text == "What?"
    assert (rest.name, rest.when, rest.turns[0].json, rest.structured) == ("conversation 2", None, {"ok": True}, True)
    assert first.line == 13


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("turns: [", 1, "not YAML"),
        ("turns:\n  - text: a\n   bad: b\n", 3, "not YAML"),
        ("turns:\n  - text: a\n    text: b\n", 3, "not YAML"),
        ("", 1, "is not a script"),
        ("- text: a\n", 1, "is not a script"),
        ("strict: true\n", 1, "neither `turns` nor `conversations`"),
        ("turns: 3\n", 1, "Give a list, each entry a turn"),
        ("turns: []\n", 1, "Give a list, each entry a turn"),
        ("turns:\n  - hello\n", 2, "is not a turn"),
        ("turns:\n  - text: a\n  - txt: b\n", 3, "Allowed: text, thinking, calls"),
        ("turns:\n  - text: a\n  - delay: 3\n", 3, "says nothing"),
        ("turns:\n  - text: [a]\n", 2, "is not a text"),
        ("turns:\n  - error: 418\n", 2, "Allowed: 400, 401, 403, 404, 429, 500, 503, 529, prompt_too_long"),
        ("turns:\n  - error: 500\n    text: b\n", 2, "instead of a reply"),
        ("turns:\n  - text: a\n    retry_after: 1\n", 3, "belongs to an `error`"),
        ("turns:\n  - text: a\n    times: 0\n", 3, "a number from 1, or always"),
        ("turns:\n  - text: a\n    delay: soon\n", 3, "seconds from 0 to 86400"),
        ("turns:\n  - text: a\n    drop: maybe\n", 3, "Allowed: true, false"),
        ("turns:\n  - text: a\n    usage: {in: 3}\n", 3, "Allowed: input, cached, output"),
        ("turns:\n  - text: a\n    usage:\n      input: -1\n", 4, "whole number from 0"),
        ("turns:\n  - text: a\n    heard: /(/\n", 3, "not a regular expression"),
        ("turns:\n  - text: a\n    else: {text: b}\n", 3, "needs `heard` or `saw`"),
        ("turns:\n  - text: a\n    heard: b\n    else: {text: c, times: 2}\n", 4, "cannot stand inside `else`"),
        ("turns:\n  - calls: [{shell: a, write: b}]\n", 2, "exactly one of its kinds"),
        ("turns:\n  - calls:\n      - shell: a\n        content: b\n", 4, "Allowed beside `shell`: nothing"),
        ("turns:\n  - calls:\n      - write: a\n", 3, "needs `content`"),
        ("turns:\n  - calls:\n      - shell: ''\n", 3, "is empty"),
        ("turns:\n  - calls:\n      - raw: A\n        args: 3\n", 4, "is not a mapping"),
        ("turns:\n  - json: {a: 1}\n    calls: [{shell: a}]\n", 2, "cannot stand beside calls"),
        ("turns:\n  - text: a\n  - text: '${makrer}'\n", 3, "${makrer} has no value"),
        ("find: {Marker: a}\nturns:\n  - text: a\n", 1, "cannot be the name of a value"),
        ("find:\n  workspace: a\nturns:\n  - text: a\n", 2, "cannot be the name of a value"),
        ("find:\n  a: '('\nturns:\n  - text: a\n", 2, "not a regular expression"),
        ("find:\n  a: {else: b}\nturns:\n  - text: a\n", 2, "has no pattern"),
        ("turns:\n  - text: a\nanswers:\n  - text: b\n", 4, "needs `heard`"),
        ("turns:\n  - text: a\nanswers:\n  - {text: b, heard: c, times: 2}\n", 4, "Make it a turn instead"),
        ("plain: true\nconversations:\n  - turns: [{text: a}]\n", 1, "Put it in a conversation"),
        ("conversations:\n  - turns: [{text: a}]\n  - turns: [{text: b}]\n", 1, "never reached"),
        (
            "conversations:\n  - {name: a, when: x, turns: [{text: a}]}\n  - {name: a, turns: [{text: b}]}\n",
            1,
            "two conversations named 'a'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(text: str, line: int, says: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_script(text, file="play.yaml")
    assert caught.value.message.startswith(f"play.yaml:{line}: ")
    assert says in str(caught.value)
    assert caught.value.hint


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"nothing\.yaml: the script cannot be read"):
        load_script(tmp_path / "nothing.yaml")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"turns:\n  - text: caf\xe9\n")
    with pytest.raises(ScriptError, match="is not UTF-8"):
        load_script(latin)
    with pytest.raises(ScriptError, match="is not UTF-8"):
        write_copy(latin, tmp_path)
    with pytest.raises(ScriptError, match="cannot be read"):
        write_copy(tmp_path / "nothing.yaml", tmp_path)


DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_field_is_documented() -> None:
    page = (DOCS / "reference/rehearsal-script.md").read_text()
    fields = {*SCRIPT_FIELDS, *TURN_FIELDS, "name", "when", *CALLS, *(each for more in CALLS.values() for each in more)}
    assert [name for name in sorted(fields) if not re.search(rf"`{name}[`:]", page)] == []
    assert [name for name in sorted(BUILT_IN) if f"`${{{name}}}`" not in page] == []
    assert [error for error in FAULTS if f"`{error}`" not in page] == []


@pytest.mark.parametrize("page", ["reference/rehearsal-script.md", "how-to/rehearse.md"])
def test_every_script_in_the_documentation_can_be_played(page: str) -> None:
    scripts = re.findall(r"```yaml\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert len(scripts) >= 3
    for script in scripts:
        assert parse_script(script).conversations


def test_a_copy_is_the_same_script_and_never_an_old_one(tmp_path: Path) -> None:
    file, copies = tmp_path / "play.yaml", tmp_path / "copies"
    file.write_text(WHOLE)
    whole = load_script(file)
    copy = write_copy(file, copies)
    assert read_script(copy) == whole == read_script(file)
    assert write_copy(file, copies) == copy
    before = file.stat()
    file.write_text(WHOLE.replace("I do.", "I am"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_script(write_copy(file, copies)).conversations[0].answers[0].text == "I am"
    copy.write_text("{")
    with pytest.raises(ScriptError, match="copy of a script"):
        read_script(copy)
