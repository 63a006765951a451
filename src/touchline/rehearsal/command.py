"""How does a command run against a script? Serves the script, points every CLI at it, runs the command, and reports."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.errors import InputError
from touchline.rehearsal.pointing import point_all, without_leads
from touchline.rehearsal.runs import Report
from touchline.rehearsal.server import RehearsalServer, serving
from touchline.rehearsal.turns import Script

RUN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What came of a command."""

    code: int
    """Its exit code, as a shell tells it."""
    report: Report


@contextmanager
def stage(script: Script, *, home: Path | None, port: int = 0) -> Iterator[tuple[RehearsalServer, Path]]:
    """The server, and a home folder for the CLIs: the given one, or one that is gone at the end."""
    with serving(script, port=port) as server:
        if home is not None:
            home.mkdir(parents=True, exist_ok=True)
            yield server, home.resolve()
        else:
            # A CLI may still write its last words there while it ends.
            with TemporaryDirectory(prefix="touchline-rehearsal-", ignore_cleanup_errors=True) as folder:
                yield server, Path(folder)


def rehearse_command(
    script: Script,
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    home: Path | None = None,
    port: int = 0,
    quiet_output: bool = False,
) -> Rehearsed:
    """Run a command to its end. With `quiet_output`, what it prints goes to standard error."""
    if shutil.which(command[0], path=env.get("PATH")) is None:
        raise InputError(f"There is no program {command[0]!r} on the PATH.", hint="Check its name, or give its path.")
    with stage(script, home=home, port=port) as (server, folder):
        pointing = point_all(server.url(RUN), folder)
        pointing.write()
        output = sys.stderr.fileno() if quiet_output else None
        whole = {**without_leads(env), **pointing.env}
        with subprocess.Popen(list(command), env=whole, stdout=output) as process:  # noqa: S603 - the user's command
            code = _waited(process)
        return Rehearsed(code=code if code >= 0 else 128 - code, report=server.report(RUN))


def _waited(process: subprocess.Popen[bytes]) -> int:
    """Wait. Ctrl-C reaches the command, too: how it ends is up to it, until the second one."""
    for _ in range(2):
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
    process.kill()
    return process.wait()
