"""An agent that asks in a block is heard, also where its prose sounds like the end of the work."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.roles.yard import code_turns, opened, plan_turns, task, writes

from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.roles.build.states import State
from touchline.sessions.records import session_record

pytestmark = pytest.mark.timeout(120)


def test_a_question_block_waits_for_a_person_and_the_answer_goes_on(tmp_path: Path) -> None:
    asks = '{text: "The server is implemented and the check passes.\\n\\n```question\\n8080 or 9090\\n```"}'
    with opened(tmp_path) as yard:
        script = plan_turns("T-001") + code_turns("T-001", asks, *writes("port.py"))
        id = yard.start((task("T-001", "port.py"),), script)
        yard.until(lambda: yard.tasks(id)["T-001"].state is State.QUESTION, "the task shows the question")
        with yard.database.reading() as connection:
            (question,) = open_questions(connection)
            told = [session_record(connection, each).asked.task for each in yard.tasks(id)["T-001"].sessions]
        assert (question.text, question.kind, question.build_id) == ("8080 or 9090", "question", id)
        assert all("```question\n" in prompt for prompt in told), "agents are told how to ask"
        answer_question(yard.engine, yard.database, question.id, "8080", person="Ann")
        assert yard.end(id).status == "complete"
