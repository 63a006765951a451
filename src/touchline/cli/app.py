"""Which commands are there? The root of the command line: a list that is read without loading any of them.

To add a command, add one line to `COMMANDS`: its name, its help in one line (66 characters at most), and where it is,
as `module:object`. The object is a function with typer's annotations, or a `typer.Typer` with commands of its own. The
module is imported only when the command is run, when its own help is asked for, or when the shell completes its name;
what is heavy it imports inside its functions. Then describe it in docs/reference/commands.md: a test compares.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from touchline.cli.exits import Exit


class Listed(NamedTuple):
    """A command that is not loaded yet. (No dataclass: importing those takes longer than all the rest of the root.)"""

    name: str
    help: str
    """One line for the list of commands."""
    where: str
    """`module:object`."""


COMMANDS = (
    Listed("apply", "Bring a run's work into your branch", "touchline.cli.apply:apply"),
    Listed("audit", "Check past sessions: which “done” had proof, and which did not", "touchline.cli.audit:audit"),
    Listed("decide", "Decide about one stop of an agent: JSON in, JSON out", "touchline.cli.decide:decide"),
    Listed("demo", "Watch a scripted agent being coached, steered and nudged; no key", "touchline.cli.demo:demo"),
    Listed("doctor", "Check this machine, each check with a fix", "touchline.cli.doctor:doctor"),
    Listed("init", "Set up this repository: write a touchline.toml from what is found", "touchline.cli.init:init"),
    Listed("rehearse", "Run a real agent CLI against a scripted model", "touchline.cli.rehearse:rehearse"),
    Listed("run", "Give an agent a task and supervise it to its end", "touchline.cli.run:run"),
    Listed("sessions", "Supervised sessions: list, show, follow, resume, stop, log", "touchline.cli.sessions:sessions"),
    Listed("spec", "Specifications: new, show, edit, approve, revise", "touchline.cli.spec:spec"),
    Listed("tasks", "The tasks of a specification: list, show, graph", "touchline.cli.tasks:tasks"),
    Listed("build", "Builds: start, status, follow, pause, resume, stop", "touchline.cli.build:build"),
    Listed("inbox", "Questions that wait for you: list, show, answer", "touchline.cli.inbox:inbox"),
    Listed("worker", "Run the work of a database", "touchline.cli.worker:worker"),
    Listed("hook", "The coach in interactive agents: install, uninstall, status", "touchline.cli.hook:hook"),
    Listed("config", "The settings: show, path, explain, trust", "touchline.cli.config:config"),
    Listed("db", "The database: status, upgrade, backup, check, vacuum", "touchline.cli.db:db"),
    Listed("events", "The event log: list what happened, or follow it", "touchline.cli.events:events"),
)
OPTIONS = (
    ("--version", "Print the version and leave; with --json, more"),
    ("--install-completion", "Complete commands in your shell, or in bash|zsh|fish"),
    ("--show-completion", "Print the lines that would do that"),
    ("-h, --help", "Show this message; after a command, the command's own"),
)


COMPLETING = "_TOUCHLINE_COMPLETE"
"""Set by a shell that wants to complete a line."""


def run(arguments: list[str]) -> None:
    """Run what the arguments ask for. What the root answers itself needs nothing but this module."""
    if COMPLETING in os.environ:
        # The shell asks what might come next; it says so by this variable, without any argument.
        _run_command(arguments)
    match arguments:
        case []:
            print(root_help(), file=sys.stderr)
            raise SystemExit(Exit.USAGE)
        case ["-h" | "--help", *_]:
            print(root_help())
        case ["--version", *rest]:
            if "--json" in rest:
                from touchline.cli.version_output import print_version_json

                print_version_json()
            else:
                print_version()
        case ["--install-completion" | "--show-completion" as option, *shell]:
            from touchline.cli.completion import install, show

            (install if option == "--install-completion" else show)(shell)
        case ["decide"]:
            _know_own_words()
            # Programs run it at every stop, and there is nothing to parse: the command-line library is not needed.
            from touchline.cli.decide import decide

            decide()
        case _:
            _run_command(arguments)


def _know_own_words() -> None:
    from touchline.supervision.own_words import look_in_settings

    look_in_settings(os.environ)


def _run_command(arguments: list[str]) -> NoReturn:
    from touchline.cli.loading import root

    _know_own_words()
    root()(arguments, prog_name="touchline")
    raise SystemExit(Exit.DONE)


def print_version() -> None:
    from touchline import __version__

    print(f"touchline {__version__}")


def root_help() -> str:
    """What `touchline --help` says."""
    options, commands = _rows(OPTIONS), _rows((each.name, each.help) for each in COMMANDS)
    return f"""\
Usage: touchline [OPTIONS] COMMAND [ARGS]...

  Touchline stands at the touchline while coding agents work: it checks every
  “done” against what the agent really did.

Options:
{options}

Commands:
{commands}

  Start with: touchline init         See it at work first: touchline demo"""


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    known = tuple(pairs)
    width = max(len(name) for name, _ in known)
    return "\n".join(f"  {name:<{width}}  {words}" for name, words in known)
