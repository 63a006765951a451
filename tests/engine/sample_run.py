"""A small run with all that must survive: leases, events, a question and its answer, a child process, a delivery.

`play` drives it in one process until it is done, however often it was begun and killed before.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

import touchline.store.tables as t
from touchline.coordination import leases
from touchline.engine.dbos_engine import parked_id
from touchline.engine.opening import running_engine
from touchline.engine.port import Engine, Flow, State
from touchline.engine.workbook import Workbook
from touchline.processes.children import end_leftovers, run_process
from touchline.store import log_tables as lt
from touchline.store import outbox, statuses
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.events import Ids, NewEvent, read
from touchline.store.migrate import open_database
from touchline.store.place import Place

RUN = "run-1"
HOLDER = "task:one"
QUESTION = "question_one"
MARK = "TOUCHLINE_SAMPLE"
IDS = Ids(task="one")


def place_of(folder: Path) -> Place:
    return Place(url=f"sqlite:///{folder / 'app.db'}", origin="given")


def workbook_of(folder: Path, database: Database) -> Workbook:
    book = Workbook()

    def take(_: str) -> int:
        granted = leases.acquire(database, holder=HOLDER, resources=["file:src/app.py", "file:src/db.py"], seconds=60)
        assert isinstance(granted, leases.Granted)
        return granted.token

    def work() -> int:
        target = folder / "built.txt"
        ended = run_process(
            ["sh", "-c", 'sleep 0.05; echo built > "$1.part"; mv "$1.part" "$1"', "sh", str(target)],
            records=folder / "children",
            env={**os.environ, MARK: str(folder)},
        )
        assert ended.how == "exited"
        return ended.exit_code

    def begin(connection: sa.Connection, code: int) -> None:
        event = NewEvent(type="task.started", payload={"attempt": 1 + code}, source="sample", ids=IDS)
        append(connection, [event])

    def ask(connection: sa.Connection) -> None:
        statuses.create_once(
            connection,
            "questions",
            unique="id",
            id=QUESTION,
            type="blocking",
            role="build",
            subject="merge",
            text="Merge it?",
        )
        payload = {"question": QUESTION, "kind": "blocking", "text": "Merge it?"}
        append(connection, [NewEvent(type="question.asked", payload=payload, source="sample", ids=IDS)])

    def deliver(connection: sa.Connection, answer: Any) -> int:
        outbox.enqueue(connection, key=f"{RUN}/report", channel="test", destination="person", body={"answer": answer})
        statuses.bump(connection, "counters", "delivered", "value")
        made = NewEvent(
            type="decision.made", payload={"action": "deliver", "reason": str(answer)}, source="sample", ids=IDS
        )
        done = NewEvent(type="task.completed", payload={"attempt": 1}, source="sample", ids=IDS)
        return len(append(connection, [made, done]))

    @book.workflow("sample.run", beginnings=10_000)
    def run(flow: Flow, name: str) -> str:
        flow.step("take the lease", take, name)
        code = flow.step("build", work)
        flow.transaction("say so", begin, code)
        # The rest waits before the question is seen, so that no answer comes too early.
        flow.engine.park(QUESTION, then="sample.rest", args=[name], deadline=now() + timedelta(hours=1))
        flow.transaction("ask", ask)
        return "asked"

    @book.workflow("sample.rest", beginnings=10_000)
    def rest(flow: Flow, _name: str) -> str:
        answer = flow.answer()
        flow.transaction("deliver", deliver, answer)
        flow.step("give the lease back", lambda: len(leases.release(database, holder=HOLDER)))
        return f"answered {answer}"

    return book


def answer_like_a_person(database: Database, engine: Engine) -> None:
    """The row decides, the engine is told afterwards; whoever finds the two apart says it again."""
    with database.writing() as connection:
        status = connection.execute(sa.select(t.questions.c.status).where(t.questions.c.id == QUESTION)).scalar()
        if status == "open":
            statuses.move(connection, "questions", QUESTION, "answered")
            connection.execute(
                t.answers.insert().values(
                    id="answer_one", question_id=QUESTION, text="yes", source="user", person="ann", at=now()
                )
            )
            payload = {"question": QUESTION, "answer": "yes", "answer_source": "user"}
            append(connection, [NewEvent(type="question.answered", payload=payload, source="person", ids=IDS)])
            status = "answered"
    if status == "answered":
        job = engine.status(parked_id(QUESTION))
        if job is not None and job.state is State.WAITING:
            engine.answer(QUESTION, "yes")


def play(folder: str, limit: float = 60.0) -> int:
    here = Path(folder)
    end_leftovers(here / "children")
    place = place_of(here)

    def receive(delivery: outbox.Delivery) -> None:
        line = json.dumps({"key": delivery.key, "body": delivery.body, "attempt": delivery.attempt}) + "\n"
        handle = os.open(here / "received.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, line.encode())
        os.close(handle)

    with open_database(place.url, purpose="test") as database:
        book = workbook_of(here, database)
        with running_engine(place, database, book, poll=0.02) as station:
            engine = station.engine
            engine.start("sample.run", [RUN], id=RUN)
            deadline = time.monotonic() + limit
            while time.monotonic() < deadline:
                answer_like_a_person(database, engine)
                outbox.send_due(database, receive, worker=str(os.getpid()), lease_seconds=0.2, max_attempts=10_000)
                with database.reading() as connection:
                    sent = connection.execute(sa.select(lt.outbox.c.status)).scalars().all()
                job = engine.status(parked_id(QUESTION)) if sent == ["sent"] else None
                if job is not None and job.state.ended:
                    (here / "result.txt").write_text(f"{job.state} {engine.result(job.id, 1)}")
                    os._exit(0)
                time.sleep(0.02)
    return 3


def state_of(folder: Path) -> dict[str, Any]:
    """All that is left of a run, without what differs between any two: numbers of tokens, times, pids."""
    with open_database(place_of(folder).url, purpose="test") as database, database.reading() as connection:
        log = read(connection)
        told = [(e.type, e.source, e.payload, e.ids) for e in log if not e.type.startswith("lock.")]
        # A lease that is asked for again by its holder is granted again: these may repeat, nothing else may.
        locks = sorted(
            {(e.type, e.payload["resource"], e.payload["holder"]) for e in log if e.type.startswith("lock.")}
        )
        received = [json.loads(line) for line in (folder / "received.jsonl").read_text().splitlines()]

        def rows(*columns: sa.ColumnElement[Any]) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(sa.select(*columns))]

        counters = dict(rows(lt.counters.c.name, lt.counters.c.value))
        counters.pop("lease_token")
        return {
            "events": told,
            "numbers": [e.seq for e in log] == list(range(1, len(log) + 1)),
            "locks": locks,
            "leases": rows(t.leases.c.resource),
            "waits": rows(t.waits.c.waiter),
            "questions": rows(t.questions.c.id, t.questions.c.status),
            "answers": rows(t.answers.c.text, t.answers.c.source),
            "outbox": rows(lt.outbox.c.key, lt.outbox.c.status),
            "received": sorted({(each["key"], json.dumps(each["body"])) for each in received}),
            "counters": counters,
            "built": (folder / "built.txt").read_text(),
            "result": (folder / "result.txt").read_text(),
            "records": [path.name for path in (folder / "children").glob("*.json")],
        }


def attempts(folder: Path) -> list[int]:
    """Which attempts at the one delivery reached its receiver."""
    received = folder / "received.jsonl"
    return [json.loads(line)["attempt"] for line in received.read_text().splitlines()] if received.exists() else []


def died_over(folder: Path, before: list[int]) -> bool:
    """Did the process that has just died send what it did not come to mark? Its threads die wherever each of them is.

    Read in a copy: whoever opens the database itself would tidy up what the next process has to find as it was left.
    """
    if attempts(folder) == before:
        return False
    with TemporaryDirectory(dir=folder.parent) as copy:
        for name in ("app.db", "app.db-wal"):
            if (folder / name).exists():
                shutil.copy(folder / name, copy)
        with closing(sqlite3.connect(Path(copy, "app.db"))) as connection:
            return connection.execute("SELECT status FROM outbox").fetchall() != [("sent",)]


def alive(folder: Path) -> list[int]:
    """Processes that the run started and that still live."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                continue
    return found


def prepare(folder: str) -> int:
    """Both databases with all tables and queues, and nothing in them."""
    here = Path(folder)
    with open_database(place_of(here).url, purpose="test") as database:
        book = workbook_of(here, database)
        with running_engine(place_of(here), database, book, poll=0.02):
            pass
    return 0
