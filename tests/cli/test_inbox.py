"""`touchline inbox`, run as a person runs it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.command import environment, made, said, touchline
from tests.questions.waiting import NEW

from touchline.questions.asking import ask_person, open_questions
from touchline.store.database import Database

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[tuple[str, Database]]:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    with made(url) as database:
        yield url, database


def asked(database: Database, **changed: object) -> str:
    with database.writing() as connection:
        return ask_person(connection, replace(NEW, **changed))  # type: ignore[arg-type]


def test_list_show_and_answer(inbox: tuple[str, Database]) -> None:
    url, database = inbox
    nothing = touchline("inbox", "list", "--database", url)
    assert (nothing.returncode, nothing.stdout, nothing.stderr.strip()) == (0, "", "Nothing waits for you.")
    first, free = asked(database), asked(database, subject="x", options=(), free_text=True, blocking=False)
    listed = touchline("inbox", "list", "--database", url).stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [[first, "blocks"], [free, "open"]]
    shown = touchline("inbox", "show", first[:-5], "--database", url).stdout
    for words in ("T-001 failed twice", "no such table", "1. skip T-002 is skipped, too.", "2. retry (recommended)"):
        assert words in " ".join(shown.split())
    done = said("inbox", "answer", first, "--option", "2", "--database", url)
    assert (done["answer"], done["status"], done["first"]) == ("retry", "answered", True)
    late = touchline("inbox", "answer", first, "skip", "--database", url)
    assert late.returncode == 1
    assert "had answered before: retry" in late.stderr
    assert said("inbox", "answer", free, "as you like", "--database", url)["answer"] == "as you like"
    assert said("inbox", "list", "--database", url)["questions"] == []
    assert len(said("inbox", "list", "--all", "--database", url)["questions"]) == 2


def test_what_does_not_fit_is_refused(inbox: tuple[str, Database]) -> None:
    url, database = inbox
    asked(database)
    for arguments, says in (
        (("question_none", "x"), "There is no question"),
        ((NEW.key, "maybe"), "none of the options"),
        ((NEW.key,), "The answer is empty"),
    ):
        done = touchline("inbox", "answer", *arguments, "--database", url)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    with database.reading() as connection:
        assert len(open_questions(connection)) == 1


def test_on_a_terminal_the_question_is_shown_and_a_number_chooses(inbox: tuple[str, Database]) -> None:
    url, database = inbox
    id = asked(database)
    main, side = pty.openpty()
    command = [sys.executable, "-m", "touchline", "inbox", "answer", id, "--database", url]
    process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment(TERM="dumb", CI=""))
    os.close(side)
    seen, end = b"", time.monotonic() + 60
    while b"Your answer" not in seen and time.monotonic() < end:
        seen += os.read(main, 4096)
    os.write(main, b"1\n")
    assert process.wait(60) == 0
    os.close(main)
    assert b"no such table" in seen
    assert b"recommended" in seen
    assert said("inbox", "show", id, "--database", url)["answer"] == "skip"


def test_a_ci_that_lends_a_terminal_is_not_asked(inbox: tuple[str, Database]) -> None:
    url, database = inbox
    id = asked(database)
    main, side = pty.openpty()
    command = [sys.executable, "-m", "touchline", "inbox", "answer", id, "--database", url]
    process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment(TERM="dumb", CI="true"))
    os.close(side)
    assert process.wait(60) == 2, "it does not wait for words that nobody types"
    assert b"The answer is empty" in os.read(main, 4096)
    os.close(main)
