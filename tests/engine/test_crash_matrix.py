"""A run that is killed with SIGKILL anywhere, any number of times, ends like one that was never killed.

At every named fault point, and at random times. TOUCHLINE_KILLS says how many kills in all (`make soak`: 2,000).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from tests.engine import sample_run
from tests.engine.zygote import Zygote

from touchline.store.fault_points import FAULT_POINTS, VARIABLE, parsed

KILLS = int(os.environ.get("TOUCHLINE_KILLS", "210"))
SEED = int(os.environ.get("TOUCHLINE_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
ZYGOTES = 3
PLAY = "tests.engine.sample_run.play"
ELSEWHERE = {"takeover.claimed", "takeover.recovered", "inbox.recorded"}
"""Only workers on PostgreSQL come by the first two: `test_workers` kills there. `tests/questions` has the third."""
ROOMS = ("apply.", "build.", "session.")
"""Those that have a kill matrix of their own, beside their other tests."""
HERE = [name for name in FAULT_POINTS if name not in ELSEWHERE and not name.startswith(ROOMS)]
BETWEEN = ("outbox.sent", "outbox.marked")
MAX_IN_A_ROW = 12


@dataclass
class Tally:
    """What was killed, over all runs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    kills: int = 0
    at: Counter[str] = field(default_factory=Counter)

    def killed(self, where: str) -> None:
        with self.lock:
            self.kills += 1
            self.at[where] += 1


@pytest.fixture(scope="module")
def zygotes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleQueue[Zygote]]:
    log = tmp_path_factory.mktemp("zygotes") / "log"
    made = [Zygote(log) for _ in range(ZYGOTES)]
    idle: SimpleQueue[Zygote] = SimpleQueue()
    for each in made:
        idle.put(each)
    yield idle
    for each in made:
        each.__exit__()
    print(log.read_text()[-4000:])


@pytest.fixture(scope="module")
def template(zygotes: SimpleQueue[Zygote], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "empty"
    zygote = zygotes.get()
    assert zygote.run("tests.engine.sample_run.prepare", folder=str(folder)) == 0
    zygotes.put(zygote)
    return folder


@pytest.fixture(scope="module")
def never_killed(zygotes: SimpleQueue[Zygote], template: Path) -> dict[str, Any]:
    folder = template.with_name("never-killed")
    shutil.copytree(template, folder)
    zygote = zygotes.get()
    assert zygote.run(PLAY, folder=str(folder)) == 0
    zygotes.put(zygote)
    state = sample_run.state_of(folder)
    assert state["counters"] == {"delivered": 1}
    assert len(state["events"]) == 5
    assert sample_run.attempts(folder) == [1]
    return state


def check_end(zygote: Zygote, folder: Path, expected: dict[str, Any], deaths: int) -> None:
    """Let it go on without a kill, and compare all that is left of it."""
    assert zygote.run(PLAY, folder=str(folder)) == 0, "the run does not come to its end"
    assert sample_run.state_of(folder) == expected
    # Once, and once more for each time that a sender died between sending and marking: no database can promise more.
    sent = sample_run.attempts(folder)
    assert len(sent) == len(set(sent)) == 1 + deaths, f"sent {sent}, and {deaths} senders died over it"
    assert gone(folder), f"processes that outlived their run: {sample_run.alive(folder)}"


def gone(folder: Path) -> bool:
    until = time.monotonic() + 5
    while sample_run.alive(folder):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def at_point(tally: Tally, point: str, zygote: Zygote, folder: Path) -> int:
    """Twice the first time it comes by, once the second time: what went well once must go well again.

    Returns how many of the kills came between a sending and its mark.
    """
    deaths = 0
    for spec in (point, point, f"{point}:2"):
        before = sample_run.attempts(folder)
        code = zygote.run(PLAY, folder=str(folder), fault=spec)
        assert code in (-9, 0)
        if code == 0:
            break  # not passed any more: what it stands for was done before the last kill
        deaths += killed(tally, point, folder, before)
    return deaths


def at_random(tally: Tally, chance: random.Random, zygote: Zygote, folder: Path) -> int:
    deaths = 0
    for _ in range(chance.randint(MAX_IN_A_ROW // 2, MAX_IN_A_ROW)):
        before = sample_run.attempts(folder)
        code = zygote.run(PLAY, folder=str(folder), kill_after=chance.uniform(0.0, 0.7))
        assert code in (-9, 0)
        if code == 0:
            break
        deaths += killed(tally, "random", folder, before)
    return deaths


def killed(tally: Tally, where: str, folder: Path, before: list[int]) -> bool:
    """Note a kill. True when it came between a sending and its mark, wherever it was aimed at."""
    tally.killed(where)
    assert gone(folder), "a child outlived the process that was killed"
    over = sample_run.died_over(folder, before)
    assert over or where not in BETWEEN, f"a kill at {where} did not come between sending and marking"
    return over


@pytest.mark.timeout(240 if KILLS < 500 else 7200)
def test_killed_anywhere_it_ends_as_if_never_killed(
    zygotes: SimpleQueue[Zygote], template: Path, never_killed: dict[str, Any], tmp_path: Path
) -> None:
    print(f"TOUCHLINE_SEED={SEED}")
    tally = Tally()
    numbers = iter(range(10**6))

    def one(kill: Callable[[Zygote, Path], int]) -> None:
        folder = tmp_path / f"{next(numbers):04}"
        shutil.copytree(template, folder)
        zygote = zygotes.get()
        try:
            check_end(zygote, folder, never_killed, kill(zygote, folder))
        finally:
            zygotes.put(zygote)
        shutil.rmtree(folder)

    began = time.monotonic()
    with ThreadPoolExecutor(ZYGOTES) as pool:
        points = [pool.submit(one, partial(at_point, tally, name)) for name in HERE]
        for each in points:
            each.result()
        rounds = 0
        while tally.kills < KILLS:
            chances = [random.Random(SEED + rounds * ZYGOTES + n) for n in range(ZYGOTES)]
            for each in [pool.submit(one, partial(at_random, tally, chance)) for chance in chances]:
                each.result()
            rounds += 1
    assert set(HERE) <= set(tally.at), f"never reached: {set(HERE) - set(tally.at)}"
    print(f"{tally.kills} kills in {time.monotonic() - began:.0f} s: {dict(tally.at)}")


def test_the_environment_arms_a_point_for_its_nth_passing() -> None:
    code = "from touchline.store.fault_points import fault_point as p\nfor n in range(5): p('outbox.sent'); print(n)"
    done = subprocess.run(
        [sys.executable, "-u", "-c", code], env={**os.environ, VARIABLE: "outbox.sent:3"}, capture_output=True
    )
    assert (done.returncode, done.stdout.split()) == (-9, [b"0", b"1"])


def test_a_point_nobody_knows_cannot_be_armed_nor_passed_when_armed() -> None:
    code = "from touchline.store.fault_points import fault_point; fault_point('no.such.place')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, VARIABLE: "outbox.sent"}, capture_output=True
    )
    assert b"not listed" in done.stderr
    assert parsed("outbox.sent:3") == ("outbox.sent", 3)
    with pytest.raises(ValueError, match=r"outbox\.snet"):
        parsed("outbox.snet")
