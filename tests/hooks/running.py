"""Runs a CLI in a project with hooks, and looks at what came of it."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.clis import CliHome, Ran, cli_path

from touchline.rehearsal.runs import Played


def run_in(home: CliHome, prompt: str, *flags: str, **env: str) -> Ran:
    """Run the CLI with more in its environment."""
    done = subprocess.run(
        home.command(prompt, *flags),
        cwd=home.workspace,
        env={**home.env, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Ran(code=done.returncode, lines=lines, errors=done.stderr)


@contextmanager
def opencode_server(home: CliHome) -> Iterator[Callable[[str, str, Any], Any]]:
    """OpenCode as a server in the project; what is given calls it: method, path, JSON."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # OpenCode fetches a package for projects that have plug-ins, and goes on without it.
    env = {**home.env, "npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}
    said = home.home / "server.log"
    with said.open("w") as output:
        process = subprocess.Popen(
            [str(cli_path("opencode")), "serve", "--port", str(port)],
            cwd=home.workspace,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )

    def call(method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(
            f"http://127.0.0.1:{port}{path}", data=data, headers={"content-type": "application/json"}, method=method
        )
        with urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    try:
        until = time.monotonic() + 60
        # Not before it says so: what comes too early it takes, and never answers.
        while "listening" not in said.read_text():
            assert time.monotonic() < until, said.read_text()
            assert process.poll() is None, said.read_text()
            time.sleep(0.1)
        yield call
    finally:
        process.kill()
        process.wait()


def played(home: CliHome) -> list[Played]:
    """What the model was asked, without titles and the like."""
    return [one for one in home.server.played(home.name) if not one.aside]


def told(home: CliHome) -> list[str]:
    """All that the model was newly told before each of its replies: words and results of tools."""
    return [f"{one.heard}\n{one.saw}" for one in played(home)]


def state_of(home: CliHome) -> Path:
    """Where hooks keep what they remember."""
    return home.home / ".local" / "state" / "touchline"


def log_of(home: CliHome) -> str:
    log = state_of(home) / "hooks.log"
    return log.read_text() if log.exists() else ""
