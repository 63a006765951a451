"""Why did the agent stop, and what does it claim? The values that `classify` returns."""

from __future__ import annotations

from touchline.supervision.values import Literal, Value
from touchline.supervision.words import Word


class Kind(Word):
    """The kind of stop."""

    COMPLETION = "completion"
    STATUS = "status"
    QUESTION = "question"
    BLOCKER = "blocker"
    ERROR = "error"


class Standing(Word):
    """How a claim stands against the ledger."""

    PROVED = "proved"
    CONTRADICTED = "contradicted"
    UNPROVED = "unproved"


ClaimKind = Literal[
    "tests_pass",
    "checks_pass",
    "fixed",
    "implemented",
    "verified",
    "committed",
    "pushed",
    "pr_opened",
    "file_created",
]

CLAIM_KINDS: tuple[ClaimKind, ...] = ClaimKind.__args__  # type: ignore[attr-defined]

Rejection = Literal[
    "contradicted_claim",
    "unproved_claim",
    "unverified_edits",
    "tests_weakened",
    "phase_evidence_missing",
    "hedged_only",
    "no_proof_shown",
]
"""Why a completion is not accepted. `unproved_claim`: it names a deed the record always shows (a test run, a commit, a
push, a pull request; where the workspace was watched, a change), and the record shows none. `no_proof_shown`: the words
are all there is, because the text is judged alone, or because nothing was changed and nothing ran well."""


_UNCHECKED: frozenset[Rejection] = frozenset({"unverified_edits", "hedged_only", "no_proof_shown"})
CHECKED: frozenset[ClaimKind] = frozenset({"tests_pass", "checks_pass", "verified"})


class Span(Value):
    """A piece of the final text, by character offsets into it."""

    start: int
    end: int
    text: str


class Claim(Value):
    """Something the final text says was achieved."""

    what: ClaimKind
    span: Span
    said: str = ""
    """The sentence that it stands in, cut where it is long."""
    standing: Standing = Standing.UNPROVED
    because: str = ""
    """What the ledger shows: the call, its exit code, its counts."""
    call: int | None = None
    """Index of the call that proves or contradicts it."""
    untraced: bool = False
    """The deed would have left a trace in the record, and there is none."""

    @property
    def words(self) -> str:
        """What is quoted when somebody is told of the claim."""
        return self.said or self.span.text


class Stop(Value):
    """The kind of stop, how sure, and what it rests on."""

    kind: Kind
    confidence: float
    reason: str
    """Machine-readable: which rule decided (`question_at_end`, `deferral`, `claims_and_evidence` ...)."""
    spans: tuple[Span, ...] = ()
    claims: tuple[Claim, ...] = ()
    hedges: tuple[Span, ...] = ()
    proof_shown: tuple[Span, ...] = ()
    """Where the text itself names a check and its outcome. Never raises trust above the ledger."""
    rejected: tuple[Rejection, ...] = ()
    """Why the claimed completion is not accepted; empty when it is, or when nothing was claimed complete."""
    missing: tuple[str, ...] = ()
    """What would prove it, in words for the agent."""
    lacking: tuple[str, ...] = ()
    """What of it the task's phase, or a declared check, demands."""
    admitted: tuple[Span, ...] = ()
    """Where the agent says itself that it did not, or could not, check its work."""
    judged_by: Literal["rules", "model"] = "rules"
    note: str = ""
    """Anything a person should know about how this was judged, such as an unreachable model."""

    @property
    def rejected_completion(self) -> bool:
        return bool(self.rejected)

    @property
    def only_unchecked(self) -> bool:
        """Nothing but a check is missing; the message claims none, nor a deed of which there is no trace."""
        boasts = any(
            claim.untraced or (claim.what in CHECKED and claim.standing is not Standing.PROVED) for claim in self.claims
        )
        return set(self.rejected) <= _UNCHECKED and not boasts

    @property
    def honest(self) -> bool:
        """The message says itself that it was not checked, and lacks nothing else."""
        return bool(self.admitted) and self.only_unchecked
