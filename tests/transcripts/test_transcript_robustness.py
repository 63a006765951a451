"""Nothing an agent prints or a disk holds makes a reader raise, and memory stays bounded."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.digests import digest
from touchline.supervision.facts import Call, Prompt, Result, Spent, Text, Turn, Unread, call_identity, steps_of
from touchline.transcripts import CLIS, read_log, read_turn, reader_for
from touchline.transcripts.bounds import bounded_args, cut
from touchline.transcripts.decode import BROKEN, decode, decode_plainly
from touchline.transcripts.gathering import EVENTS_KEPT, SLACK, TEXT_KEPT, UNREAD_KEPT
from touchline.transcripts.lines import LINE_LIMIT, lines_of

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
STREAMS = sorted(path for path in CAPTURES.glob("*/*.jsonl") if path.stat().st_size)
LOGS = sorted(path for path in (CAPTURES / "session-logs").rglob("*.jsonl"))
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


def cli_of(path: Path) -> str:
    return path.parent.name.removesuffix("197")


def check(turn: Turn) -> None:
    """A turn that came out of anything must be usable by every rule: hashable, comparable, printable."""
    for step in steps_of(turn):
        call_identity(step.call)
    json.dumps(turn.final_text).encode()
    for event in turn.events:
        if isinstance(event, Text | Prompt | Result | Unread):
            event.text.encode()
        elif isinstance(event, Spent):
            assert event.usage.total > 0
    assert turn.usage.total >= 0


def all_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from all_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from all_strings(item)


@QUICK
@given(st.lists(st.binary(max_size=200), max_size=10), st.sampled_from(CLIS))
def test_arbitrary_bytes(lines: list[bytes], cli: str) -> None:
    check(read_turn(lines, cli=cli, exit_code=0))


@QUICK
@given(st.lists(st.text(st.characters(codec=None), max_size=50), max_size=10), st.sampled_from(CLIS))
def test_arbitrary_text(lines: list[str], cli: str) -> None:
    check(read_turn(lines, cli=cli, exit_code=1))


def replaced(value: Any, path: list[int], new: Any) -> Any:
    """The value with one place in it exchanged for something else; `path` says which."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    choice, rest = path[0], path[1:]
    if isinstance(value, dict):
        key = list(value)[choice % len(value)]
        return {**value, key: replaced(value[key], rest, new)}
    place = choice % len(value)
    return [*value[:place], replaced(value[place], rest, new), *value[place + 1 :]]


@settings(QUICK, max_examples=300)
@given(st.data())
def test_wrong_types_anywhere_in_real_records(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([*STREAMS, *LOGS]))
    lines = path.read_text("utf-8").splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(lines) - 1))
        where = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=6))
        lines[place] = json.dumps(replaced(json.loads(lines[place]), where, data.draw(values)))
    if path in LOGS:
        for turn in turns_in("\n".join(lines).encode()):
            check(turn)
    else:
        check(read_turn(lines, cli=cli_of(path), exit_code=0))


def turns_in(content: bytes) -> list[Turn]:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(content)
        file.flush()
        return list(read_log(file.name))


def truncated(content: bytes, data: st.DataObject) -> bytes:
    return content[: data.draw(st.integers(0, len(content)))]


def flipped(content: bytes, data: st.DataObject) -> bytes:
    mutable = bytearray(content)
    for _ in range(data.draw(st.integers(1, 20))):
        mutable[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    return bytes(mutable)


def doubled(content: bytes, data: st.DataObject) -> bytes:
    lines = content.splitlines(keepends=True)
    place = data.draw(st.integers(0, len(lines) - 1))
    return b"".join([*lines[: place + 1], *lines[place:]])


def shuffled(content: bytes, data: st.DataObject) -> bytes:
    return b"".join(data.draw(st.permutations(content.splitlines(keepends=True))))


@pytest.mark.parametrize("mutate", [truncated, flipped, doubled, shuffled])
@settings(QUICK, max_examples=80)
@given(st.data())
def test_damaged_captures(mutate: Callable[[bytes, st.DataObject], bytes], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([*STREAMS, *LOGS]))
    content = mutate(path.read_bytes(), data)
    for turn in turns_in(content):
        check(turn)
    if path in STREAMS:
        check(read_turn(content.splitlines(), cli=cli_of(path), exit_code=0))


@settings(QUICK, max_examples=30)
@given(st.data())
def test_a_damaged_database(data: st.DataObject) -> None:
    content = (CAPTURES / "session-logs" / "opencode" / "opencode.db").read_bytes()
    mutate = data.draw(st.sampled_from([truncated, flipped]))
    for turn in turns_in(mutate(content, data)):
        check(turn)


def test_odd_values_in_the_database(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes((CAPTURES / "session-logs" / "opencode" / "opencode.db").read_bytes())
    database = sqlite3.connect(path)
    odd = [b"\xff\xfe", "[1,2]", "nonsense", '{"role":7,"time":[]}', '{"type":"tool","state":"x"}', 12]
    for number, value in enumerate(odd):
        for table in ("message", "part"):
            places = [key for (key,) in database.execute(f"select id from {table} order by id")]
            database.execute(f"update {table} set data = ? where id = ?", (value, places[number * 3]))
    database.commit()
    database.close()
    turns = list(read_log(path))
    assert len(turns) >= 5
    for turn in turns:
        check(turn)


@QUICK
@given(values)
def test_both_decoders_agree_and_never_leave_half_a_character(value: Any) -> None:
    line = json.dumps(value).encode()
    for decoder in (decode, decode_plainly):
        for words in all_strings(decoder(line)):
            words.encode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a": NaN}', dict),
        (b'{"a": "\\ud800"}', dict),
        (b'{"a": "\xff"}', dict),
        (b"[" * 100_000, BROKEN),
        (b"[" * 2_000 + b"]" * 2_000, None),  # newer versions of Python can read it
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, BROKEN),
        (b"1" * 5_000, None),
        (b"{", BROKEN),
        (b"", BROKEN),
    ],
)
def test_odd_json(line: bytes, expected: Any) -> None:
    value = decode(line)
    if expected is BROKEN:
        assert value is BROKEN
    elif expected is dict:
        assert isinstance(value, dict)


def test_deep_arguments_stay_comparable() -> None:
    deep = '{"a":[' * 450 + "1" + "]}" * 450
    block = f'{{"type":"tool_use","id":"t","name":"n","input":{deep}}}'
    line = f'{{"type":"assistant","message":{{"content":[{block}]}}}}'
    (step,) = steps_of(read_turn([line], cli="claude"))
    assert len(call_identity(step.call)) < 2_000


def test_long_arguments_are_cut_but_stay_different() -> None:
    middle = 50_000
    one, other = ("a" * middle + letter + "a" * middle for letter in "xy")
    first, second = bounded_args({"content": one}), bounded_args({"content": other})
    assert len(first["content"]) < 10_000
    assert first != second
    assert first == bounded_args({"content": one})
    many = bounded_args({"list": list(range(5_000))})
    assert len(many["list"]) < 500
    assert many != bounded_args({"list": [*range(4_999), 0]})


def test_a_cut_text_tells_how_much_is_missing_and_keeps_both_ends() -> None:
    assert cut("abcdefghij", 5, 5) == "abcdefghij"
    assert cut("abcdefghijk", 2, 3) == "ab\n[... 6 characters cut ...]\nijk"
    assert digest("a") != digest("b")


def test_noise_unknown_records_and_a_torn_end_are_told_apart() -> None:
    lines = [
        "Warning: x",
        '{"type":"brand_new"}',
        '{"type":"turn.st',
        '{"type":"turn.started"}',
        "",
        '{"type":"turn.comp',
    ]
    turn = read_turn(lines, cli="codex", exit_code=0)
    assert [(e.why, e.text) for e in turn.events if isinstance(e, Unread)] == [
        ("noise", "Warning: x"),
        ("unknown", '{"type":"brand_new"}'),
        ("noise", '{"type":"turn.st'),
        ("torn", '{"type":"turn.comp'),
    ]


def test_a_torn_end_of_a_log_keeps_everything_before_it(tmp_path: Path) -> None:
    (whole,) = (path for path in LOGS if path.name.startswith("a80b6876"))
    lines = whole.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"type":"assistant"' in line)
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b"".join(lines[:last]) + lines[last][:300])
    (turn,) = read_log(path)
    assert [event.why for event in turn.events if isinstance(event, Unread)] == ["torn"]
    assert len(steps_of(turn)) == 4


def test_duplicate_ids_count_once() -> None:
    path = CAPTURES / "claude" / "b_tools.jsonl"
    lines = [line for line in path.read_text("utf-8").splitlines() for _ in range(2)]
    once, twice = read_turn(path.read_text("utf-8"), cli="claude"), read_turn(lines[:-2], cli="claude")
    assert len(steps_of(twice)) == len(steps_of(once)) == 2
    assert twice.usage.input == once.usage.input


def test_a_line_of_64_megabytes_is_skipped_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    block = b"x" * 1_000_000
    with path.open("wb") as file:
        file.write(b'{"type":"user","sessionId":"s","message":{"content":"go"}}\n')
        file.write(b'{"type":"user","sessionId":"s","message":{"content":"')
        for _ in range(64):
            file.write(block)
        file.write(b'"}}\n')
        file.write(b'{"type":"assistant","sessionId":"s","message":{"content":"done","stop_reason":"end_turn"}}\n')
    tracemalloc.start()
    try:
        (turn,) = read_log(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (unread,) = (event for event in turn.events if isinstance(event, Unread))
    assert unread.why == "too_long"
    assert len(unread.text) == 200
    assert turn.final_text == "done"
    assert peak < 3 * LINE_LIMIT


def test_a_live_line_beyond_the_limit_is_noted() -> None:
    reader = reader_for("claude")
    (event,) = reader.feed(b"x" * (LINE_LIMIT + 1))
    assert isinstance(event, Unread)
    assert event.why == "too_long"


@QUICK
@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.integers(2, 8))
def test_framing_loses_no_line_within_the_limit(lines: list[bytes], limit: int) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"".join(line + b"\n" for line in lines))
        file.seek(0)
        framed = list(lines_of(file, limit=limit))
    assert len(framed) == len(lines)
    for line, frame in zip(lines, framed, strict=True):
        if len(line) < limit:
            assert frame == line + b"\n"
        else:
            assert isinstance(frame, Unread)


def test_a_turn_without_end_stays_bounded() -> None:
    reader = reader_for("codex")
    output = "y" * 9_000
    total = EVENTS_KEPT + 2 * SLACK
    for number in range(total // 2):
        item = {"id": f"item_{number}", "type": "command_execution", "command": "ls", "aggregated_output": output}
        told = reader.feed(json.dumps({"type": "item.completed", "item": item}))
        assert [type(event) for event in told] == [Call, Result]
    turn = reader.finish()
    assert turn.cut
    assert len(turn.events) <= EVENTS_KEPT + SLACK
    results = [event for event in turn.events if isinstance(event, Result)]
    assert sum(len(event.text) for event in results) <= TEXT_KEPT
    assert len({event.digest for event in results}) == 1
    ids = [event.id for event in turn.events if isinstance(event, Call)]
    assert (ids[0], ids[-1]) == ("item_0", f"item_{total // 2 - 1}")


def test_a_flood_of_noise_is_noted_up_to_a_limit() -> None:
    turn = read_turn((f"noise {number}" for number in range(5_000)), cli="gemini", exit_code=0)
    assert len(turn.events) == UNREAD_KEPT
    assert turn.cut
