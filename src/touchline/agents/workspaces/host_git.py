"""How does Touchline run git on the host? Hardened, within a time and a size, never in an agent's folder.

Settings of the user are not read, but for a few that are asked for by name (`user_settings`): who commits, and how file
contents are converted.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from touchline.agents.workspaces.hardening import hardened_command, hardened_environment
from touchline.errors import WorkspaceError

SECONDS = 120.0
OUTPUT_BYTES = 64 * 1024 * 1024
_ERROR_BYTES = 4_000
_WHO = ("user.name", "user.email", "author.", "committer.")
_CONVERSIONS = ("filter.", "core.autocrlf", "core.eol", "core.safecrlf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a git command said."""

    code: int
    out: bytes
    errors: str
    """The end of its standard error."""

    @property
    def text(self) -> str:
        return os.fsdecode(self.out).strip()

    def parts(self) -> list[str]:
        """The fields of an answer to `-z`."""
        return [os.fsdecode(part) for part in self.out.split(b"\0")[:-1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGit:
    """Git in one place of the host."""

    folder: Path
    """Where it runs: the user's checkout, or a folder of ours."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Such as GIT_DIR; added to the hardened environment."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Configuration added to the hardened one."""
    holds: tuple[int, ...] = ()
    """Open locks that live on in the command when this process is killed: nobody goes on before it has ended."""

    def adding(self, *, settings: Mapping[str, str] | None = None, **variables: str) -> HostGit:
        """The same place, with more variables and settings."""
        return replace(self, variables={**self.variables, **variables}, settings={**self.settings, **(settings or {})})

    def run(
        self,
        *arguments: str,
        stdin: bytes | FileIO | None = None,
        codes: Iterable[int] = (0,),
        seconds: float = SECONDS,
        limit: int = OUTPUT_BYTES,
        hint: str = "",
    ) -> Answer:
        """Run one git command. `WorkspaceError` with git's own words when it ends with a code that is not in `codes`,
        takes too long or says too much. A file given as `stdin` is read from where it stands."""
        with TemporaryFile() as given, TemporaryFile() as errors:
            if isinstance(stdin, bytes):
                given.write(stdin)
                given.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603 - our own arguments; no shell
                    hardened_command(*arguments, settings=self.settings),
                    cwd=self.folder,
                    env={**hardened_environment(os.environ), **self.variables},
                    stdin=given if isinstance(stdin, bytes) else stdin or subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                    pass_fds=self.holds,
                )
            except FileNotFoundError as error:
                if not self.folder.is_dir():
                    raise WorkspaceError(f"The folder {self.folder} is not there.") from error
                raise WorkspaceError("git is not installed.", hint="Install git 2.38 or newer.") from error
            out, why = _listened(process, seconds=seconds, limit=limit)
            words = _end_of(errors)
        if why:
            raise WorkspaceError(f"`git {arguments[0]}` in {self.folder} was ended: {why}.", hint=hint)
        if process.returncode not in tuple(codes):
            raise WorkspaceError(
                f"`git {arguments[0]}` failed in {self.folder} with code {process.returncode}: {words or 'no message'}",
                hint=hint,
            )
        return Answer(code=process.returncode, out=out, errors=words)


def user_settings(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The settings of the user that we keep on purpose: who commits, and how contents are converted in a checkout.

    Reading them starts nothing. What the repository's own configuration says is left out where git reads it anyway.
    """
    answer = as_user("config", "--list", "-z", "--show-scope", "--includes", folder=folder, env=env)
    found: dict[str, str] = {}
    fields = os.fsdecode(answer.out).split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if name.startswith(_WHO) or (scope in ("system", "global") and name.startswith(_CONVERSIONS)):
            found[name] = value
    return found


def as_user(*arguments: str, folder: Path, env: Mapping[str, str]) -> Answer:
    """Git as the user would run it, for the few commands that only read where a repository is and what is set."""
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments; no shell
            ["git", *arguments],  # noqa: S607 - git as the user has it
            cwd=folder,
            env={**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise WorkspaceError(f"The folder {folder} is not there.") from error
        raise WorkspaceError("git is not installed.", hint="Install git 2.38 or newer.") from error
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"`git {arguments[0]}` in {folder} took longer than {SECONDS:g} s.") from error
    return Answer(code=done.returncode, out=done.stdout, errors=done.stderr.decode("utf-8", "replace").strip())


def _listened(process: subprocess.Popen[bytes], *, seconds: float, limit: int) -> tuple[bytes, str]:
    """What it wrote, and why it had to be ended; empty when it was not."""
    assert process.stdout is not None
    until, kept, why = time.monotonic() + seconds, bytearray(), ""
    with process.stdout as pipe, selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while not why:
            left = until - time.monotonic()
            if left <= 0 or not ready.select(left):
                why = f"it took longer than {seconds:g} s"
            elif not (block := os.read(pipe.fileno(), 1 << 16)):
                break
            elif len(kept) + len(block) > limit:
                why = f"it wrote more than {limit} bytes"
            else:
                kept += block
        if not why:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                why = f"it took longer than {seconds:g} s"
        if why:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return bytes(kept), why


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _ERROR_BYTES))
    return file.read().decode("utf-8", "replace").strip()
