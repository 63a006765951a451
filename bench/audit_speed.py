"""How fast is the audit, and how much memory does it take?

    python bench/audit_speed.py            100 MB of synthetic logs
    python bench/audit_speed.py --mb 1000  the full size

Speed: the whole audit on one core, against a bare `json.loads` of every line of the same files in the same run.
Memory: the highest sum over all processes of a run of the real command with two workers. Exit code 1 when a limit is
missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.synthetic_logs import write_logs
from touchline.audit.run import audit
from touchline.audit.selection import choose

MIN_RATIO = 0.5
MAX_MEGABYTES = 300


def bare_pass(files: list[Path]) -> None:
    """Parse every line and keep nothing."""
    for path in files:
        with path.open("rb") as lines:
            for line in lines:
                json.loads(line)


def timed(work: Callable[[], object]) -> float:
    """Seconds of processor time: what else the machine does changes them little."""
    began = time.process_time()
    work()
    return time.process_time() - began


def peak_memory(command: list[str]) -> tuple[float, float]:
    """Run a command; its seconds, and the most megabytes its processes held together (proportional set size)."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.05):
            peak = max(peak, sum(_held(pid) for pid in _family(process.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    ended.set()
    watcher.join()
    if code:
        raise SystemExit(f"{' '.join(command)} ended with exit code {code}")
    return time.perf_counter() - began, peak


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _held(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many rounds counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="touchline-bench-") as folder:
        files = write_logs(Path(folder), options.mb)
        megabytes = sum(path.stat().st_size for path in files) / 1e6
        chosen = choose([Path(folder)])
        bare: list[float] = []
        whole: list[float] = []
        for _ in range(options.rounds):
            bare.append(timed(lambda: bare_pass(files)))
            whole.append(timed(lambda: audit(chosen, jobs=1)))
        ratio = min(bare) / min(whole)
        command = [sys.executable, "-m", "touchline", "audit", folder, "--json", "--jobs", "2"]
        seconds, peak = peak_memory(command)
    print(f"logs               {megabytes:8.1f} MB in {len(files)} files")
    print(f"bare json.loads    {megabytes / min(bare):8.1f} MB/s")
    print(f"audit, one core    {megabytes / min(whole):8.1f} MB/s")
    print(f"ratio              {ratio:8.2f}   (at least {MIN_RATIO})")
    print(f"audit, two workers {megabytes / seconds:8.1f} MB/s, the whole command")
    print(f"peak memory        {peak:8.1f} MB (at most {MAX_MEGABYTES})")
    return 0 if ratio >= MIN_RATIO and peak <= MAX_MEGABYTES else 1


if __name__ == "__main__":
    raise SystemExit(main())
