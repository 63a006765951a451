"""`touchline config`, and that what is set there is what commands do."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.people import Person, person_at
from tests.cli.runs import HAPPY, desk

from touchline.settings.keys import keys

EDIT = [
    {"tool": "Edit", "args": {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "result": {"text": "updated"}}
]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return person_at(tmp_path)


def test_show_is_a_settings_file_with_every_setting(person: Person) -> None:
    person.file.write_text('[run]\nagent = "codex"\n[agents.codex]\nflags = ["-a"]\n')
    shown = tomllib.loads(person.run("config", "show", TOUCHLINE_HOOKS_CAP="5").stdout)
    assert shown["run"]["agent"] == "codex"
    assert shown["hooks"]["cap"] == 5
    assert set(shown) >= {"database", "run", "build", "checks", "limits", "log"}
    assert person.run("config", "show").returncode == 0


def test_show_says_where_each_value_came_from(person: Person) -> None:
    person.file.write_text('[run]\nagent = "codex"\n')
    lines = person.run("config", "show", "--origin", TOUCHLINE_HOOKS_CAP="5").stdout.splitlines()
    assert f'agent = "codex"  # {person.file}:2' in lines
    assert "cap = 5  # TOUCHLINE_HOOKS_CAP" in lines
    assert 'sandbox = "auto"  # default' in lines
    assert "# usd is not set  # default" in lines
    told = person.told("config", "show")
    assert told["schema"] == "touchline.settings/1"
    assert told["settings"]["run.agent"] == {"value": "codex", "source": "project", "where": f"{person.file}:2"}
    assert {name for name in keys() if "NAME" not in name} == set(told["settings"])


def test_show_has_every_setting_of_an_agent_that_anything_is_said_of(person: Person) -> None:
    person.file.write_text("[agents.codex]\nrequests = 5\n")
    told = person.told("config", "show", TOUCHLINE_AGENTS_CLAUDE_REQUESTS="3")["settings"]
    of_agents = {name.replace("NAME", agent) for name in keys() if "NAME" in name for agent in ("claude", "codex")}
    assert {name for name in told if name.startswith("agents.")} == of_agents
    assert told["agents.claude.requests"]["value"] == 3
    shown = person.run("config", "show", "--origin", TOUCHLINE_AGENTS_CLAUDE_REQUESTS="3").stdout
    assert "requests = 3  # TOUCHLINE_AGENTS_CLAUDE_REQUESTS" in shown
    assert set(tomllib.loads(shown)["agents"]) == {"claude", "codex"}


def test_a_password_is_not_shown(person: Person) -> None:
    address = "postgresql://me:secret@host/name?password=secret"
    for arguments in (("config", "show"), ("config", "show", "--json"), ("config", "explain", "database.url")):
        done = person.run(*arguments, TOUCHLINE_DATABASE_URL=address)
        assert "secret" not in done.stdout + done.stderr
        assert "postgresql://me@host/name" in done.stdout


def test_a_wrong_file_is_told_with_its_line_and_the_next_step(person: Person) -> None:
    person.file.write_text('[run]\nagnet = "codex"\n')
    done = person.run("config", "show", code=2)
    assert done.stderr == f"touchline: {person.file}:2: there is no setting 'run.agnet'.\nDid you mean run.agent?\n"


def test_path_names_the_files(person: Person) -> None:
    told = person.told("config", "path")
    assert told["project"] == {"path": str(person.file), "exists": False}
    assert told["user"]["path"] == str(person.home / "config" / "touchline" / "config.toml")
    assert str(person.file) in person.run("config", "path").stdout


@pytest.mark.parametrize("name", [*keys(), "agents.claude.flags"])
def test_every_setting_is_explained(name: str) -> None:
    from touchline.cli.config_output import _described
    from touchline.settings.keys import key_named

    key = keys().get(name) or key_named(name)
    assert key is not None
    assert all(str(value) != "" or name == "default" for name, value in _described(key).items())


def test_explain_says_what_it_is_here(person: Person) -> None:
    said = " ".join(person.run("config", "explain", "hooks.cap", TOUCHLINE_HOOKS_CAP="5").stdout.split())
    assert "here 5 (TOUCHLINE_HOOKS_CAP)" in said
    told = person.told("config", "explain", "run.check")
    assert (told["guarded"], told["variable"], told["default"]) == (True, "TOUCHLINE_RUN_CHECK", "")
    assert "Did you mean hooks.cap?" in person.run("config", "explain", "hooks.cup", code=2).stderr


def test_trust_is_asked_for_at_a_terminal_only(person: Person) -> None:
    person.file.write_text('[run]\ncheck = "make test"\n')
    done = person.run("config", "trust", code=2)
    assert 'touchline.toml:2: run.check = "make test"' in done.stdout
    assert "--yes" in done.stderr
    code, shown = person.at_terminal("config", "trust", answer="n\n")
    assert (code, "Nothing was changed" in shown) == (1, True), shown
    assert person.told("config", "show")["ignored"] == {"run.check": "make test"}
    code, shown = person.at_terminal("config", "trust", answer="y\n", CI="true")
    assert code == 2, "a CI that lends us a terminal cannot answer"
    code, shown = person.at_terminal("config", "trust", answer="y\n")
    assert (code, "Trusted" in shown) == (0, True), shown
    assert person.told("config", "show")["settings"]["run.check"]["value"] == "make test"
    assert "trusted already" in person.run("config", "trust").stderr
    person.run("config", "trust", "--forget")
    assert person.told("config", "show")["ignored"]


def test_trust_without_a_file_or_a_repository(person: Person, tmp_path: Path) -> None:
    assert "touchline init" in person.run("config", "trust", code=3).stderr
    alone = Person(home=person.home, root=tmp_path)
    assert "is in no git repository" in alone.run("config", "trust", code=2).stderr


@pytest.mark.timeout(120)
def test_a_run_does_what_is_set_and_trusted(tmp_path: Path) -> None:
    mine = desk(tmp_path)
    (mine.repo / "touchline.toml").write_text('[run]\ncheck = "false"\n[budget]\nturns = 2\n')
    happy = mine.done(*mine.task(HAPPY, "--max-turns", "3"))
    assert "not used, because nobody has trusted it yet: run.check" in happy.stderr
    assert "check `false`" not in happy.stdout
    named = mine.done("run", "x", "--check", "true", "--script", tmp_path / "nowhere.yaml", code=2)
    assert "trusted" not in named.stderr, "the option goes over it anyway"
    person = Person(home=tmp_path / "home", root=mine.repo)
    person.run("config", "trust", "--yes", XDG_STATE_HOME="")
    refused = mine.done(*mine.task(HAPPY + "  - {text: It is done.}\n"), code=1)
    assert "check `false`: no pass" in refused.stdout
    assert "trusted" not in refused.stderr
    newest, first = (mine.told("sessions", "show", each["session"])["asked"] for each in mine.sessions())
    assert (newest["turns"], newest["check"]) == (2, "false")
    assert (first["turns"], first.get("check")) == (3, None), "a flag goes over the file"


@pytest.mark.parametrize("command", [["config", "show"], ["config", "explain", "run.agent"], ["run", "x"]])
def test_a_variable_with_a_slip_ends_a_command_as_a_wrong_file_does(person: Person, command: list[str]) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "Start"], cwd=person.root, check=True)
    told = person.run(*command, code=2, TOUCHLINE_RUN_AGNET="x").stderr
    assert "TOUCHLINE_RUN_AGNET: there is no such setting." in told
    assert "Did you mean TOUCHLINE_RUN_AGENT?" in told


def test_decide_takes_the_numbers_that_are_set(person: Person) -> None:
    def reason(**env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "touchline", "decide"],
            input=json.dumps({"text": "I fixed it. It should work now.", "calls": EDIT, "continuations": 1}),
            capture_output=True,
            text=True,
            check=True,
            cwd=person.root,
            env={**person.env, **env},
        )
        return str(json.loads(done.stdout)["reason"])

    assert reason() != "cap_reached"
    assert reason(TOUCHLINE_LIMITS_CONTINUE_CAP="1") == "cap_reached"
    person.file.write_text("[limits]\ncontinue_cap = 1\n")
    assert reason() == "cap_reached"


def test_the_database_that_is_set_is_the_one_that_is_used(person: Person) -> None:
    """As a person: a test has no default, so what marks a test is taken out of the environment."""
    person.file.write_text('[database]\nurl = "kept/own.db"\n')
    below = Person(home=person.home, root=person.root / "below")
    below.root.mkdir()

    def status() -> tuple[str, str]:
        env = {name: value for name, value in below.env.items() if name != "PYTEST_CURRENT_TEST"}
        line = [sys.executable, "-m", "touchline", "db", "status", "--json"]
        done = subprocess.run(line, cwd=below.root, env=env, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout)
        return told["origin"], told["database"]

    assert status() == ("user", str(person.home / "data" / "touchline" / "app.db"))
    person.run("config", "trust", "--yes")
    assert status() == ("settings", str(person.root / "kept" / "own.db"))
