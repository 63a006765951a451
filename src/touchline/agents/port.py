"""What does Touchline ask of a driver? Its vocabulary and its two contracts; no CLI is named here.

A `Driver` says how a CLI is found and started. A `Conversation` is one turn over the CLI's pipes, without touching
them: lines go in, events and bytes to write come out. Starting, watching and ending the process is `turns`' work, once
for all drivers. `contract_tests` is the suite that every driver must pass, ours and a stranger's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from touchline.supervision.facts import Event, Turn
from touchline.transcripts.ending import EndedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a CLI can do; what it cannot is done around it, or said to be missing."""

    resume: bool = True
    """A later process can go on with the same session."""
    speak: bool = False
    """It takes a message while a turn runs."""
    interrupt: bool = False
    """It can be told to stop its turn without ending the process."""
    schema: bool = False
    """It holds the final message to a JSON schema by itself."""
    read_only: bool = False
    """It has a read-only mode of its own."""
    own_sandbox: bool = False
    """It confines its tools by itself when asked to."""
    max_turns: bool = False
    """It limits the number of model requests by itself."""
    cost: bool = False
    """It tells what a turn cost."""
    preset: bool = False
    """It takes the id of a new session from us (`Request.new_session`)."""
    skills: bool = False
    """A prompt that begins with `/name` calls one of its skills."""
    plugins: bool = False
    """It loads plug-ins from folders that are named to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A CLI on this machine."""

    path: Path
    """The program that is started: the agent itself, not a launcher that would hide its process."""
    version: str
    """As the CLI says it; empty when it does not."""
    warning: str = ""
    """What is known to be wrong with this version, and what to do; empty when nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One turn to be run. The prompt is final: transforms were applied (`prompts`)."""

    prompt: str
    workspace: Path
    """The agent's working folder: a clone of its own."""
    session: str | None = None
    """The CLI's session to go on with; None begins a new one."""
    new_session: str | None = None
    """The id for a new session, where the CLI takes one; `turns` makes it, so that it is known before the start."""
    model: str | None = None
    read_only: bool = False
    confined: bool = False
    """The CLI's own confinement is switched off: our sandbox is around the process, or a person chose to have none.
    `turns` sets it from the level."""
    schema: Mapping[str, Any] | None = None
    max_requests: int | None = None
    """Model requests within the turn, where the CLI can limit them."""
    max_usd: float | None = None
    """Money for the turn, where the CLI can limit it."""
    folders: tuple[Path, ...] = ()
    """More folders that the agent may use."""
    plugins: tuple[Path, ...] = ()
    """Plug-ins of the CLI to load, where it has such."""
    flags: tuple[str, ...] = ()
    """More arguments for the CLI, from the user's own settings."""
    home: Path | None = None
    """Where the CLI keeps its sessions and settings; None leaves it its usual place."""
    keep: Path | None = None
    """A folder that stays with the session, for what a confined CLI writes down of it (`PrivateHome`); `turns` gives
    one beside the raw stream when it is not named."""
    scratch: Path | None = None
    """A folder of this turn, for files that the driver hands to the CLI; `turns` gives the raw stream's."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What only this driver understands, such as a base URL or a script; see each driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateHome:
    """A folder of the CLI's that a session gets for itself inside our sandbox (`private_home`): what configures the CLI
    can be read there and not written, because the user's next session would obey it."""

    usual: Path
    """Where the CLI looks for it, and what the user has there."""
    private: Path
    """What is put in its place; it stays with the session, so that the CLI can go on with it."""
    own: tuple[str, ...] = ()
    """Patterns of names that the CLI writes by itself. Of those the user's are not shown."""
    copied: tuple[str, ...] = ()
    """Patterns of names that are copied in: the CLI may renew them, and nobody else needs the new ones."""
    written: tuple[str, ...] = ()
    """Names of the user's own files that it must renew in place: a login whose renewal makes the old one void."""
    tokens: str = ""
    """Name of a file with logins by provider, of which only renewed tokens come back to the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A process to be started."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the allow-listed environment (`environment`)."""
    talks: bool = False
    """True: standard input is a pipe that the conversation writes to. False: it is /dev/null."""
    only_opens: bool = False
    """Standard input is closed as soon as what `open` gave is written: the CLI reads its prompt to the end."""
    leaves: bool = True
    """It stops when its standard input is closed. False: it would work on, so a stop is a signal at once."""
    cwd: Path | None = None
    """None: the workspace."""
    needs: tuple[Path, ...] = ()
    """Files and folders outside the workspace that it must be able to read (its program, its login)."""
    keeps: tuple[Path, ...] = ()
    """Folders outside the workspace that it must be able to write (its sessions)."""
    model: str = ""
    """The model that will answer, where it is known and the stream does not tell it."""
    homes: tuple[PrivateHome, ...] = ()
    """Folders of the CLI's own that hold its settings beside what it writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one line brought."""

    events: tuple[Event, ...] = ()
    reply: bytes = b""
    """To be written to the CLI's standard input now."""
    close: bool = False
    """Standard input is to be closed, after the reply: nothing more will be said. The turn is not over yet, and the
    process ends by itself when its work is done."""


class Conversation(Protocol):
    """One turn over a CLI's pipes.

    Nothing in here blocks, reads a clock or touches a process. `hear` never raises, whatever the line holds; after
    `over` it tells nothing more. A method whose ability the driver does not have returns None. Once `over` is True
    nothing more is said; standard input is closed and the process is given a moment to end by itself.
    """

    @property
    def over(self) -> bool:
        """The turn's final record was heard, or nothing more can come of it."""
        ...

    @property
    def session_id(self) -> str | None:
        """As soon as it is known, for resuming after a crash."""
        ...

    def open(self) -> bytes:
        """What is written first; empty for a CLI that takes its prompt as an argument."""
        ...

    def hear(self, line: bytes) -> Heard:
        """One line of standard output, without its end."""
        ...

    def say(self, text: str) -> bytes | None:
        """A message to the agent while it works, delivered at its next tool boundary."""
        ...

    def interrupt(self) -> bytes | None:
        """Tell the agent to stop this turn."""
        ...

    def finish(
        self, *, exit_code: int | None, signal: int | None = None, ended_by: EndedBy | None = None, errors: str = ""
    ) -> Turn:
        """Called once, when the process is gone: all that was heard, as one turn. `errors` is the end of its standard
        error, for what the CLI says only there."""
        ...


class Driver(Protocol):
    """How one CLI is found and started. Stateless: one object serves any number of sessions and threads."""

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    def find(self, env: Mapping[str, str]) -> Found | None:
        """Where it is, by the given environment's PATH; None when it is not installed. Starts at most one short
        process (`--version`), and never raises."""
        ...

    def launch(self, request: Request, found: Found, env: Mapping[str, str]) -> Launch:
        """What to start for this turn. Pure but for files that it writes under `request.home` or `request.scratch`, the
        same ones for the same request. `InputError` for a request that the CLI cannot serve, such as an unknown
        setting."""
        ...

    def converse(self, request: Request, *, spent_before: Mapping[str, Any] | None = None) -> Conversation:
        """The conversation for that launch. `spent_before` is what `spent` told after the session's last turn: some
        CLIs only tell sums over the session."""
        ...

    def spent(self, conversation: Conversation) -> Mapping[str, Any]:
        """What the next turn's `converse` must know of this one; JSON values, kept with the session."""
        ...

    def advice(self) -> str:
        """How to install the CLI, in one line."""
        ...


Level = Literal["bubblewrap", "own", "none"]
"""How an agent is confined: by our sandbox, by the CLI's own mode, or not at all (only when a person says so)."""
