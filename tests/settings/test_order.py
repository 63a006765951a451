"""Which value holds: flag, environment, project, user, default; and where it came from."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from pathlib import Path
from typing import get_args

import pytest
from tests.settings.place import Desk, desk_at

from touchline.errors import SettingsError
from touchline.settings.keys import OTHERS, keys, require_key
from touchline.settings.loading import settings_for
from touchline.settings.quick import hook_limits, said_for_hooks, settings_if_any
from touchline.settings.sections import SECTIONS, AgentSection, Sandbox, Thoroughness
from touchline.supervision.limits import LIMITS, Limits


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_at(tmp_path)


def test_each_source_goes_over_the_next(desk: Desk) -> None:
    def agent(flags: dict[str, str] | None = None, **env: str) -> tuple[str, str]:
        found = desk.found(flags, **env)
        return found.settings.run.agent, found.where("run.agent")

    assert agent() == ("", "default")
    desk.write_user('[run]\nagent = "gemini"\n')
    assert agent() == ("gemini", f"{desk.user}:2")
    desk.project.write_text('# ours\n\n[run]\nagent = "codex"\n')
    assert agent() == ("codex", f"{desk.project}:4")
    assert agent(TOUCHLINE_RUN_AGENT="opencode") == ("opencode", "TOUCHLINE_RUN_AGENT")
    assert agent({"run.agent": "claude"}, TOUCHLINE_RUN_AGENT="opencode") == ("claude", "--agent")
    # What is said nowhere above comes through from below.
    assert desk.found().settings.run.model == ""
    desk.write_user('[run]\nmodel = "small"\n')
    assert desk.found().settings.run.model == "small"


def test_a_project_can_lower_a_budget_and_not_raise_it(desk: Desk) -> None:
    desk.write_user("[budget]\nusd = 2.0\nturns = 20\n")
    desk.project.write_text("[budget]\nusd = 500.0\nturns = 5\nseconds = 60\n")
    found = desk.found()
    assert (found.settings.budget.usd, found.where("budget.usd")) == (2.0, f"{desk.user}:2")
    assert (found.settings.budget.turns, found.settings.budget.seconds) == (5, 60.0)
    assert desk.found({"budget.usd": 9.0}).settings.budget.usd == 9.0
    assert {key.name for key in keys().values() if key.lowers} == {
        *(key.name for key in keys().values() if key.section == "budget"),
        "build.usd",
        "build.tokens",
        "build.runs_per_day",
    }


def test_a_flag_that_was_not_given_and_an_empty_variable_say_nothing(desk: Desk) -> None:
    desk.project.write_text("[budget]\nturns = 5\n")
    assert desk.found({"budget.turns": None}, TOUCHLINE_BUDGET_TURNS="").settings.budget.turns == 5


def test_outside_of_a_repository_there_is_no_project_file(tmp_path: Path) -> None:
    (tmp_path / "touchline.toml").write_text("[budget]\nturns = 5\n")
    assert settings_for({}, {}, tmp_path, tmp_path / "home").budget.turns is None


def test_folders_of_the_user_that_are_relative_are_ignored(desk: Desk) -> None:
    (desk.home / ".config" / "touchline").mkdir(parents=True)
    (desk.home / ".config" / "touchline" / "config.toml").write_text("[hooks]\ncap = 7\n")
    found = settings_for({}, {"XDG_CONFIG_HOME": "config"}, desk.root, desk.home)
    assert found.hooks.cap == 7


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("TOUCHLINE_BUDGET_USD", "2.5", "budget.usd", 2.5),
        ("TOUCHLINE_BUDGET_TOKENS", "10_000", "budget.tokens", 10_000),
        ("TOUCHLINE_BUILD_PLAN", "off", "build.plan", False),
        ("TOUCHLINE_MODEL", "cli:claude", "judge.model", "cli:claude"),
        ("TOUCHLINE_RUN_SANDBOX", "own", "run.sandbox", "own"),
        ("TOUCHLINE_AGENTS_CLAUDE_FLAGS", "--add 'two words'", "agents.claude.flags", ("--add", "two words")),
        ("TOUCHLINE_AGENTS_CLAUDE_PLUGINS", "/a /b", "agents.claude.plugins", ("/a", "/b")),
        ("TOUCHLINE_AGENTS_CLAUDE_REQUESTS", "3", "agents.claude.requests", 3),
        ("TOUCHLINE_LIMITS_RETRY_DELAYS", "[1, 2.5]", "limits.retry_delays", (1.0, 2.5)),
        ("TOUCHLINE_LIMITS_NOTHING_NEW", "[[4, 5]]", "limits.nothing_new", ((4, 5),)),
    ],
)
def test_the_environment_is_text_and_becomes_the_settings_type(
    desk: Desk, variable: str, text: str, name: str, value: object
) -> None:
    found = desk.found(None, **{variable: text})
    assert found.settings.value(name) == value
    assert found.where(name) == variable


def test_an_agent_with_a_dash_has_a_variable_with_a_line(desk: Desk) -> None:
    desk.write_user('[agents.my-agent]\nflags = ["-a"]\n')
    found = desk.found(TOUCHLINE_AGENTS_MY_AGENT_FLAGS="-b")
    assert found.settings.agents["my-agent"].flags == ("-b",)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("TOUCHLINE_RUN_AGNET", "TOUCHLINE_RUN_AGENT"),
        ("TOUCHLINE_JUDGE_MODEL", "TOUCHLINE_MODEL"),
        ("TOUCHLINE_LIMITS_SAME_RESULTS", "TOUCHLINE_LIMITS_SAME_RESULT"),
        ("TOUCHLINE_BUILD_ZZZ", ""),
    ],
)
def test_a_variable_of_a_section_without_such_a_key_is_an_error(desk: Desk, slip: str, meant: str) -> None:
    with pytest.raises(SettingsError, match=f"^{slip}: there is no such setting") as raised:
        desk.found(None, **{slip: "x"})
    assert raised.value.hint.startswith(f"Did you mean {meant}?" if meant else "[build] has parallel, plan, ")
    assert desk.found(None, **{slip: ""}).strange == {}, "an empty one says nothing"


def test_a_variable_of_no_section_is_told(desk: Desk) -> None:
    found = desk.found(TOUCHLINE_RUNAGENT="x", TOUCHLINE_HOME="y", TOUCHLINE_FAULT="y", _TOUCHLINE_COMPLETE="z")
    assert found.strange == {"TOUCHLINE_RUNAGENT": "TOUCHLINE_RUN_AGENT", "TOUCHLINE_HOME": ""}


def test_every_variable_that_the_code_or_a_test_asks_for_is_known() -> None:
    root = Path(__file__).resolve().parents[2]
    ours = [path for folder in ("src", "bench") for path in (root / folder).rglob("*.py")]
    asked = _named(r"\bTOUCHLINE_[A-Z_]*[A-Z]", *ours, root / "Makefile")
    asked |= _named(r'(?:environ(?:\.get\(|\[)|MARK = )"(TOUCHLINE_[A-Z_]+)"', *(root / "tests").rglob("*.py"))
    assert asked >= OTHERS
    known = {key.variable for key in keys().values()} | OTHERS
    assert {name for name in asked - known if not re.fullmatch(r"TOUCHLINE_AGENTS(_[A-Z_]+)?", name)} == set()


def _named(pattern: str, *files: Path) -> set[str]:
    return {name for path in files for name in re.findall(pattern, path.read_text())}


@pytest.mark.parametrize("each", fields(AgentSection), ids=lambda each: each.name)
def test_every_variable_of_an_agent_is_known_and_a_wrong_one_gets_the_agents_own(
    desk: Desk, each: Field[object]
) -> None:
    variable = require_key(f"agents.claude.{each.name}").variable
    assert desk.found(None, **{variable: "3"}).origins[f"agents.claude.{each.name}"].where == variable
    assert desk.found(None, **{variable: "3"}).strange == {}
    with pytest.raises(SettingsError, match=f"^{variable}X: ") as raised:
        desk.found(None, **{f"{variable}X": "3"})
    assert raised.value.hint == f"Did you mean {variable}?"


def test_the_numbers_of_the_rules_are_a_section(desk: Desk) -> None:
    desk.project.write_text("[limits]\ncontinue_cap = 5\nsure = 0.5\nfew_distinct = [2, 8]\n")
    limits = desk.found().settings.limits()
    assert limits == Limits(continue_cap=5, sure=0.5, few_distinct=(2, 8))
    assert desk_defaults(desk) == LIMITS


def desk_defaults(desk: Desk) -> Limits:
    desk.project.unlink()
    return desk.found().settings.limits()


def test_every_setting_has_a_meaning_a_default_that_fits_and_a_name_of_its_own() -> None:
    from touchline.settings.values import fitted

    variables = [key.variable for key in keys().values()]
    assert len(set(variables)) == len(variables)
    assert len(keys()) == sum(len(fields(kind)) for kind in SECTIONS.values())
    for key in keys().values():
        assert key.meaning.endswith((".", "?")), key.name
        given = key.default
        if given is not None:
            assert fitted(key, list(given) if isinstance(given, tuple) else given, at="") == given


def test_the_words_of_other_rooms_are_the_same() -> None:
    from touchline.agents.port import Level as Confinement
    from touchline.roles.validation.levels import KINDS, Level
    from touchline.sessions import asked

    assert set(get_args(Sandbox)) == {"auto", *get_args(Confinement)}
    assert set(get_args(Thoroughness)) == set(Level)
    assert {each.name for each in fields(SECTIONS["checks"])} == set(KINDS)
    run = SECTIONS["run"]()
    assert (run.check_seconds, run.turn_seconds, run.silence_seconds) == (
        asked.CHECK_SECONDS,
        asked.TURN_SECONDS,
        asked.SILENCE_SECONDS,
    )


def test_without_settings_a_run_is_asked_for_as_before(desk: Desk) -> None:
    from touchline.sessions.asked import Asked

    assert Asked(task="x", **desk.found().settings.for_run()) == Asked(task="x")


def test_without_settings_a_build_is_as_before(desk: Desk) -> None:
    from touchline.roles.build.settings import BuildSettings

    assert BuildSettings.from_json(desk.found().settings.for_build()) == BuildSettings()


def test_a_run_takes_what_is_set(desk: Desk) -> None:
    from touchline.sessions.asked import Asked

    desk.write_user(
        '[run]\nagent = "codex"\nsandbox = "own"\ncheck = "make test"\n[budget]\nusd = 2\n'
        '[agents.codex]\nflags = ["-x"]\nenvironment = ["NPM_TOKEN"]\n[agents.claude]\nflags = ["-y"]\n'
        "[limits]\nconsecutive_failures = 1\n"
    )
    settings = desk.found().settings
    asked = Asked(task="x", **settings.for_run())
    assert (asked.agent, asked.sandbox, asked.check, asked.usd) == ("codex", "own", "make test", 2.0)
    assert (asked.flags, asked.environment, asked.failures) == (("-x",), ("NPM_TOKEN",), 1)
    assert settings.for_run("claude")["flags"] == ("-y",)


def test_the_quick_way_gives_the_same_and_loads_nothing_when_nothing_is_set(desk: Desk) -> None:
    env, root = {**desk.env, "HOME": str(desk.home)}, str(desk.root)
    assert settings_if_any(desk.env, desk.root, desk.home, section="hooks") is None
    desk.project.write_text("# hooks\n[run]\nmodel = 'x'\n")
    assert said_for_hooks(env, root) == b""
    assert said_for_hooks({**env, "TOUCHLINE_HOOKS_CAP": "1"}, root) != b""
    assert hook_limits({**env, "TOUCHLINE_HOOKS_CAP": "1"}, root) == {"continue_cap": 1}
    slip = {"TOUCHLINE_RUN_AGNET": "x", "TOUCHLINE_HOOKS_CAPP": "x", "TOUCHLINE_HOOKS_CAP": "1"}
    assert hook_limits({**env, **slip}, root) == {"continue_cap": 1}, "a slip takes nothing else away"
    desk.project.write_text("limits.continue_cap = 7\nlimits.few_distinct = [2, 30]\n")
    assert said_for_hooks(env, root) != b""
    assert hook_limits(env, root) == {"continue_cap": 7, "few_distinct": (2, 30)}
    desk.write_user("[hooks]\ncap = 5\n")
    assert hook_limits(env, root)["continue_cap"] == 5 == desk.found().settings.hooks.cap
    desk.project.write_text("[hooks\n")
    assert said_for_hooks(env, root) != b""
    assert hook_limits(env, root) == {}
