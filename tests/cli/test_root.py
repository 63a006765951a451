"""The root of the command line: it answers without loading commands, and loads only the one that is asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.cli.command import environment, touchline

from touchline.cli.app import COMMANDS, OPTIONS, root_help
from touchline.cli.loading import root

WATCHED = (
    "import json, sys\n"
    "from touchline.__main__ import main\n"
    "try: main()\n"
    "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
)


def loads(*arguments: str) -> set[str]:
    """The modules that a command line loads."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("--version",), ()])
def test_the_root_answers_without_the_command_line_library_and_any_command(arguments: tuple[str, ...]) -> None:
    found = loads(*arguments)
    assert found & {"typer", "click", "rich", "pydantic", "sqlalchemy", "dbos", "psycopg", "dataclasses"} == set()
    assert {name for name in found if name.startswith("touchline.")} == {
        "touchline.__main__",
        "touchline.cli",
        "touchline.cli.app",
        "touchline.cli.exits",
        "touchline.errors",
    }


@pytest.mark.parametrize("arguments", [("db", "--help"), ("events", "list", "--help"), ("worker", "--help")])
def test_a_command_loads_its_own_module_and_no_other_command(arguments: tuple[str, ...]) -> None:
    found = loads(*arguments)
    others = {each.where.partition(":")[0] for each in COMMANDS if each.name != arguments[0]}
    assert f"touchline.cli.{arguments[0]}" in found
    assert found & others == set()
    assert found & {"rich", "sqlalchemy", "dbos", "psycopg"} == set()


def test_the_help_lists_every_command_in_lines_that_fit() -> None:
    told = touchline("--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == root_help() + "\n"
    for name, words in (*((each.name, each.help) for each in COMMANDS), *OPTIONS):
        assert any(line.split("  ")[1:2] == [name] and line.endswith(words) for line in told.stdout.splitlines()), name
    assert max(map(len, told.stdout.splitlines())) <= 80
    assert [each.name for each in COMMANDS] == list(root().commands)


def test_the_help_names_every_option_of_the_root() -> None:
    known = {word for name, _ in OPTIONS for word in name.split(", ")}
    assert known == {option for parameter in root().params for option in parameter.opts} | {"-h", "--help"}


@pytest.mark.parametrize("name", [each.name for each in COMMANDS])
def test_every_listed_command_is_there_and_explains_itself(name: str) -> None:
    told = touchline(name, "-h")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"Usage: touchline {name} ")


def test_no_command_says_what_there_is_and_is_wrong_usage() -> None:
    told = touchline()
    assert (told.returncode, told.stdout, told.stderr) == (2, "", root_help() + "\n")


def test_a_command_that_is_not_there_is_wrong_usage_with_the_nearest_name() -> None:
    told = touchline("decid")
    assert told.returncode == 2
    assert "No such command 'decid'. Did you mean 'decide'?" in told.stderr
    assert touchline("--nonsense").returncode == 2


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("touchline d", [each.name for each in COMMANDS if each.name.startswith("d")]),
        ("touchline db v", ["vacuum"]),
        ("touchline --ver", ["--version"]),
        ("touchline worker --sl", ["--slots"]),
    ],
)
def test_the_shell_completes_commands_and_options(line: str, offered: list[str]) -> None:
    words = str(len(line.split()) - 1)
    told = touchline(_TOUCHLINE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=words)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == offered
