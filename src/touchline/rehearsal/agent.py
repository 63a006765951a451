"""Who plays the agent when no CLI is installed? A program that speaks as Claude Code does and does what a script says.

    python -m touchline.rehearsal.agent --script FILE [--session-id ID | --resume ID] [--prompt TEXT]

It prints `stream-json`, and without `--prompt` takes `stream-json` messages and interrupts on standard input. Only the
model's words come from the script: commands run, files are written, sessions are kept and can be resumed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from touchline.errors import InputError
from touchline.rehearsal.agent_inbox import Inbox, Message
from touchline.rehearsal.agent_memory import Memory
from touchline.rehearsal.agent_records import Record, Records, new_uuid
from touchline.rehearsal.agent_tools import Tools
from touchline.rehearsal.agent_turn import AgentTurn, Limits
from touchline.rehearsal.script_copies import read_script
from touchline.rehearsal.turns import Usage

FOLDER_VARIABLE = "TOUCHLINE_SCRIPTED_HOME"
"""Where sessions are kept, when --folder does not say it."""


class Agent:
    """One process: turns until standard input ends."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._output = threading.Lock()
        self._interrupted = threading.Event()
        self._leaving = False
        self._inbox = Inbox(self._control)
        confined = options.confined or not options.read_only
        self._session = options.resume or options.session_id or new_uuid()
        self._folder = folder_of(options.folder, os.environ)
        scratch = self._folder / f"output-{os.getpid()}"
        self._tools = Tools(scratch, writing=not options.read_only, commands=confined)
        self._records = Records(self._session, options.model)

    def run(self) -> int:
        folder = self._folder
        script = read_script(Path(self._options.script))
        try:
            if self._options.resume:
                memory = Memory.again(folder, self._session)
            else:
                memory = Memory.new(folder, self._session)
        except InputError as error:
            return self._refuse(error)
        # In a thread of its own: a handler may come while the main thread holds the very lock that it needs.
        for number, act in ((signal.SIGTERM, self._terminate), (signal.SIGINT, self._stop_and_leave)):
            signal.signal(number, lambda *_, act=act: threading.Thread(target=act, daemon=True).start())
        if self._options.prompt is None:
            self._inbox.listen()
        else:
            self._inbox.put(Message(self._options.prompt, ""))
            self._inbox.close()
        failed = False
        limits = Limits(requests=self._options.max_turns, retries=self._options.max_retries)
        while not self._leaving and (message := self._inbox.wait()) is not None:
            self._interrupted.clear()
            self._tools.ready()
            self.emit(self._records.init(read_only=self._options.read_only))
            turn = AgentTurn(
                script=script,
                memory=memory,
                records=self._records,
                tools=self._tools,
                emit=self.emit,
                waiting=self._inbox.take,
                interrupted=self._interrupted,
                limits=limits,
                structured=bool(self._options.json_schema),
                replay=self._options.replay_user_messages,
            )
            failed = turn.run(message)
        # A stop by Ctrl-C is obeyed, not failed; Claude Code leaves with 0, too.
        return 1 if failed and not self._leaving else 0

    def emit(self, record: Record) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self._output:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    def _control(self, record: dict[str, Any]) -> None:
        request = record.get("request")
        if isinstance(request, dict) and request.get("subtype") == "interrupt":
            self._interrupted.set()
            self._tools.stop()
        self.emit(self._records.control_response(record.get("request_id")))

    def _terminate(self) -> NoReturn:
        self._tools.stop()
        os._exit(143)

    def _stop_and_leave(self) -> None:
        self._leaving = True
        self._interrupted.set()
        self._tools.stop()
        self._inbox.close()

    def _refuse(self, error: InputError) -> int:
        print(error.message, file=sys.stderr)
        none = Usage(input=0, cached=0, output=0)
        self.emit(
            self._records.result(
                subtype="error_during_execution",
                reason="",
                failed=True,
                requests=0,
                seconds=0,
                usages=(),
                before=none,
                errors=[error.message],
            )
        )
        return 1


def folder_of(given: str | None, env: Mapping[str, str]) -> Path:
    """Where sessions are kept."""
    named = given or env.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    home = env.get("HOME") or os.path.expanduser("~")
    return Path(env.get("XDG_STATE_HOME") or f"{home}/.local/state") / "touchline" / "scripted"


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """The options of the program. Those that Claude Code has, too, have its names."""
    parser = argparse.ArgumentParser(prog="python -m touchline.rehearsal.agent", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    parser.add_argument("--script", required=True, metavar="FILE", help="what the model says")
    parser.add_argument("--folder", metavar="DIR", help=f"where sessions are kept; or set {FOLDER_VARIABLE}")
    which.add_argument("--session-id", "--session", metavar="ID", help="the id of a new session")
    which.add_argument("--resume", metavar="ID", help="go on with a session")
    parser.add_argument("--prompt", "-p", metavar="TEXT", help="one prompt; standard input is not read")
    parser.add_argument("--model", default="scripted", metavar="NAME", help="what the model is called")
    parser.add_argument("--max-turns", type=int, metavar="N", help="model requests in a turn, at most")
    parser.add_argument(
        "--max-retries", type=int, default=2, metavar="N", help="how often a failed request is repeated"
    )
    parser.add_argument("--json-schema", metavar="SCHEMA", help="structured answers are wanted")
    parser.add_argument("--read-only", action="store_true", help="files are not written, commands not run")
    parser.add_argument("--confined", action="store_true", help="commands run even so: a sandbox keeps the files safe")
    parser.add_argument("--replay-user-messages", action="store_true", help="print messages when the model hears them")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program and leave with its exit code."""
    try:
        code = Agent(options_of(arguments)).run()
    except InputError as error:
        print(error, file=sys.stderr)
        code = 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    sys.stdout.flush()
    # The thread that reads standard input may still wait for a line; nothing is left to be done for it.
    os._exit(code)


if __name__ == "__main__":
    main()
