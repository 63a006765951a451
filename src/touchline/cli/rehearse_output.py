"""What does `touchline rehearse` print? The lines to export, and at the end what was played."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from touchline.errors import InputError
from touchline.rehearsal.command import RUN, rehearse_command, stage
from touchline.rehearsal.pointing import CLIS, point, point_all
from touchline.rehearsal.runs import Report
from touchline.rehearsal.turns import Script


def run(script: Script, command: Sequence[str], *, home: Path | None, port: int, as_json: bool) -> int:
    """Run a command against the script; its exit code."""
    try:
        done = rehearse_command(script, command, env=os.environ, home=home, port=port, quiet_output=as_json)
    except OSError as error:
        raise _cannot(error, port) from error
    if as_json:
        print(json.dumps({"exit_code": done.code, **done.report.as_json()}, indent=2))
    else:
        print(f"touchline: {told(done.report)} The command ended with {done.code}.", file=sys.stderr)
    return done.code


def serve(script: Script, *, home: Path | None, port: int, as_json: bool) -> None:
    """Serve the script until Ctrl-C."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with stage(script, home=home, port=port) as (server, folder):
            url = server.url(RUN)
            pointing = point_all(url, folder)
            pointing.write()
            if as_json:
                print(json.dumps({"url": url, "home": str(folder), "env": dict(pointing.env)}), flush=True)
            else:
                print(exports(url, folder), flush=True)
            stop.wait()
            report = server.report(RUN)
    except OSError as error:
        raise _cannot(error, port) from error
    print(json.dumps(report.as_json()) if as_json else told(report), flush=True)


def exports(url: str, home: Path) -> str:
    """For each CLI, the lines that point it at the server."""
    parts = [f"Serving at {url} until Ctrl-C. In another terminal:"]
    for cli in CLIS:
        lines = [f"export {name}={shlex.quote(value)}" for name, value in point(cli, url, home).env.items()]
        parts.append("\n".join([f"# {cli}", *lines]))
    return "\n\n".join(parts) + "\n"


def told(report: Report) -> str:
    """The report in words."""
    parts = [f"{_count(report.turns, 'turn')} played"]
    if report.failures:
        parts.append(_count(report.failures, "failure"))
    if report.asides:
        parts.append(f"{_count(report.asides, 'request')} beside the script")
    words = ", ".join(parts) + ". "
    if report.problems:
        words += "The script could not be played: " + "; ".join(report.problems) + "."
    elif report.ran_out:
        words += "The script ran out: more was asked than it has."
    elif report.left:
        words += (
            "Never reached: " + ", ".join(f"{_count(n, 'turn')} of {name!r}" for name, n in report.left.items()) + "."
        )
    else:
        words += "The script was used up."
    return words


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _cannot(error: OSError, port: int) -> Exception:
    if error.errno is not None and port and isinstance(error, OSError) and error.errno in (13, 98, 48):
        return InputError(f"Port {port} cannot be used ({error.strerror}).", hint="Take another, or leave --port out.")
    return error
