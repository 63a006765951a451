"""What is wrong in a settings file is told with file, line and what was meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.settings.place import Desk, desk_at

from touchline.errors import SettingsError
from touchline.settings.files import MOST_BYTES, _lines
from touchline.settings.quick import hook_limits, said_for_hooks, settings_if_any
from touchline.settings.values import toml_of


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_at(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        ('[run]\nagnet = "x"\n', 2, "no setting 'run.agnet'", "Did you mean run.agent?"),
        ('[rum]\nagent = "x"\n', 2, "no setting 'rum.agent'", "Did you mean run.agent?"),
        ("[budget]\nturns = 1\n\n[run]\ncap = 1\n", 5, "no setting 'run.cap'", "Did you mean hooks.cap?"),
        ("[run]\nzzz = 1\n", 2, "no setting 'run.zzz'", "[run] has agent, model"),
        ("[zzz]\n", 1, "no setting 'zzz'", "The sections are [database], [run]"),
        ("agent = 3\n", 1, "no setting 'agent'", "Did you mean run.agent?"),
        ("run = 3\n", 1, "no setting 'run'", "[run] has"),
        ('[agents.claude]\nflag = ["x"]\n', 2, "no setting 'agents.claude.flag'", "[agents.claude]"),
        ('[agents."a b"]\nflags = ["x"]\n', 2, "no setting 'agents.a b.flags'", "[agents.claude]"),
        ('[budget]\nturns = "3"\n', 2, 'budget.turns is "3", but must be a whole number', "turns"),
        ("[budget]\nturns = 2.5\n", 2, "must be a whole number", "turns"),
        ("[budget]\nturns = true\n", 2, "must be a whole number", "turns"),
        ("[budget]\nusd = 0\n", 2, "must be more than 0", "money"),
        ("[budget]\nusd = nan\n", 2, "must be a number", "money"),
        ("[budget]\nusd = -1\n", 2, "not negative", "money"),
        ("[build]\nparallel = 0\n", 2, "must be at least 1", "Tasks"),
        ("[run]\ncheck = [\n'make',\n'test']\n", 2, "run.check is", "command"),
        ('[run]\n\n\nsandbox = "bublewrap"\n', 4, "one of auto, bubblewrap, own, none", "Did you mean bubblewrap?"),
        ('[run]\nmodel = "--dangerous"\n', 2, "which is a flag", "model"),
        ("[agents.claude]\nflags = 'x'\n", 2, "must be a list of texts", "arguments"),
        ("[agents.claude]\nflags = [1]\n", 2, "must be a text", "arguments"),
        ("[limits]\nfew_distinct = [1]\n", 2, "must be a list of 2", "distinct"),
        ("[limits]\ncycle_longest = 0\n", 2, "must be at least 1", "cycle"),
        ("[limits]\ncycle_longest = 1000000000\n", 2, "must be at most 100", "cycle"),
        ("[limits]\ncycle_repeats = 1\n", 2, "must be at least 2", "cycle"),
        ("[limits]\nfew_distinct = [1, 9999999999999999999999]\n", 2, "beyond all use", "distinct"),
        ("[limits]\nsure = -0.5\n", 2, "not negative", "confidence"),
        ("[run]\nagent = 'a\n", 2, "", "TOML"),
        ("[run]\nagent =\n", 2, "", "TOML"),
        ("[run\n", 1, "", "TOML"),
    ],
)
def test_what_does_not_fit_is_told(desk: Desk, text: str, line: int, words: str, hint: str) -> None:
    desk.project.write_text(text)
    with pytest.raises(SettingsError) as caught:
        desk.found()
    assert caught.value.message.startswith(f"{desk.project}:{line}: ")
    assert words in caught.value.message
    assert hint in caught.value.hint


def test_what_does_not_fit_in_the_environment_names_the_variable(desk: Desk) -> None:
    for text in ("3", "[", "maybe"):
        with pytest.raises(SettingsError, match=r"^TOUCHLINE_BUILD_PLAN: build.plan is .* must be true or false"):
            desk.found(TOUCHLINE_BUILD_PLAN=text)
    with pytest.raises(SettingsError, match="No closing quotation"):
        desk.found(TOUCHLINE_AGENTS_CLAUDE_FLAGS="'open")


def test_a_file_that_cannot_be_read_is_told(desk: Desk) -> None:
    desk.project.write_bytes(b"[run]\nagent = '\xff'\n")
    with pytest.raises(SettingsError, match=rf"^{re.escape(str(desk.project))}:2: not UTF-8"):
        desk.found()
    desk.project.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(SettingsError, match="larger than 256 kB"):
        desk.found()
    desk.project.unlink()
    desk.project.mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        desk.found()


def test_a_byte_order_mark_and_other_line_ends_are_read(desk: Desk) -> None:
    desk.project.write_bytes(b"\xef\xbb\xbf[run]\r\nagent = 'codex'\r\n")
    assert desk.found().where("run.agent") == f"{desk.project}:2"


def test_every_spelling_of_toml_has_its_line() -> None:
    text = (
        'budget.turns = 3\n# agent = "no"\n[run]\ncheck = """\nagent = "not a key"\n"""\nagent = "claude"\n'
        "[agents]\nclaude = { flags = [\n  'a', # one\n  'b'] }\n[limits]\nsure=1.0\n"
    )
    found = _lines(text)
    assert found == {
        "budget.turns": 1,
        "run.check": 4,
        "run.agent": 7,
        "agents.claude.flags": 9,
        "limits.sure": 13,
        # Tables that were still empty when their line was read.
        "run": 3,
        "agents": 8,
        "limits": 12,
    }


@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_link_to_nothing_is_an_error_and_one_to_a_file_is_read(desk: Desk, whose: str) -> None:
    place = desk.project if whose == "project" else desk.user
    place.parent.mkdir(parents=True, exist_ok=True)
    target = desk.home / "kept.toml"
    place.symlink_to(target)
    with pytest.raises(
        SettingsError, match=f"^{re.escape(str(place))} is a link to a file that is not there"
    ) as raised:
        desk.found()
    assert raised.value.hint == "Mend or remove the link."
    with pytest.raises(SettingsError, match="is a link"):
        settings_if_any(desk.env, desk.root, desk.home, section="limits")
    env = {**desk.env, "HOME": str(desk.home)}
    assert (said_for_hooks(env, str(desk.root)), hook_limits(env, str(desk.root))) == (b"", {}), "hooks go on"
    target.write_text('[run]\nagent = "codex"\n')
    assert desk.found().settings.run.agent == "codex"


@given(st.text(max_size=40) | st.booleans() | st.integers(-(10**9), 10**9) | st.lists(st.text(max_size=9), max_size=3))
def test_what_is_shown_is_what_a_file_would_say(value: object) -> None:
    import tomllib

    if "\ud800" <= str(value)[:1] <= "\udfff":
        return
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return
    assert tomllib.loads(f"value = {toml_of(value)}")["value"] == value
