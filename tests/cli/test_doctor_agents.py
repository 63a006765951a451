"""`touchline doctor` about settings, trust, agents, sandbox, hooks, the model and what was left half-way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.people import Person, person_at
from tests.cli.test_doctor import by_id, program

from touchline.cli.agent_checks import check_sandbox, with_known_faults
from touchline.cli.session_checks import check_leftovers, check_sessions
from touchline.cli.settings_checks import check_hooks, check_model
from touchline.engine.opening import supervisor_lock
from touchline.hooks.memory import note
from touchline.store.checked import ok
from touchline.store.place import Place


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return person_at(tmp_path)


def checks(person: Person, *, code: int = 0, **env: str) -> dict[str, dict[str, str]]:
    return by_id(person.told("doctor", "--database", person.home / "app.db", code=code, **env))


def test_what_is_in_order_is_said(person: Person) -> None:
    person.file.write_text('[run]\nagent = "claude"\n')
    found = checks(person)
    for name in ("user", "project", "variables", "agents"):
        assert found[f"settings.{name}"]["result"] == "ok"
    for name in ("trust", "model", "hooks", "leftovers"):
        assert found[name]["result"] == "ok", found[name]
    assert "1 set" in found["settings.project"]["found"]


def test_a_wrong_settings_file_is_a_problem_and_the_rest_is_still_checked(person: Person) -> None:
    person.file.write_text("[run]\nagnet = 1\n")
    found = checks(person, code=1)
    assert found["settings.project"]["result"] == "problem"
    assert found["settings.project"]["found"].startswith(f"{person.file}:2: ")
    assert found["settings.project"]["fix"] == "Did you mean run.agent?"
    assert found["settings.user"]["result"] == "ok"
    assert "git" in found
    assert "sandbox" in found


def test_a_wrong_variable_is_a_problem_and_a_strange_one_a_warning(person: Person) -> None:
    assert checks(person, code=1, TOUCHLINE_BUDGET_TURNS="x")["settings.variables"]["result"] == "problem"
    slip = checks(person, code=1, TOUCHLINE_BUDGET_TURN="1")["settings.variables"]
    assert (slip["result"], slip["fix"]) == ("problem", "Did you mean TOUCHLINE_BUDGET_TURNS?")
    strange = checks(person, TOUCHLINE_BUDGETTURNS="1")["settings.variables"]
    assert (strange["result"], "TOUCHLINE_BUDGET_TURNS" in strange["found"]) == ("warning", True)


def test_what_is_not_trusted_is_a_warning(person: Person) -> None:
    person.file.write_text('[run]\ncheck = "make test"\n')
    assert "run.check" in checks(person)["trust"]["found"]
    assert checks(person)["trust"]["fix"].endswith("touchline config trust")
    person.run("config", "trust", "--yes")
    assert checks(person)["trust"]["result"] == "ok"


def test_an_agent_that_nobody_knows_is_a_problem(person: Person) -> None:
    person.file.write_text('[run]\nagent = "cloud"\n')
    assert "cloud" in checks(person, code=1)["settings.agents"]["found"]


def test_versions_that_misbehave_are_told(person: Person) -> None:
    folder = person.home / "bin"
    program(folder, "opencode", "echo 1.18.0")
    program(folder, "git", "echo git version 2.1.4")
    found = checks(person, code=1, PATH=f"{folder}:/usr/bin:/bin")
    assert found["agent.opencode"]["result"] == "warning"
    assert "--max-seconds" in found["agent.opencode"]["fix"]
    assert found["git"]["result"] == "problem"
    fine = ok("agent.claude", "9999.0.0 (Claude Code)")
    assert with_known_faults(fine) is fine


@pytest.mark.parametrize(
    ("line", "result", "words"),
    [
        ("", "ok", "none is set"),
        ("nonsense", "problem", "is no model"),
        ("cli:claude", "ok", "cli:claude"),
        ("cli:codex", "problem", "not installed"),
        ("cli:nobody", "problem", "no agent 'nobody'"),
        ("http://127.0.0.1:1/v1", "problem", "names no model"),
        ("http://127.0.0.1:1/v1#x", "ok", "127.0.0.1"),
        ("openai:x", "warning", "OPENAI_API_KEY"),
    ],
)
def test_the_model_is_looked_at_and_not_asked(tmp_path: Path, line: str, result: str, words: str) -> None:
    program(tmp_path / "bin", "claude", "echo 2.1.325")
    found = check_model(line, {"PATH": str(tmp_path / "bin")})
    assert (found.result, words in found.found) == (result, True), found
    assert found.result == "ok" or found.fix


def test_the_sandbox_says_what_is_missing(tmp_path: Path) -> None:
    found = check_sandbox({"PATH": str(tmp_path)})
    assert (found.result, "not on the PATH" in found.found) == ("warning", True)
    assert "bubblewrap" in found.fix
    program(tmp_path, "bwrap", "echo no permission for a namespace >&2; exit 1")
    refused = check_sandbox({"PATH": str(tmp_path)})
    assert ("refused" in refused.found, "user namespaces" in refused.fix) == (True, True)


def test_hooks_are_told_and_broken_ones_a_warning(person: Person) -> None:
    env = {**os.environ, "HOME": str(person.home)}
    env.pop("CLAUDE_CONFIG_DIR", None)
    env.pop("XDG_STATE_HOME", None)
    assert "not installed" in check_hooks(env, person.root).found
    person.run("hook", "install", "claude", "--yes")
    assert check_hooks(env, person.root).found == "claude (project)"
    note(env, "hook claude let the agent go on: no such luck")
    found = check_hooks(env, person.root)
    assert (found.result, "no such luck" in found.found) == ("warning", True)
    settings = person.root / ".claude" / "settings.json"
    settings.write_text("{broken")
    found = check_hooks(env, person.root)
    assert (found.result, found.fix) == ("warning", "Mend the file, then try again.")


def test_each_fault_of_hooks_has_its_own_fix(person: Person) -> None:
    env = {**os.environ, "HOME": str(person.home)}
    env.pop("CLAUDE_CONFIG_DIR", None)
    person.run("hook", "install", "claude", "--yes")
    settings = person.root / ".claude" / "settings.json"
    whole = settings.read_text()
    settings.write_text(whole.replace("PreToolUse", "Notification"))
    assert check_hooks(env, person.root).fix == "touchline hook install claude"
    settings.write_text(whole)
    local = settings.with_name("settings.local.json")
    local.write_text('{"disableAllHooks": true}')
    found = check_hooks(env, person.root)
    assert (found.result, found.fix) == ("warning", f'Take "disableAllHooks": true out of {local}.')


def test_processes_that_a_dead_one_left_are_found(tmp_path: Path) -> None:
    """A starter that is killed leaves its child's record; the child itself is made to outlive it."""
    place = Place(url=f"sqlite:///{tmp_path / 'app.db'}", origin="given")
    assert check_leftovers(place, {}, tmp_path).result == "ok"
    from touchline.processes.child_start import boot, started
    from touchline.processes.children import children_folder

    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    child = subprocess.Popen(["sleep", "300"])
    try:
        while started(parent.pid) is None or started(child.pid) is None:
            time.sleep(0.01)
        folder = children_folder(place, env={}, home=tmp_path)
        folder.mkdir(parents=True)
        record = {"pid": child.pid, "started": started(child.pid), "token": "t", "boot": boot()}
        record |= {"parent": parent.pid, "parent_started": started(parent.pid)}
        (folder / "one.json").write_text(json.dumps(record))
        assert check_leftovers(place, {}, tmp_path).result == "ok", "who started it lives"
        parent.kill()
        parent.wait()
        found = check_leftovers(place, {}, tmp_path)
        assert (found.result, str(child.pid) in found.found) == ("warning", True)
        child.kill()
        child.wait()
        assert check_leftovers(place, {}, tmp_path).result == "ok"
    finally:
        for each in (parent, child):
            each.kill()
            each.wait()


@pytest.mark.timeout(120)
def test_sessions_whose_process_is_gone_are_found(tmp_path: Path) -> None:
    from tests.cli.runs import LONG, desk

    mine = desk(tmp_path)
    place = Place(url=f"sqlite:///{mine.database}", origin="given")
    assert list(check_sessions(place)) == []
    with mine.running(*mine.task(LONG)) as running:
        running.until("sleep 600")
        assert [one.found for one in check_sessions(place)] == ["1 running"]
        running.process.kill()
        running.process.wait()
        # A number in the lock file is no right to run: in a container another process soon has the same one.
        supervisor_lock(Path(mine.database)).write_text(str(os.getpid()))
        (found,) = check_sessions(place)
        assert (found.result, "1 marked as running" in found.found) == ("warning", True)
        assert "touchline worker" in found.fix
