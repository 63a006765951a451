"""Would a completion gate have sent this finished run back, and how strict must it be for that?

The ledger decides, as in `touchline.supervision`. In the recorded runs a `finish` call is the claim of completion.
"""

from __future__ import annotations

from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended, Turn, steps_of
from touchline.supervision.ledger import ledger_of
from touchline.supervision.stop import classify
from touchline.transcripts.traces import Trace

GATE_LEVELS = (
    "nothing",
    "no file changed at all",
    "nothing executed after the last change",
    "all that was executed after the last change failed",
    "the last thing executed after the last change failed",
    "no test run after the last change",
    "the last test run after the last change did not pass",
)
DEFAULT_LEVEL = 3
"""What Touchline does with a typed claim of completion: changed work needs a check that ran, and did not fail."""
ACCEPTED = len(GATE_LEVELS)


def gate_level(turn: Turn) -> int:
    """The lowest strictness that sends this run back; `ACCEPTED` when none does."""
    return level_of(ledger_of(turn))


def level_of(ledger: Ledger) -> int:
    if ledger.last_edit is None:
        return 1
    ran = ledger.after_last_edit
    if not ran:
        return 2
    if not ledger.verified_after_last_edit:
        return 3
    if ran[-1].failed:
        return 4
    test = ledger.last_test_run
    if test is None or test.call < ledger.last_edit:
        return 5
    return 6 if test.outcome != "passed" else ACCEPTED


def claims_completion(trace: Trace) -> bool:
    """Labelled runs say how they ended; in others a last call to `finish` is the claim."""
    if trace.end is not None:
        return trace.end == "finished"
    steps = steps_of(trace.turn)
    return bool(steps) and steps[-1].call.tool == "finish"


def is_rejected(trace: Trace) -> bool:
    """The default gate: the ledger at its default strictness, or a claim in the last words that it contradicts."""
    if not claims_completion(trace):
        return False
    ledger = ledger_of(trace.turn)
    if level_of(ledger) <= DEFAULT_LEVEL:
        return True
    return classify(trace.turn.final_text, ledger=ledger, ended=Ended.FINISHED).rejected_completion
