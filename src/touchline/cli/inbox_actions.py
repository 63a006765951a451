"""How are questions shown, and answers given, in a terminal?"""

from __future__ import annotations

from typing import Any

import typer

from touchline.audit.visible import one_line, visible
from touchline.cli.asking import may_ask
from touchline.cli.exits import Exit
from touchline.cli.person import person
from touchline.cli.place import command, opened
from touchline.cli.run_post import supervised
from touchline.cli.sheet import print_facts, print_json
from touchline.cli.terminal import say
from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions, question_record
from touchline.questions.question import QuestionRecord
from touchline.roles.build.escalating import TRIGGER, WAIT, option_of
from touchline.store.columns import written
from touchline.store.life import edges
from touchline.store.place import Place


def print_list(place: Place, *, every: bool, as_json: bool) -> None:
    with opened(place) as database, database.reading() as connection:
        found = open_questions(connection, statuses=tuple(edges("questions")) if every else ("open",))
    if as_json:
        print_json("touchline.inbox/1", {"questions": [as_dict(each) for each in found]})
        return
    for each in found:
        waits = "blocks" if each.blocking and each.status == "open" else each.status
        print(f"{each.id}  {waits}  {one_line(each.text, 100)}")
    if not found:
        say("Nothing waits for you.")


def print_one(place: Place, id: str, *, as_json: bool) -> None:
    with opened(place) as database, database.reading() as connection:
        question = question_record(connection, id)
    if as_json:
        print_json("touchline.question/1", as_dict(question))
        return
    _show(question)


def give_answer(place: Place, id: str, text: str, *, option: int | None, as_json: bool) -> None:
    from touchline.engine.opening import connect_engine

    with opened(place) as database:
        with database.reading() as connection:
            question = question_record(connection, id)
        asked = not text.strip() and option is None and question.status == "open"
        if asked and not as_json and may_ask():
            text, option = _ask(question)
        engine = connect_engine(place)
        try:
            done = answer_question(engine, database, question.id, text, person=person(), option=option)
        finally:
            engine.close()
    if as_json:
        print_json("touchline.question/1", {**as_dict(done.question), "first": done.first})
    elif done.first:
        say(f"Answered: {done.question.answer}")
        if step := _next_step(place, done.question):
            say(step)
    else:
        say(f"{done.question.answered_by or 'Somebody'} had answered before: {done.question.answer}")
    raise typer.Exit(Exit.DONE if done.first else Exit.FOUND)


def _next_step(place: Place, question: QuestionRecord) -> str:
    """What lets the build that asked go on, where no process of this SQLite file does; of PostgreSQL nobody can say."""
    if place.path is None or question.build_id is None or supervised(place):
        return ""
    if question.trigger == TRIGGER and option_of(question.answer or "") == WAIT:
        return f"It stays as it is until: {command(f'build resume {question.build_id}')}"
    return f"Nothing runs the build now; go on with: {command(f'build follow {question.build_id}')}"


def _ask(question: QuestionRecord) -> tuple[str, int | None]:
    """Show the question and take the answer; a bare number chooses an option."""
    _show(question)
    default = question.default if question.default is not None else ""
    words = typer.prompt("Your answer", default=default, show_default=bool(default), err=True).strip()
    if words.isdecimal() and 1 <= int(words) <= len(question.options):
        return "", int(words)
    return words, None


def _show(question: QuestionRecord) -> None:
    facts = {
        "question": f"{question.id} ({question.kind})",
        "asks": question.text,
        "why": question.context if question.context != question.text else "",
        "options": "\n".join(
            f"{n}. {each.label}"
            + (" (recommended)" if each.recommended else "")
            + (f": {each.description}" if each.description else "")
            + (f" {each.implications}" if each.implications else "")
            for n, each in enumerate(question.options, start=1)
        ),
        "default": question.default or "",
        "about": question.subject,
        "waits": " ".join(filter(None, (question.session_id, question.task_id, question.build_id)))
        if question.blocking
        else "",
        "status": question.status,
        "answer": question.answer or "",
        "answered by": question.answered_by or "",
    }
    print_facts({name: visible(value) for name, value in facts.items()})


def as_dict(question: QuestionRecord) -> dict[str, Any]:
    """A question as `--json` prints it."""
    return {
        "id": question.id,
        "kind": question.kind,
        "role": question.role,
        "agent": question.agent,
        "trigger": question.trigger,
        "subject": question.subject,
        "text": question.text,
        "context": question.context,
        "options": [each.to_json() for each in question.options],
        "default": question.default,
        "free_text": question.free_text,
        "blocking": question.blocking,
        "irreversible": question.irreversible,
        "status": question.status,
        "session": question.session_id,
        "task": question.task_id,
        "build": question.build_id,
        "asked_at": written(question.created_at),
        "answer": question.answer,
        "answer_source": question.answer_source,
        "answered_by": question.answered_by,
        "answered_at": None if question.answered_at is None else written(question.answered_at),
    }
