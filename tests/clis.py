"""The real agent CLIs for tests: where they are, a home of their own, and a rehearsal server they talk to.

Set TOUCHLINE_TEST_CLIS to the folder that holds `node_modules`; the default is `.tools/cli` of the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from touchline.rehearsal.pointing import Cli, point, without_leads
from touchline.rehearsal.script import parse_script
from touchline.rehearsal.server import RehearsalServer
from touchline.rehearsal.turns import Script

ROOT = Path(__file__).resolve().parents[1]
HEADLESS: Mapping[str, tuple[str, ...]] = {
    "claude": ("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
    "codex": ("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"),
    "opencode": ("run", "--format", "json"),
    "gemini": ("--output-format", "stream-json", "--skip-trust", "--yolo", "-p"),
}
"""What comes before the prompt in a run without a terminal."""
RESUME: Mapping[str, tuple[str, ...]] = {
    "claude": ("--resume",),
    "codex": ("resume",),
    "opencode": ("-s",),
    "gemini": ("--resume",),
}


def cli_folder() -> Path:
    """Where the CLIs' programs are."""
    return Path(os.environ.get("TOUCHLINE_TEST_CLIS", ROOT / ".tools" / "cli")) / "node_modules" / ".bin"


def cli_path(cli: str) -> Path:
    """The CLI's program; skips the test when it is not installed."""
    path = cli_folder() / cli
    if not path.exists():
        pytest.skip(f"{cli} is not installed in {cli_folder()}; scripts/test-tools installs it")
    return path


def clean_env(**more: str) -> dict[str, str]:
    """The environment of a test run without anything that leads a CLI elsewhere; the CLIs are on its PATH."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR", "TERM") if name in os.environ}
    return {**without_leads(kept), "PATH": f"{cli_folder()}:{os.environ['PATH']}", "NO_COLOR": "1", **more}


def workspace_at(folder: Path) -> Path:
    """A git repository with one commit."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# A project\n")
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A CLI's run."""

    code: int
    lines: list[dict[str, Any]]
    """Standard output, one JSON object per line."""
    errors: str
    """Standard error."""

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("type") == kind]


@dataclass(frozen=True, kw_only=True)
class CliHome:
    """One CLI with a home, a workspace and a run on a server of its own."""

    cli: Cli
    server: RehearsalServer
    home: Path
    workspace: Path
    name: str

    @property
    def env(self) -> dict[str, str]:
        """All that the CLI needs; its settings are written."""
        pointing = point(self.cli, self.server.url(self.name), self.home)
        pointing.write()
        return clean_env(**pointing.env)

    def play(self, script: str | Script) -> None:
        """Begin the run anew with a script."""
        made = parse_script(script) if isinstance(script, str) else script
        self.server.url(self.name, made, workspace=str(self.workspace))

    def command(self, prompt: str, *flags: str, resume: str = "") -> list[str]:
        head = HEADLESS[self.cli]
        if not resume:
            again: tuple[str, ...] = ()
        elif self.cli == "codex":
            return [str(cli_path("codex")), "exec", "resume", *head[1:], *flags, resume, prompt]
        else:
            again = (*RESUME[self.cli], resume)
        return [
            str(cli_path(self.cli)),
            *(head[:-1] if head[-1] == "-p" else head),
            *again,
            *flags,
            *(("-p", prompt) if head[-1] == "-p" else (prompt,)),
        ]

    def run(self, prompt: str, *flags: str, resume: str = "", seconds: float = 140) -> Ran:
        """Run the CLI to its end."""
        done = subprocess.run(
            self.command(prompt, *flags, resume=resume),
            cwd=self.workspace,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return Ran(code=done.returncode, lines=lines, errors=done.stderr)

    def wait_for_record(self, words: str) -> None:
        """Until the CLI's own record of the conversation holds the words: it is written a little after they were told.
        For those that keep it as lines of JSON."""
        until = time.monotonic() + 15
        while not any(words in path.read_text(errors="replace") for path in self.home.rglob("*.jsonl")):
            assert time.monotonic() < until, f"no record of {words!r} in {self.home}"
            time.sleep(0.02)

    def report(self) -> Any:
        return self.server.report(self.name)


def home_for(cli: Cli, server: RehearsalServer, folder: Path) -> CliHome:
    """A CLI ready to be run; skips the test when it is not installed."""
    cli_path(cli)
    return CliHome(
        cli=cli,
        server=server,
        home=folder / "home",
        workspace=workspace_at(folder / "workspace"),
        name=f"{cli}-{folder.name}",
    )
