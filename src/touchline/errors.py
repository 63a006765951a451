"""Every exception Touchline raises on purpose.

    TouchlineError              what went wrong, with which value, and what to do next
    ├── InputError              something given by a person or another program does not fit
    │   ├── SituationError      a field of a situation (`touchline decide`) is wrong
    │   ├── LogNotFound         a path names no readable session log
    │   ├── ScriptError         a rehearsal script is broken; it names file and line
    │   ├── SettingsError       a setting is unknown or does not fit
    │   ├── SpecError           a spec or task file is broken; it names file and line
    │   └── QuestionError       a question is not there, or the answer does not fit it
    ├── StoreError              the database cannot be used
    │   ├── DatabaseUnreachable     its address is wrong, or nothing answers there
    │   │   └── ServerAway              nothing answers now; it may come back
    │   │       └── ServerDown              its host says that it does not run: nobody can reach it
    │   ├── DiskFull                there is no space; nothing was written
    │   ├── SchemaError             it is newer than this program, or not Touchline's
    │   ├── StatusError             a record may not go from this status to that one
    │   └── EventError              an event does not fit its type or version
    ├── LeaseError              a lease was lost, or is another's
    ├── EngineError             a durable workflow cannot be started or driven
    │   └── EngineAway              for nothing answers now (also a ServerAway)
    ├── AgentError              an agent CLI cannot be found or started
    ├── SandboxError            the confinement asked for cannot be had
    ├── WorkspaceError          a repository, clone or bundle cannot be used
    ├── SessionError            a supervised session is not there, or not in the state for this
    ├── ModelError              a model cannot be asked, or its answer cannot be used
    ├── BuildError              a build cannot be started, or not go on
    ├── ReviewError             a review cannot be asked for or its answer not be used; the limit still holds
    └── DataFileError           a data file shipped with Touchline is broken

Readers of agents' output raise none of these: what they cannot read becomes a fact of the turn.
"""

from __future__ import annotations


class TouchlineError(Exception):
    """Something went wrong.

    `message` says what happened and with which value; `hint` is the next thing to do.
    """

    def __init__(self, message: str, *, hint: str = "", then: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = f"{hint} touchline {then}".lstrip() if then else hint
        """What to do next."""
        self.then = then
        """The words of a command with which the hint ends. It is about the same database: who shows it names that."""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(TouchlineError):
    """Something given from outside does not fit."""


class SituationError(InputError):
    """A field of a situation is wrong; `field` is its path, such as `budget.turns`."""

    def __init__(self, field: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{field}: {message}", hint=hint)
        self.field = field


class LogNotFound(InputError):
    """A path names no readable session log."""


class ScriptError(InputError):
    """A rehearsal script cannot be played."""


class SettingsError(InputError):
    """A setting is unknown, or its value does not fit."""


class SpecError(InputError):
    """A spec or task file cannot be used; the message begins with `file:line:`."""


class QuestionError(InputError):
    """A question is not there or not open, or the answer does not fit it."""


class StoreError(TouchlineError):
    """The database cannot be used."""


class DatabaseUnreachable(StoreError):
    """The database's address is wrong, or nothing answers there."""


class ServerAway(DatabaseUnreachable):
    """Nothing answers at the database's address now, or it broke off; waiting may help."""


class ServerDown(ServerAway):
    """The host answers, and no server listens there, or it is just starting or stopping: it is away for everybody."""


class DiskFull(StoreError):
    """The disk of the database is full; nothing was written. Work can go on when there is space."""


class SchemaError(StoreError):
    """The database is newer than this program, or is not one of Touchline's."""


class StatusError(StoreError):
    """A record may not go from its status to the one asked for."""


class EventError(StoreError):
    """An event does not fit its type or version."""


class LeaseError(TouchlineError):
    """A lease was lost, has expired, or belongs to somebody else."""


class EngineError(TouchlineError):
    """A durable workflow cannot be started or driven."""


class EngineAway(EngineError, ServerAway):
    """The engine's database does not answer now; it may come back."""


class AgentError(TouchlineError):
    """An agent CLI cannot be found or started."""


class SandboxError(TouchlineError):
    """The confinement that was asked for cannot be had."""


class WorkspaceError(TouchlineError):
    """A repository, clone or bundle cannot be used."""


class SessionError(TouchlineError):
    """A supervised session is not there, or not in the state for this."""


class ModelError(TouchlineError):
    """A model cannot be asked, or its answer cannot be used. What was paid for it all the same is in `answers`."""

    answers: tuple = ()  # type: ignore[type-arg]
    """As `models.booking.book` takes them."""


class BuildError(TouchlineError):
    """A build cannot be started, or cannot go on."""


class ReviewError(TouchlineError):
    """A review request or a reviewer's answer cannot be used."""


class DataFileError(TouchlineError):
    """A data file shipped with Touchline cannot be used."""
