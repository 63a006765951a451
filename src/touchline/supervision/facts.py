"""What happened in a turn?

The frozen facts that every rule reads. `transcripts` makes them from each CLI's stream or log; nothing here
judges. A fact that was not in the source is `None`, never a guess.
"""

from __future__ import annotations

from touchline.supervision.remembering import cache
from touchline.supervision.values import Literal, Value, field
from touchline.supervision.words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, TypeAlias

_SCALARS = frozenset({str, int, bool, float, type(None)})

Args: TypeAlias = "Mapping[str, Any]"
"""A call's arguments as the agent gave them: JSON values under string keys."""


class Ended(Word):
    """How a turn ended, by process facts and typed records alone."""

    FINISHED = "finished"
    LIMIT = "limit"
    API_ERROR = "api_error"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


FaultKind = Literal[
    "rate_limit", "overloaded", "server", "network", "auth", "bad_request", "context", "permission", "other"
]
TRANSIENT: frozenset[FaultKind] = frozenset({"rate_limit", "overloaded", "server", "network"})
"""Provider faults that pass by themselves: tried again, never counted as an attempt."""


class Usage(Value):
    """Tokens, each counted once: `input` excludes what was read from or written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


class Prompt(Value):
    """What the agent was told; `synthetic` when a hook or tool wrote it rather than a person."""

    text: str
    synthetic: bool = False
    at: datetime | None = None


class Text(Value):
    """Words the agent wrote."""

    text: str
    message_id: str | None = None
    at: datetime | None = None


class Call(Value):
    """A tool the agent called. `subagent` is true when a helper of the agent made the call."""

    id: str
    tool: str
    args: Args
    at: datetime | None = None
    subagent: bool = False


class Result(Value):
    """What a call returned.

    `text` may be cut in the middle to bound memory; `digest` is of the whole text. `failed` is the agent's
    own error flag or a non-zero exit code, never a word found in the text.
    """

    call_id: str
    text: str
    digest: str
    failed: bool = False
    exit_code: int | None = None
    at: datetime | None = None


class Notice(Value):
    """How a command that was left to run in the background ended, told by a record of the CLI itself.

    Its call was answered when it began. A notice is never read out of what an agent, a person or a program wrote.
    """

    call_id: str
    exit_code: int
    output: str = ""
    """The file that holds what it printed."""
    at: datetime | None = None


class Spent(Value):
    """Tokens of one model message, noted where they were spent."""

    usage: Usage
    model: str | None = None
    cost_usd: float | None = None
    """What was spent here, where the CLI says it while it works."""


class Fault(Value):
    """An error record of the CLI. `fatal` when the turn ended by it; otherwise the CLI went on by itself."""

    kind: FaultKind
    message: str
    status: int | None = None
    fatal: bool = False
    at: datetime | None = None


class Unread(Value):
    """A line that could not be used: not JSON, an unknown record type, or torn off at the end."""

    why: Literal["noise", "unknown", "torn", "too_long"]
    text: str


Event = Prompt | Text | Call | Result | Notice | Spent | Fault | Unread


class Turn(Value):
    """One prompt and all that followed it until the agent stopped."""

    cli: str
    """Which CLI: `claude`, `codex`, `opencode`, `gemini`, or what a plug-in calls itself."""
    session_id: str | None = None
    """The CLI's own id of the conversation; what a resume needs."""
    model: str | None = None
    events: tuple[Event, ...] = ()
    """Everything seen, in order."""
    ended: Ended = Ended.UNKNOWN
    end_detail: str = ""
    """The CLI's own word for the end (`max_turns`, `prompt_too_long`, `api 529`), for people."""
    exit_code: int | None = None
    usage: Usage = Usage()
    """Tokens of this turn alone."""
    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    cost_usd: float | None = None
    """Cost of this turn alone, where the CLI says; never estimated here."""
    cwd: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    cut: bool = False
    """True when so much was seen that result texts were dropped to bound memory."""

    @property
    def final_text(self) -> str:
        """The agent's last message: the texts after its last call, or the last text there is.

        Texts that share a message id with the last one belong to it, however the CLI split them.
        """
        last: list[str] = []
        message_id: str | None = None
        for event in reversed(self.events):
            if isinstance(event, Text):
                if last and (message_id is None or event.message_id != message_id):
                    break
                message_id = event.message_id
                last.append(event.text)
            elif isinstance(event, Call | Result | Prompt) and last:
                break
        return "\n".join(reversed(last)).strip()

    @property
    def prompt(self) -> str:
        """The first thing a person said in this turn, or an empty text when the source does not show it."""
        return next((e.text for e in self.events if isinstance(e, Prompt) and not e.synthetic), "")

    @property
    def fault(self) -> Fault | None:
        """The fault that ended the turn, if one did."""
        return next((e for e in reversed(self.events) if isinstance(e, Fault) and e.fatal), None)


class Step(Value):
    """A call and its result. `result` is None while it runs, or when its answer was never seen."""

    index: int
    call: Call
    result: Result | None = None

    @property
    def failed(self) -> bool:
        return self.result is not None and self.result.failed


def steps_of(turns: Turn | Sequence[Turn], *, first: int = 0) -> tuple[Step, ...]:
    """Pair every call with its result, numbered over all the turns from `first` on.

    A result that comes twice counts once; a call id that comes twice keeps its first call.
    """
    if isinstance(turns, Turn):
        turns = (turns,)
    steps: list[Step] = []
    for turn in turns:
        results: dict[str, Result] = {}
        for event in turn.events:
            if isinstance(event, Result):
                results.setdefault(event.call_id, event)
        seen: set[str] = set()
        for event in turn.events:
            if isinstance(event, Call) and event.id not in seen:
                seen.add(event.id)
                steps.append(Step(index=first + len(steps), call=event, result=results.get(event.id)))
    return tuple(steps)


def call_identity(call: Call) -> str:
    """Two calls are the same when tool and all that it acts on are: paging a file by offset is not a repeat."""
    args = acting_args(call.args)
    if all(type(value) in _SCALARS for value in args.values()):
        return f"{call.tool}\0{sorted(args.items())!r}"
    return f"{call.tool}\0{_canonical()(args)}"


def acting_args(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without a command's description: it is for who watches, and agents word it anew for the same command."""
    if "description" not in args or "command" not in args:
        return args
    return {name: value for name, value in args.items() if name != "description"}


@cache
def _canonical() -> Callable[[object], str]:
    from json import JSONEncoder  # most arguments are plain, and need none

    return JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode


def result_identity(result: Result | None) -> str | None:
    """Two results are the same when exit code and the whole text are; an unseen one equals nothing."""
    if result is None:
        return None
    return f"{result.exit_code}:{int(result.failed)}:{result.digest}"
