"""Programs for the tests of one SQLite file: its supervisor, of yesterday or today, and one that wants to be it too."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.engine.sample_jobs import note, wait_for_file

from touchline.engine.opening import connect_engine, running_engine
from touchline.engine.port import Flow
from touchline.engine.workbook import Workbook
from touchline.errors import EngineError
from touchline.processes.children import run_process
from touchline.store.migrate import open_database
from touchline.store.place import Place


def book(folder: Path, release: str = "old") -> Workbook:
    made = Workbook()
    log = str(folder / "steps")

    @made.workflow("slow")
    def slow(flow: Flow) -> str:
        flow.step("first", note, log, "first")
        flow.step("long", wait_for_file, log)
        flow.step("last", note, log, "last")
        return "done"

    @made.workflow("changing")
    def changing(flow: Flow) -> str:
        flow.step("first", note, log, "first")
        if release == "new" and flow.changed("check-it"):
            flow.step("check", note, log, "check")
        flow.step("second", note, log, "second")
        flow.step("long", wait_for_file, log)
        flow.step("last", note, log, "last")
        return "done"

    @made.workflow("late")
    def late(flow: Flow) -> float:
        flow.step("late", note, log, "late")
        return flow.step("when", time.time)

    @made.workflow("sleeper")
    def sleeper(flow: Flow) -> float:
        began = flow.step("began", time.time)
        flow.step("note", note, log, "asleep")
        flow.sleep(4)
        return flow.step("woke", time.time) - began

    return made


def supervise(folder: str, start: list[str] | None = None, delay: float | None = None, release: str = "old") -> int:
    """Run the file's work until a file named `stop` appears."""
    here = Path(folder)
    place = Place(url=f"sqlite:///{here / 'app.db'}", origin="given")
    with (
        open_database(place.url, purpose="test") as database,
        running_engine(place, database, book(here, release), poll=0.05) as station,
    ):
        for workflow in start or []:
            station.engine.start(workflow, [], id=workflow, delay=delay)
        (here / "up").write_text(str(os.getpid()))
        until = time.monotonic() + 60
        while not (here / "stop").exists() and time.monotonic() < until:
            time.sleep(0.02)
        os._exit(0)


def intrude(folder: str) -> int:
    """Try to be the supervisor as well; then do what a second process may do."""
    here = Path(folder)
    place = Place(url=f"sqlite:///{here / 'app.db'}", origin="given")
    try:
        with open_database(place.url, purpose="test") as database, running_engine(place, database, book(here)):
            return 1
    except EngineError as error:
        (here / "refused").write_text(str(error))
    client = connect_engine(place, book(here))
    seen = client.status("slow")
    client.start("late", [], id="from-the-intruder")
    client.result("from-the-intruder", 20)
    (here / "seen").write_text(f"{seen.state if seen else None} {seen.attempts if seen else None}")
    return 0


def father(folder: str, command: list[str]) -> int:
    """Run a command to its end, as a step does."""
    here = Path(folder)
    run_process(command, records=here / "children", output=here / "output")
    return 0
