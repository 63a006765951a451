"""How well do the thrash rules and the completion gate do on recorded runs, beside the rules of other tools?

    python bench/traces.py FILE [--flags OUT.json] [--json]

FILE is a trace file (.jsonl or .jsonl.gz), labelled or not; without labels only the flags and their overall rate
can be told. What a class means: `finished` and `max_iter` by how the run ended, right or wrong by the hidden tests;
`stuck` is OpenHands' own verdict, and those histories end with the call that tripped it, its result missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.gate import DEFAULT_LEVEL, GATE_LEVELS, gate_level, is_rejected
from bench.peer_rules import PEERS
from touchline.supervision.facts import Turn, steps_of
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.thrash import find_thrash_in
from touchline.transcripts.traces import Trace, read_traces

CLASSES = ("finished+right", "finished+wrong", "max_iter+right", "max_iter+wrong", "stuck")
FALSE_ALARM, HIT, STUCK = "finished+right", "max_iter+wrong", "stuck"

NEVER = 1_000_000
OFF = replace(LIMITS, same_result=NEVER, cycle_longest=1, few_distinct=(0, 10), nothing_new=(), same_message=NEVER)
ALONE: dict[str, Limits] = {
    "  repeat": replace(OFF, same_result=LIMITS.same_result),
    "  cycle": replace(OFF, cycle_longest=LIMITS.cycle_longest),
    "  few_distinct": replace(OFF, few_distinct=LIMITS.few_distinct),
    "  nothing_new": replace(OFF, nothing_new=LIMITS.nothing_new),
    "  same_message": replace(OFF, same_message=LIMITS.same_message),
}
STRICTNESS: dict[str, Limits] = {
    "cautious": replace(LIMITS, same_result=4),
    "Touchline": LIMITS,
    "eager": replace(LIMITS, nothing_new=((6, 10), (8, 15))),
    "watchful": replace(LIMITS, same_result=2, cycle_repeats=2, nothing_new=((4, 10), (6, 20))),
}
"""From few false alarms to many; only the second acts. The others show what the same rules do at a peer's rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one rule set did on a labelled file."""

    name: str
    flagged: dict[str, int]
    """How many runs of each class were flagged."""
    halves: dict[str, tuple[int, int]]
    """The same, in two halves of the problems."""
    median_at: float | None
    """Median call at which a hit was flagged."""
    saved: float
    """Share of all calls of the hit class that came after the flag."""


def class_of(trace: Trace) -> str | None:
    right = "right" if trace.outcome == "resolved" else "wrong"
    if trace.end == "stuck_loop":
        return "stuck"
    return f"{trace.end}+{right}" if trace.end in ("finished", "max_iter") else None


def half_of(trace: Trace) -> int:
    return sha256((trace.instance or trace.id).encode()).digest()[-1] % 2


def ours(limits: Limits) -> Callable[[Turn], int | None]:
    def fires(turn: Turn) -> int | None:
        thrash = find_thrash_in(turn, limits=limits)
        return None if thrash is None else thrash.at

    return fires


def measure(name: str, rule: Callable[[Turn], int | None], traces: Sequence[Trace]) -> Measured:
    flagged = dict.fromkeys(CLASSES, 0)
    halves = {name: [0, 0] for name in CLASSES}
    positions: list[int] = []
    saved = calls = 0
    for trace in traces:
        kind, at = class_of(trace), rule(trace.turn)
        if kind is None:
            continue
        count = len(steps_of(trace.turn))
        if kind == HIT:
            calls += count
        if at is None:
            continue
        flagged[kind] += 1
        halves[kind][half_of(trace)] += 1
        if kind == HIT:
            positions.append(at)
            saved += count - at
    return Measured(
        name=name,
        flagged=flagged,
        halves={kind: (a, b) for kind, (a, b) in halves.items()},
        median_at=median(positions) if positions else None,
        saved=saved / calls if calls else 0.0,
    )


def beside(peer: Measured, presets: Sequence[Measured]) -> Measured | None:
    """Our preset with most hits among those that raise no more false alarms than the peer."""
    fitting = [p for p in presets if p.flagged[FALSE_ALARM] <= peer.flagged[FALSE_ALARM]]
    return max(fitting, key=lambda p: p.flagged[HIT] + p.flagged[STUCK], default=None)


def gate_curve(traces: Iterable[Trace]) -> list[dict[str, Any]]:
    """For each strictness: which share of the right and of the wrong finishes is sent back."""
    levels: dict[str, list[int]] = {"finished+right": [], "finished+wrong": []}
    for trace in traces:
        if (kind := class_of(trace)) in levels:
            levels[str(kind)].append(gate_level(trace.turn))
    right, wrong = levels.values()
    curve = []
    for strictness, meaning in enumerate(GATE_LEVELS):
        kept_right = sum(level > strictness for level in right)
        kept = kept_right + sum(level > strictness for level in wrong)
        curve.append(
            {
                "strictness": strictness,
                "sends_back": meaning,
                "right_rejected": _share(len(right) - kept_right, len(right)),
                "wrong_rejected": _share(len(right) + len(wrong) - kept - (len(right) - kept_right), len(wrong)),
                "right_among_accepted": _share(kept_right, kept),
            }
        )
    return curve


def flags(traces: Iterable[Trace]) -> dict[str, dict[str, Any]]:
    """What the defaults say about each run, labelled or not."""
    found: dict[str, dict[str, Any]] = {}
    for trace in traces:
        thrash = find_thrash_in(trace.turn)
        at = None if thrash is None or thrash.at < 0 else thrash.at
        found[trace.id] = {"thrash": thrash is not None, "at": at, "rejected": is_rejected(trace)}
    return found


def report(traces: Sequence[Trace]) -> dict[str, Any]:
    """All figures of a labelled file."""
    totals = {name: sum(class_of(trace) == name for trace in traces) for name in CLASSES}
    presets = [measure(name, ours(limits), traces) for name, limits in STRICTNESS.items()]
    alone = [measure(name, ours(limits), traces) for name, limits in ALONE.items()]
    peers = [measure(name, rule, traces) for name, rule in PEERS.items()]
    return {
        "runs": totals,
        "rules": [asdict(m) for m in (*presets, *alone, *peers)],
        "beside_peers": [
            {"peer": asdict(p), "ours": asdict(best) if (best := beside(p, presets)) else None} for p in peers
        ],
        "gate": gate_curve(traces),
    }


def print_report(figures: Mapping[str, Any]) -> None:
    totals = figures["runs"]
    print("Runs: " + ", ".join(f"{name} {count}" for name, count in totals.items()))
    print("\nThrash: share of each class flagged; (a/b) = runs in the two halves of the problems")
    heads = "".join(f"{name:>22}" for name in CLASSES)
    print(f"{'rule':42}{heads}{'median call':>13}{'calls saved':>13}")
    for rule in figures["rules"]:
        cells = "".join(f"{_cell(rule, name, totals[name]):>22}" for name in CLASSES)
        at = "-" if rule["median_at"] is None else f"{rule['median_at']:.0f}"
        print(f"{rule['name']:42}{cells}{at:>13}{rule['saved']:>12.1%}")
    print(f"(median call and calls saved: over {HIT})")
    print("\nOurs beside each peer, at no more false alarms than the peer: false alarms / hits / stuck")
    for pair in figures["beside_peers"]:
        peer, best = pair["peer"], pair["ours"]
        left = _three(peer, totals)
        right = "no preset raises so few" if best is None else f"{_three(best, totals)}  ({best['name']})"
        print(f"{peer['name']:42}{left:>24}   ours {right:34} {_verdict(peer, best)}")
    print("\nCompletion gate over finished runs, each level adding to the one before")
    print(f"{'sends back':58}{'of right':>10}{'of wrong':>10}{'right among accepted':>22}")
    for row in figures["gate"]:
        shares = f"{row['right_rejected']:>10.1%}{row['wrong_rejected']:>10.1%}{row['right_among_accepted']:>22.1%}"
        default = "  <- default" if row["strictness"] == DEFAULT_LEVEL else ""
        print(f"{row['strictness']} {row['sends_back']:56}{shares}{default}")


def _verdict(peer: Mapping[str, Any], best: Mapping[str, Any] | None) -> str:
    if best is None:
        return "NOT BETTER"
    behind = [n for n in (HIT, STUCK) if best["flagged"][n] < peer["flagged"][n]]
    ahead = [n for n in (HIT, STUCK) if best["flagged"][n] > peer["flagged"][n]]
    return "better" if ahead and not behind else "NOT BETTER on " + " and ".join(behind or (HIT, STUCK))


def _three(rule: Mapping[str, Any], totals: Mapping[str, int]) -> str:
    return " / ".join(f"{_share(rule['flagged'][n], totals[n]):.1%}" for n in (FALSE_ALARM, HIT, STUCK))


def _cell(rule: Mapping[str, Any], name: str, total: int) -> str:
    a, b = rule["halves"][name]
    return f"{rule['flagged'][name]} {_share(rule['flagged'][name], total):.1%} ({a}/{b})"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--flags", type=Path, metavar="OUT.json", help="write what the defaults say of each run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    traces = list(read_traces(options.file))
    said = flags(traces)
    if options.flags:
        options.flags.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    figures: dict[str, Any] = {
        "file": options.file.name,
        "overall": {
            "runs": len(traces),
            "thrash": _share(sum(f["thrash"] for f in said.values()), len(said)),
            "rejected": _share(sum(f["rejected"] for f in said.values()), len(said)),
        },
    }
    labelled = any(class_of(trace) for trace in traces)
    if labelled:
        figures |= report(traces)
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    overall = figures["overall"]
    print(f"{figures['file']}: {overall['runs']} runs, thrash {overall['thrash']:.1%}, ", end="")
    print(f"rejected {overall['rejected']:.1%}")
    if labelled:
        print_report(figures)


if __name__ == "__main__":
    main()
