"""The reader of the research traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from touchline.errors import InputError, LogNotFound
from touchline.supervision.facts import Ended, steps_of
from touchline.transcripts.traces import read_traces


def call(name: str) -> dict[str, Any]:
    return {"kind": "call", "tool": "bash", "args": {"command": name}}


def result(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "result", "text": text, "sha": f"sha-{text}", **more}


RUN = {
    "id": "r1",
    "instance": "i",
    "model": "m",
    "end": "max_iter",
    "outcome": "unresolved",
    "events": [
        {"kind": "user", "text": "fix it"},
        call("a"),
        call("b"),
        result("ra", exit_code=0),
        result("rb", exit_code=2),
        call("c"),
        {"kind": "user", "text": "go on"},
        call("d"),
        result("rd", error=True),
        {"kind": "text", "text": "done"},
    ],
}


def write(path: Path, *records: Any) -> Path:
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_results_answer_the_calls_of_their_batch(tmp_path: Path, name: str) -> None:
    (trace,) = read_traces(write(tmp_path / name, RUN))
    assert (trace.id, trace.end, trace.outcome, trace.model) == ("r1", "max_iter", "unresolved", "m")
    assert (trace.turn.cli, trace.turn.ended, trace.turn.final_text) == ("trace", Ended.LIMIT, "done")
    pairs = [(s.call.args["command"], s.result and s.result.digest, s.failed) for s in steps_of(trace.turn)]
    assert pairs == [("a", "sha-ra", False), ("b", "sha-rb", True), ("c", None, False), ("d", "sha-rd", True)]


def test_an_unlabelled_run_has_no_labels(tmp_path: Path) -> None:
    (trace,) = read_traces(write(tmp_path / "t.jsonl", {"id": "r", "events": []}))
    assert (trace.end, trace.outcome, trace.model, trace.instance) == (None, None, None, None)
    assert trace.turn.ended is Ended.UNKNOWN


@pytest.mark.parametrize("record", [{"id": "r"}, [], {"id": "r", "events": [{"kind": "new"}]}])
def test_a_broken_file_is_reported_with_its_line(tmp_path: Path, record: Any) -> None:
    path = write(tmp_path / "t.jsonl", RUN, record)
    with pytest.raises(InputError, match="line 2"):
        list(read_traces(path))


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LogNotFound, match=r"t\.jsonl"):
        list(read_traces(tmp_path / "t.jsonl"))
