"""The scripted agent as a driver: the contract of every driver, and turns run by Touchline's own loop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.agents.turning import Seat, once

from touchline.agents.contract_tests import DriverContract, Live
from touchline.agents.port import Found, Request
from touchline.agents.registry import driver_named
from touchline.agents.turns import Say, Stop
from touchline.errors import ScriptError, SettingsError
from touchline.rehearsal.agent_records import Records
from touchline.rehearsal.driver import driver
from touchline.rehearsal.turns import Usage
from touchline.supervision.facts import Call, Ended

SAMPLE = Path(__file__).with_name("sample.yaml")
PRINTED = Records("s-1", "m")
LINES = (
    PRINTED.init(read_only=False),
    PRINTED.replay("Do it.", ""),
    PRINTED.assistant("msg-1", {"type": "text", "text": "Done."}, Usage()),
    PRINTED.result(
        subtype="success",
        reason="completed",
        failed=False,
        requests=1,
        seconds=1,
        usages=[Usage()],
        before=Usage(input=0, cached=0, output=0),
        words="Done.",
    ),
)


class TestContract(DriverContract):
    driver = driver
    settings: ClassVar[Mapping[str, Any]] = {"script": str(SAMPLE)}
    lines = tuple(json.dumps(line).encode() for line in LINES)

    def live(self, folder: Path) -> Iterator[Live]:
        (folder / "work").mkdir()
        yield Live(env={"PATH": "/usr/bin:/bin"}, workspace=folder / "work", home=folder / "home")


def test_it_is_registered() -> None:
    assert driver_named("scripted") is driver


def test_a_missing_or_broken_script_is_told_before_anything_starts(tmp_path: Path) -> None:
    found = Found(path=Path("/usr/bin/python3"), version="")
    request = Request(prompt="Go.", workspace=tmp_path, home=tmp_path)
    with pytest.raises(SettingsError, match="script is None"):
        driver.launch(request, found, {})
    broken = tmp_path / "broken.yaml"
    broken.write_text("turns:\n  - txt: a\n")
    with pytest.raises(ScriptError, match=r"broken\.yaml:2:"):
        driver.launch(replace(request, settings={"script": str(broken)}), found, {})


def seat(folder: Path, script: str) -> tuple[Seat, dict[str, str], Path]:
    (folder / "play.yaml").write_text(script)
    return Seat(folder=folder, driver=driver), {"script": str(folder / "play.yaml")}, folder / "home"


def test_a_turn_is_spoken_to_and_the_next_one_goes_on(tmp_path: Path) -> None:
    here, settings, home = seat(
        tmp_path,
        """
        turns:
          - calls: [{shell: 'sleep 0.5'}]
          - {heard: hurry, text: I hurry., else: {text: I take my time.}}
          - text: Second.
        """,
    )
    first = here.run(observe=once(Call, Say(text="Please hurry.")), settings=settings, home=home)
    assert (first.turn.ended, first.turn.final_text, first.said) == (Ended.FINISHED, "I hurry.", ("Please hurry.",))
    assert first.turn.cost_usd == pytest.approx(2 * 0.00381)
    assert first.turn.session_id is not None
    second = here.run(session=first.turn.session_id, settings=settings, home=home, spent_before=first.spent)
    assert (second.turn.final_text, second.turn.session_id) == ("Second.", first.turn.session_id)
    assert second.turn.usage.input == 1000
    assert second.turn.cost_usd == pytest.approx(0.00381)


def test_a_turn_that_is_stopped_can_be_resumed(tmp_path: Path) -> None:
    here, settings, home = seat(tmp_path, "turns: [{calls: [{shell: 'sleep 600'}]}, {text: On again.}]")
    stopped = here.run(observe=once(Call, Stop(why="enough")), settings=settings, home=home)
    assert (stopped.turn.ended, stopped.stopped) == (Ended.KILLED, "enough")
    again = here.run(session=here.sessions[-1], settings=settings, home=home)
    assert again.turn.final_text == "On again."


def test_structured_answers_and_limits(tmp_path: Path) -> None:
    here, settings, home = seat(
        tmp_path,
        """
        conversations:
          - {when: judge, turns: [{json: {verdict: good}}]}
          - turns: [{calls: [{shell: 'true'}], times: always}]
        """,
    )
    judged = here.run(prompt="judge it", schema={"type": "object"}, settings=settings, home=home)
    assert json.loads(judged.turn.final_text) == {"verdict": "good"}
    limited = here.run(max_requests=2, settings=settings, home=home)
    assert (limited.turn.ended, limited.turn.end_detail) == (Ended.LIMIT, "max_turns")
