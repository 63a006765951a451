"""What is known when a turn has ended, and what can be decided about it? The values `decide` takes and returns."""

from __future__ import annotations

from touchline.supervision.budgets import Budget, Spending
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended, Fault
from touchline.supervision.values import Literal, Value, field
from touchline.supervision.words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Whoever has one of these has loaded its module; most stops have no contract, no loop and no phase.
    from touchline.supervision.coach import Coaching, Plan
    from touchline.supervision.contract import ContractCheck
    from touchline.supervision.patterns import Thrash
    from touchline.supervision.phases import Phase
    from touchline.supervision.recovery import Recovery
    from touchline.supervision.stops import Stop


class Action(Word):
    """What happens next."""

    CONTINUE = "continue"
    """The agent goes on in the same session, with a message."""
    STEER = "steer"
    """The agent is told that it goes in circles."""
    NUDGE = "nudge"
    """The same session is resumed once, only to say what its report lacks."""
    REVIEW = "review"
    """The agent pauses and a reviewer looks."""
    ASK = "ask"
    """A person, or the reviewer, is asked."""
    RETRY = "retry"
    """The turn is tried again."""
    DELIVER = "deliver"
    """The result goes to the person who asked; `delivery` says how it stands."""
    DROP = "drop"
    """Nothing: this stop was dealt with."""


class Reason(Word):
    """Why, in one machine-readable word; each is documented in the reference."""

    ALREADY_DELIVERED = "already_delivered"
    """This stop was delivered before."""
    CRASHED = "crashed"
    """The process ended without its final record."""
    API_ERROR = "api_error"
    """The provider refused in a way that does not pass by itself."""
    PROVIDER_FAULT = "provider_fault"
    """A provider fault that passes by itself: retried with growing patience, then delivered as an error."""
    KILLED = "killed"
    """The agent was ended from outside."""
    TIMED_OUT = "timed_out"
    """The agent was ended at its time limit."""
    INTERRUPTED = "interrupted"
    """A person interrupted the agent."""
    END_UNKNOWN = "end_unknown"
    """The record does not tell how the turn ended."""
    ERROR_REPORTED = "error_reported"
    """The turn finished, but its last message reports an abnormal end."""
    BUDGET_EXHAUSTED = "budget_exhausted"
    """Turns, tokens, money, time or retries are used up."""
    SPENDING_LIMIT = "spending_limit"
    """What a whole build, or a day, may spend is reached: no further turn is paid for."""
    LIMIT_REACHED = "limit_reached"
    """The agent reached a limit of its own, such as its number of turns."""
    CONTRACT_NUDGE = "contract_nudge"
    """The work is done and its report lacks a token: asked for by a short resume."""
    CONTRACT_RETRY = "contract_retry"
    """The output contract was broken and a nudge cannot mend it."""
    CONTRACT_FAILED = "contract_failed"
    """The output contract was broken and is not tried again."""
    THRASH_STEERED = "thrash_steered"
    """Going in circles; the first time the agent is told."""
    THRASH_REVIEWED = "thrash_reviewed"
    """Still going in circles; a reviewer looks."""
    THRASH_STOPPED = "thrash_stopped"
    """Still going in circles after that; stopped."""
    QUESTION = "question"
    """The agent asks something that a person must decide."""
    BLOCKER = "blocker"
    """The agent lacks what only someone else can supply."""
    UNSURE = "unsure"
    """The stop cannot be read with enough confidence, so it is shown."""
    COMPLETION_REJECTED = "completion_rejected"
    """A completion without the evidence it needs: sent back with coaching."""
    REJECTED_AGAIN = "rejected_again"
    """The same completion came back a third time; a person decides."""
    STATUS = "status"
    """A report of progress: the agent goes on."""
    COMPLETED = "completed"
    """A completion that the evidence bears out."""
    CAP_REACHED = "cap_reached"
    """Continued as often as allowed and still open."""


Delivery = Literal["accepted", "unresolved", "error"]


class Work(Value):
    """What a continuation must carry with it, so that the second one knows as much as the first."""

    task: str = ""
    phase: Phase | None = None
    plan: Plan | None = None
    workflow_id: str | None = None
    continuations: int = 0
    """Continuations sent since the last delivery."""
    same_rejections: int = 0
    """How often this very rejection was already sent."""
    last_rejection: tuple[str, ...] = ()
    """What the last rejection rested on, to know whether the next is the same."""
    steered: int = 0
    """How often the current loop was already steered."""
    reviewed: int = 0
    """How often the current loop was already reviewed."""
    provider_retries: int = 0
    """Retries already spent on provider faults in a row."""


class Situation(Value):
    """Everything the decision about a stop may use."""

    stop: Stop
    ended: Ended = Ended.FINISHED
    fault: Fault | None = None
    """The fault that ended the turn, if one did."""
    ledger: Ledger = field(default_factory=Ledger)
    delivered: bool = False
    """This stop was already delivered."""
    budget: Budget = field(default_factory=Budget)
    spending: Spending = field(default_factory=Spending)
    reviewer: bool = False
    """Somebody can review: a model that is not the author, or a person."""
    contract: ContractCheck | None = None
    recovery: Recovery | None = None
    """The contract's next rung, from `recover`."""
    thrash: Thrash | None = None
    """The loop that was going on when the turn ended; not one the agent found its own way out of."""
    work: Work = field(default_factory=Work)


class Decision(Value):
    """What to do about a stop, and why."""

    action: Action
    reason: Reason
    message: str = ""
    """What is sent to the agent (`continue`, `steer`, `nudge`) or shown to the person or reviewer."""
    delivery: Delivery | None = None
    """For `deliver`: how the result stands."""
    coaching: Coaching | None = None
    missing: tuple[str, ...] = ()
    session: Literal["same", "new"] | None = None
    """For `retry`: whether the agent's session is resumed or a new one begins."""
    delay_seconds: float = 0.0
    """For `retry`: how long to wait first."""
    seconds_allowed: float | None = None
    """For `nudge`: how long the resumed session may take."""
    counts_as_attempt: bool = True
    """False for transient provider faults: they are nobody's failed attempt."""
    work: Work = field(default_factory=Work)
    """What the next turn carries."""
