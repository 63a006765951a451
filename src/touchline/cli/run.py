"""`touchline run`: gives an agent a task, supervises it to its end, and shows what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, place_of

_LIMIT = "Most {} to be spent on it."


def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What the agent is to do, in your words.")],
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="Which agent. Default: the first CLI that is installed.")
    ] = "",
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Which model. Default: the agent's own choice.")
    ] = "",
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="CMD", help="Touchline runs it itself whenever the agent says it is done."),
    ] = None,
    skill: Annotated[
        str, typer.Option("--skill", metavar="NAME", help="One of the agent's own skills, called with the task.")
    ] = "",
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="The plan; its success criteria are asked for.")
    ] = None,
    phase: Annotated[
        str, typer.Option("--phase", metavar="NAME", help="What counts as evidence: the phase of the work.")
    ] = "",
    contract: Annotated[
        Path | None,
        typer.Option("--contract", metavar="FILE", help="JSON: what the agent's last message must hold."),
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", metavar="USD", help=_LIMIT.format("money"))
    ] = None,
    max_turns: Annotated[int | None, typer.Option("--max-turns", metavar="N", help=_LIMIT.format("turns"))] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", metavar="N", help=_LIMIT.format("tokens"))] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help=_LIMIT.format("working time"))
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The agent may look, and change nothing.")] = False,
    sandbox: Annotated[
        str,
        typer.Option(
            "--sandbox", metavar="LEVEL", help="bubblewrap, own or none. Default: the best there is, never none."
        ),
    ] = "",
    folder: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="DIR", help="One more folder that the agent may read. May be repeated."),
    ] = None,
    script: Annotated[
        Path | None, typer.Option("--script", metavar="FILE", help="For the scripted agent: what the model says.")
    ] = None,
    repository: Annotated[
        Path, typer.Option("--repository", metavar="DIR", help="The git repository. Default: the present folder.")
    ] = Path(),
    database: DatabaseOption = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Events as JSON lines, and the result as the last one (touchline.run/1).")
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Hand it to the process that runs this database, and return.")
    ] = False,
) -> None:
    """Give an agent a task and supervise it: claims are checked, loops broken, evidence asked for.

    The agent works in a clone of your repository, in a sandbox; your files stay as they are. What it did comes into
    your branch with `touchline apply`. Ctrl-C once stops it kindly, twice at once; both times it can go on later.

    \b
    Examples:
      touchline run "Fix the failing test in tests/test_sum.py" --check "pytest -q"
      touchline run "Plan the move to Python 3.13" --read-only --budget-usd 2
      touchline run "Add a --verbose option" --agent codex --max-turns 5 --json

    \b
    Exit codes:
      0  accepted: done, and nothing that was claimed lacks its proof (or started, with --no-wait)
      1  not accepted: unresolved, failed, or stopped from elsewhere
      2  wrong input, or nothing could be started
      5  the agent has a question; the session waits for your answer
      130, 143  stopped by Ctrl-C, by SIGTERM
    """
    from touchline.cli.run_asked import Given, asked_of
    from touchline.cli.run_session import hand_over, run_here

    asked = asked_of(
        Given(
            task=task,
            agent=agent,
            model=model,
            check=check,
            skill=skill,
            plan=plan,
            phase=phase,
            contract=contract,
            budget_usd=budget_usd,
            max_turns=max_turns,
            max_tokens=max_tokens,
            max_seconds=max_seconds,
            read_only=read_only,
            sandbox=sandbox,
            folders=tuple(folder or ()),
            script=script,
            repository=repository,
        )
    )
    place = place_of(database)
    raise typer.Exit(hand_over(place, asked, as_json=as_json) if no_wait else run_here(place, asked, as_json=as_json))
