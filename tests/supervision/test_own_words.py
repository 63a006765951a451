"""A person's own words and phases: they reach agents through every door, and what is wrong with them is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.hooks.agent import Agent

from touchline.errors import SettingsError
from touchline.supervision.data_files import data_text
from touchline.supervision.own_words import laid_over

RELEASE = """
[release]
trigger = "/do-release"
needs = ["tests_passed", "commit"]
hint = "the version, and the test run that preceded it"
"""


def laid(tmp_path: Path, name: str, text: str) -> dict[str, object]:
    path = tmp_path / name
    path.write_text(text)
    return laid_over(name, tomllib.loads(data_text(name)), str(path))


def test_only_what_is_said_differs(tmp_path: Path) -> None:
    usual = tomllib.loads(data_text("coach.toml"))
    own = laid(tmp_path, "coach.toml", 'plain = "Please go on."\n[rejection]\nopening = "Not yet:"\n')
    assert own == {**usual, "plain": "Please go on.", "rejection": {**usual["rejection"], "opening": "Not yet:"}}
    phases = laid(tmp_path, "phases.toml", RELEASE)
    assert list(phases) == [*tomllib.loads(data_text("phases.toml")), "release"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("coach.toml", "plain = ", "cannot be read"),
        ("coach.toml", 'plian = "Go on."', "there is no plian of that kind"),
        ("coach.toml", "plain = 5", "there is no plain of that kind"),
        ("coach.toml", '[rejection]\nasks = "Show {prof}."', r"nothing fills in \{prof\} in rejection.asks"),
        ("coach.toml", '[rejection]\nasks = "Show {proof"', "the braces in rejection.asks do not fit"),
        ("phases.toml", '[release]\ntrigger = "/r"\n', "the phase release has not just hint, needs, trigger"),
        ("phases.toml", RELEASE.replace("/do-release", "do it"), "no single word"),
        ("phases.toml", RELEASE.replace('"commit"', '"a_miracle"'), "which nothing checks"),
        ("phases.toml", RELEASE.replace("the version, and the test run that preceded it", " "), "has no hint"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as raised:
        laid(tmp_path, name, text)
    assert str(tmp_path / name) in raised.value.message


def written(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "coach.toml").write_text('[rejection]\nopening = "Wait a moment:"\n')
    (folder / "phases.toml").write_text(RELEASE)
    return folder


def test_hooks_speak_them_and_know_the_phases(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    own = written(agent.home / ".config" / "touchline")
    agent.tell("UserPromptSubmit", prompt="/do-release it")
    agent.prompted("/do-release it")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    reason = agent.stop("The release is made; 7 tests pass.")
    assert reason is not None
    assert "[System Coach] Wait a moment:" in reason
    assert "The release phase still lacks: a commit." in reason
    (own / "coach.toml").write_text('[rejection]\nopening = "Another word:"\n')
    reason = agent.stop("The release is made, as asked; 7 tests pass.")
    assert reason is not None, agent.log
    (own / "coach.toml").write_text("broken")
    agent.tell("UserPromptSubmit", prompt="/do-release it")
    assert agent.stop("The release is made, as asked for; 7 tests pass.") is None
    assert "coach.toml: it cannot be read" in agent.log


def test_the_command_line_speaks_them_and_doctor_looks_at_them(tmp_path: Path) -> None:
    own = written(tmp_path / "config" / "touchline")
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "PATH": os.environ["PATH"]}

    def touchline(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "touchline", *arguments]
        return subprocess.run(line, input=said, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    stop = json.dumps({"text": "The release is done.", "task": "/do-release it", "calls": []})
    decided = json.loads(touchline("decide", said=stop).stdout)
    assert "Wait a moment:" in decided["message"]
    assert "The release phase still lacks" in decided["message"]
    checks = {each["id"]: each for each in json.loads(touchline("doctor", "--json").stdout)["checks"]}
    assert checks["settings.words"]["found"] == f"coach.toml, phases.toml in {own}"
    (own / "phases.toml").write_text("[release]\n")
    checks = {each["id"]: each for each in json.loads(touchline("doctor", "--json").stdout)["checks"]}
    assert checks["settings.words"]["result"] == "problem"
    refused = touchline("decide", said=stop)
    assert refused.returncode == 2
    assert "phases.toml: the phase release has not just hint, needs, trigger" in refused.stderr
