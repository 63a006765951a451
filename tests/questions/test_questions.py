"""A question outlives everybody: asked once, answered by whoever is first, and its asker goes on once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.engine.zygote import Zygote
from tests.questions.waiting import NEW

from touchline.engine.opening import connect_engine
from touchline.errors import QuestionError
from touchline.questions.answering import Answered, answer_question, checked_answer
from touchline.questions.asking import ask_person, open_questions, question_record, withdraw
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.log_tables import counters
from touchline.store.migrate import open_database
from touchline.store.place import Place

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    log = tmp_path_factory.mktemp("zygote") / "log"
    with Zygote(log) as made:
        yield made
    print(log.read_text()[-4000:])


def asked(database: Database, **changed: object) -> str:
    with database.writing() as connection:
        return ask_person(connection, replace(NEW, **changed))  # type: ignore[arg-type]


def told(database: Database, type: str) -> list[dict[str, object]]:
    with database.reading() as connection:
        return [dict(event.payload) for event in read(connection, limit=1000) if event.type == type]


class TestAsking:
    def test_the_same_question_is_one_question(self, database: Database) -> None:
        first = asked(database)
        assert asked(database, text="other words") == first
        assert asked(database, subject="T-002") != first
        assert len(told(database, "question.asked")) == 2
        with database.reading() as connection:
            record = question_record(connection, first)
            assert record.text == NEW.text
            assert [option.label for option in record.options] == ["skip", "retry"]
            assert (record.build_id, record.free_text, record.blocking) == ("build_1", False, True)
            assert question_record(connection, first[:-4]).id == first

    def test_what_blocks_comes_first_and_what_is_withdrawn_is_gone(self, database: Database) -> None:
        free = asked(database, subject="a", blocking=False)
        blocks = asked(database, subject="b")
        with database.writing() as connection:
            assert [each.id for each in open_questions(connection)] == [blocks, free]
            assert withdraw(connection, blocks)
            assert not withdraw(connection, blocks)
            assert [each.id for each in open_questions(connection)] == [free]

    @pytest.mark.parametrize(
        ("changed", "says"),
        [
            ({"text": " "}, "has no words"),
            ({"options": ()}, "cannot be answered"),
            ({"default": "skip", "irreversible": True}, "cannot be undone"),
        ],
    )
    def test_what_nobody_could_answer_is_not_asked(
        self, database: Database, changed: dict[str, object], says: str
    ) -> None:
        with pytest.raises(QuestionError, match=says):
            asked(database, **changed)


class TestAnswering:
    def test_options_and_words(self, database: Database) -> None:
        with database.reading() as connection, pytest.raises(QuestionError, match="no question"):
            question_record(connection, "question_none")
        id = asked(database)
        with database.reading() as connection:
            question = question_record(connection, id)
        assert checked_answer(question, "", 2) == "retry"
        assert checked_answer(question, " skip ") == "skip"
        for text, option, says in (
            ("maybe", None, "none of the options"),
            ("", 3, "no option 3"),
            ("skip", 1, "either"),
            ("", None, "is empty"),
        ):
            with pytest.raises(QuestionError, match=says) as caught:
                checked_answer(question, text, option)
            assert "1: skip" in caught.value.hint
        assert checked_answer(replace(question, free_text=True), "maybe") == "maybe"

    def test_of_many_at_once_one_is_first(self, database_url: str) -> None:
        with open_database(database_url, purpose="test") as database:
            id = asked(database)
            engine = connect_engine(Place(url=database_url, origin="given"))

            def one(number: int) -> Answered:
                text = ("skip", "retry")[number % 2]
                return answer_question(engine, database, id, text, person=f"person {number}")

            with ThreadPoolExecutor(6) as pool:
                found = list(pool.map(one, range(6)))
            engine.close()
            assert sum(each.first for each in found) == 1
            winner = next(each for each in found if each.first).question
            assert {(each.question.answer, each.question.answered_by) for each in found} == {
                (winner.answer, winner.answered_by)
            }
            assert len(told(database, "question.answered")) == 1

    def test_a_withdrawn_question_takes_no_answer(self, database_url: str) -> None:
        with open_database(database_url, purpose="test") as database:
            id = asked(database)
            with database.writing() as connection:
                withdraw(connection, id)
            engine = connect_engine(Place(url=database_url, origin="given"))
            with pytest.raises(QuestionError, match="withdrawn"):
                answer_question(engine, database, id, "skip", person="ann")
            engine.close()


def until(database: Database, happened: str, seconds: float = 60.0) -> int:
    """Wait for a counter."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with database.reading() as connection:
            value = connection.execute(sa.select(counters.c.value).where(counters.c.name == happened)).scalar()
        if value:
            return int(value)
        time.sleep(0.02)
    raise AssertionError(f"it never came: {happened}")


def is_open(database: Database, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with database.reading() as connection:
            if open_questions(connection):
                return
        time.sleep(0.02)
    raise AssertionError("nothing was asked")


def test_the_asker_is_killed_the_answer_comes_from_elsewhere_and_the_work_goes_on_once(
    zygote: Zygote, database_url: str, tmp_path: Path
) -> None:
    place, done = "tests.questions.waiting", tmp_path / "done"
    with open_database(database_url, purpose="test") as database:
        pid = zygote.spawn(f"{place}.work", url=database_url, until=str(done))
        is_open(database)
        os.kill(pid, signal.SIGKILL)
        assert zygote.wait(pid) == -9
        # Nobody runs anything now; the answer is given, and its giver dies before the engine knows of it.
        fault = "inbox.recorded"
        assert zygote.run(f"{place}.answer", url=database_url, text="skip", person="ann", fault=fault) == -9
        assert zygote.run(f"{place}.answer", url=database_url, text="retry", person="eve") == 1, "ann was first"
        pid = zygote.spawn(f"{place}.work", url=database_url, until=str(done))
        assert until(database, "went on with skip") == 1
        done.touch()
        assert zygote.wait(pid) == 0
        assert len(told(database, "question.asked")) == len(told(database, "question.answered")) == 1


def test_an_answer_that_wakes_nobody_wakes_at_the_next_start(zygote: Zygote, database_url: str, tmp_path: Path) -> None:
    place, done = "tests.questions.waiting", tmp_path / "done"
    with open_database(database_url, purpose="test") as database:
        pid = zygote.spawn(f"{place}.work", url=database_url, until=str(done))
        is_open(database)
        done.touch()
        assert zygote.wait(pid) == 0
        done.unlink()
        fault = "inbox.recorded"
        assert zygote.run(f"{place}.answer", url=database_url, text="retry", person="ann", fault=fault) == -9
        pid = zygote.spawn(f"{place}.work", url=database_url, until=str(done))
        assert until(database, "went on with retry") == 1
        done.touch()
        assert zygote.wait(pid) == 0
