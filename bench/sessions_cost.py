"""What does supervision cost? Its share of the processor, its memory, the time it adds to a turn, a nudge's tokens.

    python bench/sessions_cost.py [--sessions N] [--turn-seconds S] [--json]

Everything runs through the real engine, clones, sandbox and scripted agents; the model's words and its slowness come
from a script. Counted as Touchline's own: user and system time of this process (engine, loop, judging, database),
without its children. The children are the agents, their tools, and the git processes that make and collect clones.
Exit code 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sqlalchemy as sa

from touchline.agents.sandbox import probe
from touchline.engine.port import Engine
from touchline.rehearsal.demo import make_repository, sample
from touchline.sessions.asked import Asked
from touchline.sessions.records import TurnRecord, session_record, turns_of_session
from touchline.sessions.room import working_sessions
from touchline.sessions.starting import start_session
from touchline.store.database import Database
from touchline.store.event_search import Wanted, search
from touchline.store.place import Place
from touchline.store.tables import sessions

MAX_SHARE = 0.05
MAX_MB = 250.0
MAX_OVERHEAD = 0.05
TURNS = 2
REQUESTS = 5
BURN = "x = 0\nfor i in range({loops}):\n    x += i\n"
TOOL_LOOPS = 11_000_000
"""An agent's test run: a second of processor time, as a small test suite takes. Told in work and not in seconds: a busy
machine makes it as much slower as it makes supervision."""


def script(*, turn_seconds: float) -> str:
    """Two turns: work and a hedge, then a test run and its result. Each lasts about so long."""
    wait = turn_seconds / REQUESTS
    work = "python3 burn.py && python3 -m unittest -q"
    return f"""
turns:
  - {{text: I look around., delay: {wait}, calls: [{{read: "${{workspace}}/prices.py"}}]}}
  - {{delay: {wait}, calls: [{{shell: {json.dumps(work)}}}]}}
  - {{delay: {wait}, calls: [{{write: "${{workspace}}/notes.py", content: "x = 1\\n"}}]}}
  - {{delay: {wait}, calls: [{{shell: "ls -l"}}]}}
  - {{delay: {wait}, text: I wrote notes.py. It should work now.}}
  - {{delay: {wait}, heard: System Coach, calls: [{{shell: {json.dumps(work)}}}]}}
  - {{delay: {wait}, calls: [{{read: "${{workspace}}/notes.py"}}]}}
  - {{delay: {wait}, calls: [{{shell: "cat notes.py"}}]}}
  - {{delay: {wait}, calls: [{{shell: {json.dumps(work)}}}]}}
  - {{delay: {wait}, text: "notes.py is written. The tests pass: 3 tests, OK."}}
"""


class Bench:
    """A folder with a repository and a running engine."""

    def __init__(self, folder: Path, engine: Engine, database: Database) -> None:
        self.folder, self.engine, self.database = folder, engine, database
        self.level = "bubblewrap" if probe(os.environ).bubblewrap else "none"

    def ask(self, words: str | Path, **asked: Any) -> Asked:
        path = words if isinstance(words, Path) else self.folder / f"{uuid.uuid4().hex}.yaml"
        if isinstance(words, str):
            path.write_text(words)
        values: dict[str, Any] = {
            "task": "Write notes.py.",
            "repository": str(self.folder / "shop"),
            "agent": "scripted",
            "sandbox": self.level,
            "settings": {"script": str(path)},
        }
        return Asked(**{**values, **asked})

    def start(self, asked: Asked) -> str:
        return start_session(self.engine, self.database, asked)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        # Cheap and seldom: this thread's looking is not Touchline's, and is counted as if it were.
        query = sa.select(sa.func.count()).where(sessions.c.status.in_(("starting", "running")))
        while True:
            with self.database.reading() as connection:
                left = connection.execute(query).scalar_one()
            if not left:
                return
            if time.monotonic() > until:
                raise TimeoutError(f"{left} sessions did not end within {seconds:.0f} s")
            time.sleep(1.0)


@contextmanager
def opened() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="touchline-bench-") as name:
        folder = Path(name)
        os.environ["TOUCHLINE_SCRIPTED_HOME"] = str(folder / "agent")
        repository = make_repository(folder / "shop", os.environ)
        (repository / "burn.py").write_text(BURN.format(loops=TOOL_LOOPS))
        # Tests that pass: the bench is about the cost of supervision, not about the bug.
        (repository / "test_prices.py").write_text(sample().files["test_prices.py"].replace("167", "166"))
        git = ["git", "-c", "user.name=Bench", "-c", "user.email=bench@touchline.invalid"]
        subprocess.run([*git, "add", "-A"], cwd=repository, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "Bench"], cwd=repository, check=True)
        place = Place(url=f"sqlite:///{folder / 'app.db'}", origin="given")
        work = working_sessions(place, env=os.environ, home=folder / "home", purpose="test")
        with work as (engine, database):
            yield Bench(folder, engine, database)


def crowd(bench: Bench, sessions: int, turn_seconds: float) -> dict[str, float]:
    """So many sessions at a time: whose processor time is it, and how much memory does this process need?"""
    # Without bubblewrap: it ends its processes without waiting for them, and the system forgets what they used.
    asked = bench.ask(script(turn_seconds=turn_seconds), sandbox="none")
    mine, theirs = used(resource.RUSAGE_SELF), used(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    ids = [bench.start(asked) for _ in range(sessions)]
    bench.wait(1800)
    wall = time.perf_counter() - began
    own, children = used(resource.RUSAGE_SELF) - mine, used(resource.RUSAGE_CHILDREN) - theirs
    with bench.database.reading() as connection:
        records = [session_record(connection, id) for id in ids]
        turns = sum(len(turns_of_session(connection, id)) for id in ids)
    wrong = [record.detail for record in records if record.delivery != "accepted"]
    if wrong:
        raise RuntimeError(f"{len(wrong)} sessions were not accepted: {wrong[0]}")
    return {
        "sessions": sessions,
        "turns": turns,
        "wall": wall,
        "own": own,
        "children": children,
        "share": own / (own + children),
        "share_of_machine": own / (wall * (os.cpu_count() or 1)),
        "own_per_turn": own / turns,
        "peak_mb": peak_mb(),
        "threads": threading.active_count(),
    }


def side_by_side(bench: Bench, turn_seconds: float, rounds: int) -> dict[str, float]:
    """The same turns with and without Touchline, at the same time, so that a busy machine disturbs both alike."""
    words = script(turn_seconds=turn_seconds)
    pairs: list[tuple[float, float]] = []
    beyond: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        id = bench.start(bench.ask(words))
        alone = bare(bench, words)
        bench.wait(600)
        watched = supervised(bench, id)
        if len(watched) != len(alone):
            raise RuntimeError(f"the session had {len(watched)} turns, not {len(alone)}")
        pairs += zip(alone, watched, strict=True)
        beyond.append(ended(bench, id) - began - sum(watched))
    return {
        "turns": len(pairs),
        "bare": statistics.median(one for one, _ in pairs),
        "supervised": statistics.median(two for _, two in pairs),
        "overhead": statistics.median(two / one - 1 for one, two in pairs),
        "overhead_seconds": statistics.median(two - one for one, two in pairs),
        "session_beyond_turns": statistics.median(beyond),
    }


def ended(bench: Bench, id: str) -> float:
    """When the session ended, by the clock that `perf_counter` reads."""
    (event,) = search(bench.database, Wanted(session=id, patterns=("session.ended",)), limit=1)
    return event.at.timestamp() - time.time() + time.perf_counter()


def bare(bench: Bench, words: str) -> list[float]:
    """Seconds of each turn of the agent by itself: its process, prompt by argument, resumed for the second."""
    path = bench.folder / f"{uuid.uuid4().hex}.yaml"
    path.write_text(words)
    folder = bench.folder / f"bare-{uuid.uuid4().hex}"
    subprocess.run(["git", "clone", "-q", str(bench.folder / "shop"), str(folder)], check=True)
    session = str(uuid.uuid4())
    start = Path(sys.modules["touchline"].__path__[0]) / "rehearsal" / "agent_start.py"
    command = [sys.executable, "-I", "-S", str(start), "--script", str(path), "--folder", str(bench.folder / "agent")]
    found = []
    for more in (
        ["--session-id", session, "-p", "Write notes.py."],
        ["--resume", session, "-p", "[System Coach] Run it."],
    ):
        began = time.perf_counter()
        subprocess.run([*command, *more], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        found.append(time.perf_counter() - began)
    return found


def supervised(bench: Bench, id: str) -> list[float]:
    """Seconds from the beginning of each turn to the moment at which what comes next was decided and written."""
    events = search(bench.database, Wanted(session=id, patterns=("turn.started", "decision.made")), limit=100)
    times = [event.at.timestamp() for event in events]
    return [times[n + 1] - times[n] for n in range(0, len(times), 2)]


def nudge_and_retry(bench: Bench) -> dict[str, int]:
    """A report that lacks a line, once asked for it, and once begun anew because the asking was of no use."""
    asked = {"contract": {"tokens": [{"name": "notes", "type": "path"}], "wants_writes": True}}
    ids = []
    for answer in ("notes = ${workspace}/notes.py\\n${marker}", "I have nothing to add."):
        ids.append(bench.start(bench.ask(forgetful(answer), **asked)))
        bench.wait(120)
    with bench.database.reading() as connection:
        told = [{turn.kind: tokens(turn) for turn in turns_of_session(connection, id)} for id in ids]
    if set(told[0]) != {"first", "nudge"} or set(told[1]) != {"first", "nudge", "retry"}:
        raise RuntimeError(f"nudge and retry did not come about: {told}")
    return {"work": told[0]["first"], "nudge": told[0]["nudge"], "retry": told[1]["retry"]}


def forgetful(answer: str) -> str:
    """Eight requests of work, with a context that grows as a real one does, and a report without its line."""
    calls = [
        "[{read: '${workspace}/prices.py'}]",
        "[{read: '${workspace}/test_prices.py'}]",
        "[{write: '${workspace}/notes.py', content: 'x = 1'}]",
        "[{shell: ls}]",
        "[{shell: git status}]",
        "[{shell: cat notes.py}]",
        "[{shell: python3 -m unittest -q}]",
    ]
    lines = "".join(
        f"      - {{calls: {each}, usage: {{input: 900, cached: {2000 * n + 8000}, output: 150}}}}\n"
        for n, each in enumerate(calls)
    )
    report = "notes.py is written and the tests pass: 3 tests, OK."
    last = "usage: {input: 900, cached: 22000, output: 150}"
    head = "    find: {marker: '(TASK-COMPLETE-[0-9a-f]+)'}\n    turns:\n" + lines
    again = f'      - {{text: "{report}\\nnotes = ${{workspace}}/notes.py\\n${{marker}}", {last}}}\n'
    first = f'      - {{text: "{report}", {last}}}\n'
    nudge = f'      - {{heard: Reply with these lines only, text: "{answer}", {last}}}\n'
    return f"conversations:\n  - when: tried before\n{head}{again}  - name: first\n{head}{first}{nudge}"


def tokens(turn: TurnRecord) -> int:
    return sum(sum(each.values()) for each in turn.usage.values())


def used(whose: int) -> float:
    found = resource.getrusage(whose)
    return found.ru_utime + found.ru_stime


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--turn-seconds", type=float, default=20.0, help="how long the model takes in a turn")
    parser.add_argument("--rounds", type=int, default=2, help="for the turns side by side")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with opened() as bench:
        turn = side_by_side(bench, given.turn_seconds, given.rounds)
        nudge = nudge_and_retry(bench)
        many = crowd(bench, given.sessions, given.turn_seconds)
        level = bench.level
    missed = [
        name
        for name, value, limit in (
            ("share", many["share"], MAX_SHARE),
            ("memory", many["peak_mb"], MAX_MB),
            ("overhead", turn["overhead"], MAX_OVERHEAD),
        )
        if value > limit
    ]
    if given.json:
        print(json.dumps({"sandbox": level, "crowd": many, "turn": turn, "nudge": nudge, "missed": missed}, indent=1))
        return int(bool(missed))
    print(f"{many['sessions']:.0f} sessions at a time, {many['turns']:.0f} turns, {many['wall']:.0f} s")
    print(f"  own processor time   {many['own']:7.1f} s  ({1000 * many['own_per_turn']:.0f} ms a turn)")
    print(f"  agents and tools     {many['children']:7.1f} s")
    print(f"  own share            {many['share']:7.1%}    {against(many['share'], MAX_SHARE)}")
    print(f"  own share of machine {many['share_of_machine']:7.1%}    of all cores over the run's wall time")
    print(f"  peak memory          {many['peak_mb']:7.0f} MB {against(many['peak_mb'], MAX_MB)}")
    print(f"One turn of {given.turn_seconds:.0f} s, median of {turn['turns']:.0f} pairs, side by side, sandbox {level}")
    print(f"  the agent by itself  {turn['bare']:7.2f} s")
    print(f"  under supervision    {turn['supervised']:7.2f} s  {against(turn['overhead'], MAX_OVERHEAD)}")
    print(
        f"  beside the turns     {turn['session_beyond_turns']:7.2f} s  a session: clone, queue, collecting, delivery"
    )
    print("A report that lacks a line, in tokens of the rehearsal")
    print(f"  nudge {nudge['nudge']:,}, full retry {nudge['retry']:,}: {nudge['nudge'] / nudge['retry']:.0%} of it")
    return int(bool(missed))


def against(value: float, limit: float) -> str:
    return f"{value / limit:5.2f} of its limit"


if __name__ == "__main__":
    raise SystemExit(main())
