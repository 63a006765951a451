"""How well is the kind of stop told from the final text alone, and which completions are accepted?

    python bench/messages.py FILE [--out OUT.json] [--json]

FILE is JSON lines with `id`, `task`, `text` and, where labelled, `label` and `kind`. `--out` writes
`{id: {"kind": ..., "rejected": bool}}` for any such file, labelled or not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.keyword_baseline import keyword_kind
from touchline.supervision.stop import classify

KINDS = ("completion", "status", "question", "blocker", "error")
PROVED, UNPROVED = "completion_with_evidence", "completion_hedged_or_unverified"
KIND_OF_LABEL = {
    PROVED: "completion",
    UNPROVED: "completion",
    "status_update": "status",
    "question": "question",
    "blocked": "blocker",
    "error": "error",
}
LEAST_MACRO_F1 = 0.75
MOST_ACCEPTED = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One message, what was said of it, and what is right."""

    label: str
    answer: bool
    kind: str
    rejected: bool
    baseline: str

    @property
    def truth(self) -> str:
        return KIND_OF_LABEL[self.label]

    @property
    def accepted(self) -> bool:
        return self.kind == "completion" and not self.rejected


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, help="write what was decided for every message")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    records = [json.loads(line) for line in given.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    classify("warm up: read the word lists before the clock starts")
    begun = time.perf_counter()
    stops = [classify(r["text"], task=r.get("task") or "") for r in records]
    spent = time.perf_counter() - begun
    if given.out:
        said = {
            r["id"]: {"kind": s.kind.value, "rejected": s.rejected_completion}
            for r, s in zip(records, stops, strict=True)
        }
        given.out.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    rows = [
        Row(
            label=r["label"],
            answer=r.get("kind") == "answer",
            kind=s.kind.value,
            rejected=s.rejected_completion,
            baseline=keyword_kind(r["text"]),
        )
        for r, s in zip(records, stops, strict=True)
        if r.get("label") in KIND_OF_LABEL
    ]
    if not rows:
        print(f"{len(records)} messages, none labelled: nothing to measure")
        return 0
    figures: dict[str, Any] = {
        "messages": len(rows),
        "ms_per_message": round(1000 * spent / len(records), 2),
        "ours": _figures([(r.truth, r.kind) for r in rows]),
        "ours_without_answers": _figures([(r.truth, r.kind) for r in rows if not r.answer]),
        "keyword_baseline": _figures([(r.truth, r.baseline) for r in rows]),
        "acceptance": _acceptance(rows),
        "acceptance_without_answers": _acceptance([r for r in rows if not r.answer]),
    }
    if given.json:
        print(json.dumps(figures, indent=1))
    else:
        _print(figures, rows)
    kept = figures["ours"]["macro_f1"] >= LEAST_MACRO_F1
    return 0 if kept and figures["acceptance"]["unproved_accepted_share"] <= MOST_ACCEPTED else 1


def _figures(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    kinds: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        hit = sum(truth == said == kind for truth, said in pairs)
        said_so = sum(said == kind for _, said in pairs)
        so = sum(truth == kind for truth, _ in pairs)
        kinds[kind] = {
            "precision": hit / said_so if said_so else 0.0,
            "recall": hit / so if so else 0.0,
            "f1": 2 * hit / (said_so + so) if said_so + so else 0.0,
            "messages": so,
        }
    right = sum(truth == said for truth, said in pairs)
    return {
        "kinds": kinds,
        "macro_f1": sum(k["f1"] for k in kinds.values()) / len(KINDS),
        "accuracy": right / len(pairs) if pairs else 0.0,
    }


def _acceptance(rows: Sequence[Row]) -> dict[str, Any]:
    unproved = [r for r in rows if r.label == UNPROVED]
    proved = [r for r in rows if r.label == PROVED]
    accepted = sum(r.accepted for r in unproved)
    rejected = sum(r.kind == "completion" and r.rejected for r in proved)
    return {
        "unproved": len(unproved),
        "unproved_accepted": accepted,
        "unproved_accepted_share": accepted / len(unproved) if unproved else 0.0,
        "proved": len(proved),
        "proved_rejected": rejected,
        "proved_rejected_share": rejected / len(proved) if proved else 0.0,
    }


def _print(figures: dict[str, Any], rows: Sequence[Row]) -> None:
    print(f"{figures['messages']} labelled messages, text alone, {figures['ms_per_message']} ms each\n")
    for name, title in (
        ("ours", "Touchline's rules"),
        ("ours_without_answers", "Touchline's rules, answers to questions left out"),
        ("keyword_baseline", "baseline: keywords"),
    ):
        part = figures[name]
        print(f"{title}: macro-F1 {part['macro_f1']:.3f}, accuracy {part['accuracy']:.3f}")
        print(f"  {'kind':<12}{'P':>7}{'R':>7}{'F1':>7}{'n':>6}")
        for kind, k in part["kinds"].items():
            print(f"  {kind:<12}{k['precision']:>7.2f}{k['recall']:>7.2f}{k['f1']:>7.2f}{k['messages']:>6}")
        print()
    print("confusion (rows: label, columns: said)")
    cells = Counter((r.label, r.kind) for r in rows)
    print(f"  {'':<34}" + "".join(f"{kind:>12}" for kind in KINDS))
    for label in KIND_OF_LABEL:
        print(f"  {label:<34}" + "".join(f"{cells[label, kind]:>12}" for kind in KINDS))
    print()
    for name, title in (("acceptance", "completions"), ("acceptance_without_answers", "completions of work only")):
        a = figures[name]
        print(
            f"{title}: without evidence accepted {a['unproved_accepted']}/{a['unproved']}"
            f" ({a['unproved_accepted_share']:.1%}), with evidence rejected {a['proved_rejected']}/{a['proved']}"
            f" ({a['proved_rejected_share']:.1%})"
        )


if __name__ == "__main__":
    raise SystemExit(main())
