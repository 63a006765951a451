"""What do the rules cost per call? All thrash rules together as a live session runs them, and the ledger.

python bench/rules_cost.py FILE [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from touchline.supervision.facts import Step, Turn, steps_of
from touchline.supervision.ledger import ledger_of
from touchline.supervision.loops import ThrashWatch
from touchline.transcripts.traces import read_traces

ROUNDS = 3
"""The best of so many: the least disturbed by the rest of the machine."""


def watched(steps: Sequence[Step]) -> None:
    watch = ThrashWatch()
    for step in steps:
        watch.before(step.call, index=step.index)
        watch.after(step)


def kept_between(steps: Sequence[Step]) -> None:
    """As hooks run it: the state goes through JSON at every call."""
    state = json.dumps(ThrashWatch().to_json())
    for step in steps:
        watch = ThrashWatch.from_json(json.loads(state))
        watch.before(step.call, index=step.index)
        watch.after(step)
        state = json.dumps(watch.to_json())


def best(work: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def costs(turns: Sequence[Turn]) -> dict[str, float]:
    """Microseconds per call."""
    runs = [steps_of(turn) for turn in turns]
    calls = max(1, sum(len(steps) for steps in runs))

    def rules() -> None:
        for steps in runs:
            watched(steps)

    def hooks() -> None:
        for steps in runs[:100]:
            kept_between(steps)

    def ledgers() -> None:
        for turn in turns:
            ledger_of(turn)

    few = max(1, sum(len(steps) for steps in runs[:100]))
    return {
        "calls": calls,
        "all thrash rules, us per call": 1e6 * best(rules) / calls,
        "with the state kept as JSON between calls, us per call": 1e6 * best(hooks) / few,
        "ledger, us per call": 1e6 * best(ledgers) / calls,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    figures = costs([trace.turn for trace in read_traces(options.file)])
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:58}{value:>12,.1f}" if name != "calls" else f"{name:58}{value:>12,.0f}")


if __name__ == "__main__":
    main()
