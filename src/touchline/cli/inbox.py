"""`touchline inbox`: what waits for a person, and his answers."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of

inbox = typer.Typer(
    help="Questions for you: list, show, answer.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Start with: touchline inbox list",
)

QuestionArgument = Annotated[str, typer.Argument(metavar="ID", help="The question's id, or enough of it.")]


@inbox.command("list")
def list_them(
    every: Annotated[bool, typer.Option("--all", help="Also those that were answered or withdrawn.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """What waits for an answer: first what blocks an agent, then the oldest.

    \b
    Exit codes:
      0  said, also when nothing waits
      2  the database cannot be used
    """
    from touchline.cli.inbox_actions import print_list

    print_list(place_of(database), every=every, as_json=as_json)


@inbox.command("show")
def show(question: QuestionArgument, as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """One question: what is asked, why, what is offered, and who waits for it."""
    from touchline.cli.inbox_actions import print_one

    print_one(place_of(database), question, as_json=as_json)


@inbox.command("answer")
def answer(
    question: QuestionArgument,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="The answer; asked for on a terminal.")] = "",
    option: Annotated[
        int | None, typer.Option("--option", metavar="N", help="Take the option with this number.")
    ] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """Answer a question. Whoever waits for it goes on, on whichever machine it runs.

    \b
    Examples:
      touchline inbox answer question_4f9e "use decimal"
      touchline inbox answer question_4f9e --option 2

    \b
    Exit codes:
      0  answered
      1  somebody had answered before; his answer counts, and is shown
      2  no such question, or the answer does not fit it
    """
    from touchline.cli.inbox_actions import give_answer

    give_answer(place_of(database), question, text, option=option, as_json=as_json)
