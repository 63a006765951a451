"""What does `import touchline` cost over a bare interpreter, and what do commands that need no database?

    python bench/start_up.py

Alternates the two so that a busy machine disturbs both alike. Exit code 1 when a limit is missed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

ROUNDS = 25
MAX_IMPORT_MS = 40.0
MAX_HELP_MS = 150.0
MAX_COMMAND_MS = 150.0
SITUATION = b'{"text": "I fixed the parser. All 12 tests pass.", "task": "Please fix the parser."}'


def spent(*arguments: str, said: bytes = b"") -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, input=said)
    return (time.perf_counter() - began) * 1000


def main() -> int:
    bare: list[float] = []
    imported: list[float] = []
    face: list[float] = []
    helped: list[float] = []
    command: list[float] = []
    decided: list[float] = []
    spent("-m", "touchline", "decide", said=SITUATION)  # once unmeasured: the first keeps its compiled patterns
    for _ in range(ROUNDS):
        bare.append(spent("-c", "pass"))
        imported.append(spent("-c", "import touchline"))
        face.append(spent("-c", "import touchline; touchline.read_turn; touchline.decide; touchline.classify"))
        helped.append(spent("-m", "touchline", "--help"))
        command.append(spent("-m", "touchline", "audit", "--help"))
        decided.append(spent("-m", "touchline", "decide", said=SITUATION))
    base = median(bare)
    rows = [
        ("import touchline", median(imported) - base, MAX_IMPORT_MS),
        ("import touchline, whole face used", median(face) - base, None),
        ("touchline --help", median(helped) - base, MAX_HELP_MS),
        ("touchline decide", median(decided) - base, MAX_COMMAND_MS),
        # Mostly the command-line library's own import.
        ("touchline audit --help", median(command) - base, None),
    ]
    print(f"Over a bare interpreter ({base:.1f} ms), median of {ROUNDS}:")
    for name, cost, limit in rows:
        against = "no limit set" if limit is None else f"{cost / limit:5.2f} of its limit of {limit:.0f} ms"
        print(f"  {name:36} {cost:7.1f} ms   {against}")
    return int(any(limit is not None and cost > limit for _, cost, limit in rows))


if __name__ == "__main__":
    raise SystemExit(main())
