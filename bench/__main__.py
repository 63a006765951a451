"""Runs every benchmark, one after the other, and says at the end which kept their limits.

    python -m bench [--traces FILE] [--messages FILE] [--mb N]

The trace and message files are research data that are not part of the project; without them those benchmarks are
skipped, and the skip is counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, help="labelled runs (.jsonl or .jsonl.gz)")
    parser.add_argument("--messages", type=Path, help="labelled final messages (.jsonl)")
    parser.add_argument("--mb", type=int, default=100, help="megabytes of synthetic logs for the audit")
    given = parser.parse_args()
    runs: list[tuple[str, Path | None, list[str]]] = [
        ("traces.py", given.traces, []),
        ("messages.py", given.messages, []),
        ("rules_cost.py", given.traces, []),
        ("start_up.py", None, []),
        ("hook_cost.py", None, []),
        ("audit_speed.py", None, ["--mb", str(given.mb)]),
        ("store_speed.py", None, []),
        ("engine_cost.py", None, []),
        ("sessions_cost.py", None, []),
    ]
    results: list[tuple[str, str]] = []
    for script, data, arguments in runs:
        print(f"\n=== {script}", flush=True)
        needs_data = script in ("traces.py", "messages.py", "rules_cost.py")
        if needs_data and (data is None or not data.is_file()):
            print(f"skipped: {data or 'no data file'} is not here")
            results.append((script, "skipped"))
            continue
        command = [sys.executable, str(HERE / script), *([str(data)] if needs_data else []), *arguments]
        code = subprocess.run(command, check=False).returncode
        results.append((script, "kept its limits" if code == 0 else f"MISSED (exit code {code})"))
    print("\n=== summary")
    for script, result in results:
        print(f"{script:18} {result}")
    return int(any(result.startswith("MISSED") for _, result in results))


if __name__ == "__main__":
    raise SystemExit(main())
