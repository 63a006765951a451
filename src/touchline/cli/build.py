"""`touchline build`: builds an approved specification by agents under supervision, and a person's words to a build."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of

build = typer.Typer(
    help="Builds: start, status, follow, pause, resume, stop.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Without an id the newest build is meant. An id may be shortened to its beginning.",
)

BuildArgument = Annotated[str, typer.Argument(metavar="[BUILD]", help="Its id, or the beginning of it.")]
EventsOption = Annotated[bool, typer.Option("--json", help="Events as JSON lines, and the build as the last one.")]
NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="Hand it to the process that runs this database, and return.")
]
ParallelOption = Annotated[int | None, typer.Option("--parallel", metavar="N", help="Tasks at a time.")]
UsdOption = Annotated[
    float | None, typer.Option("--budget-usd", metavar="USD", help="Most money for the whole build, reviews included.")
]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Most tokens, likewise.")]
JudgeOption = Annotated[
    str,
    typer.Option("--judge", metavar="LINE", help="The model that reviews, such as cli:claude or anthropic:NAME."),
]
InstallOption = Annotated[
    bool, typer.Option("--may-install", help="A package that a check lacks may be installed in the task's clone.")
]
SecondsOption = Annotated[
    float | None, typer.Option("--max-seconds", metavar="S", help="Longest time; default two hours.")
]


@build.command("start")
def start(
    spec: Annotated[
        str, typer.Argument(metavar="[SPEC]", help="The specification's id or folder. Default: the newest.")
    ] = "",
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="Which agent. Default: the first CLI that is installed.")
    ] = "",
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The agents' model. Default: the agent's own choice.")
    ] = "",
    judge: JudgeOption = "",
    parallel: ParallelOption = None,
    no_plan: Annotated[bool, typer.Option("--no-plan", help="Let agents build at once, without a plan.")] = False,
    level: Annotated[
        str, typer.Option("--level", metavar="LEVEL", help="How thoroughly the whole is validated at the end.")
    ] = "",
    budget_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_seconds: SecondsOption = None,
    may_install: InstallOption = False,
    sandbox: Annotated[
        str, typer.Option("--sandbox", metavar="LEVEL", help="bubblewrap, own or none. Default: the best there is.")
    ] = "",
    script: Annotated[
        Path | None, typer.Option("--script", metavar="FILE", help="For the scripted agent: what the model says.")
    ] = None,
    repository: Annotated[
        Path, typer.Option("--repository", metavar="DIR", help="The git repository. Default: the present folder.")
    ] = Path(),
    finished: Annotated[
        str,
        typer.Option(
            "--finished",
            metavar="WHAT",
            help="Tasks whose work only an earlier build has: anew does them again, there takes them as done.",
        ),
    ] = "",
    as_json: EventsOption = False,
    no_wait: NoWaitOption = False,
    database: DatabaseOption = "",
) -> None:
    """Build an approved specification: each task planned, coded, checked, reviewed and committed, two at a time.

    Agents work in clones, in a sandbox. Your files stay as they are; `touchline apply` brings the result into your
    branch. Ctrl-C once pauses (what runs comes to its end), twice stops at once; `touchline build resume` goes on.

    \b
    Examples:
      touchline build start
      touchline build start --agent claude --parallel 3 --budget-usd 20

    \b
    Exit codes:
      0  complete (or started, with --no-wait)
      1  failed, stopped or paused; the reason is said
      2  wrong input, or nothing could be started
      5  nothing goes on until a person has answered (touchline inbox list)
      130, 143  paused or stopped by Ctrl-C, by SIGTERM
    """
    from touchline.cli.build_run import start_here
    from touchline.cli.build_settings import Given, settings_of
    from touchline.roles.build.earlier import Finished

    given = Given(
        agent=agent,
        model=model,
        judge=judge,
        parallel=parallel,
        plan=False if no_plan else None,
        validation=level,
        usd=budget_usd,
        tokens=max_tokens,
        max_seconds=max_seconds,
        may_install=may_install or None,
        sandbox=sandbox,
        script=script,
    )
    place = place_of(database)
    root, settings = settings_of(given, repository)
    raise typer.Exit(
        start_here(place, spec, root, settings, finished=cast(Finished, finished), as_json=as_json, wait=not no_wait)
    )


@build.command("status")
def status(build: BuildArgument = "", as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """How a build stands: its tasks, what each waits for, what it cost, what waits for you, and where the result is."""
    from touchline.cli.build_output import print_status

    print_status(place_of(database), build, as_json=as_json)


@build.command("follow")
def follow(build: BuildArgument = "", as_json: EventsOption = False, database: DatabaseOption = "") -> None:
    """Watch a build until it ends. Runs it when nothing else does.

    Ctrl-C pauses the build when it runs here, and only leaves it when it runs elsewhere. Exit codes as of `start`.
    """
    from touchline.cli.build_run import follow_here

    raise typer.Exit(follow_here(place_of(database), build, as_json=as_json))


@build.command("pause")
def pause(build: BuildArgument = "", as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """Start no further task; those that run come to their end. `touchline build resume` goes on."""
    from touchline.cli.build_run import tell

    raise typer.Exit(tell(place_of(database), build, "pause", as_json=as_json))


@build.command("stop")
def stop(build: BuildArgument = "", as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """Stop a build and its agents, within seconds. What they did is kept; `touchline build resume` goes on.

    \b
    Exit codes:
      0  it has stopped, or had ended before
      1  it has not stopped within 90 s
    """
    from touchline.cli.build_run import tell

    raise typer.Exit(tell(place_of(database), build, "stop", as_json=as_json))


@build.command("resume")
def resume(
    build: BuildArgument = "",
    only_open: Annotated[
        bool, typer.Option("--only-open", help="Leave tasks alone that failed, were blocked or left out.")
    ] = False,
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="Another agent, for the sessions that begin from now on.")
    ] = "",
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="Another model for the agents, likewise.")] = "",
    judge: JudgeOption = "",
    may_install: InstallOption = False,
    parallel: ParallelOption = None,
    budget_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_seconds: SecondsOption = None,
    as_json: EventsOption = False,
    no_wait: NoWaitOption = False,
    database: DatabaseOption = "",
) -> None:
    """Go on with a build that was paused, stopped or failed. What is finished is not done again.

    Tasks that failed, were blocked or left out get a fresh start. What is given here holds from now on; all else stays
    as it was at the start. A session that was interrupted goes on with its agent, its model and its judge of questions.
    Exit codes as of `start`.
    """
    from touchline.cli.build_run import resume_here
    from touchline.cli.build_settings import Given

    given = Given(
        agent=agent,
        model=model,
        judge=judge,
        may_install=may_install or None,
        parallel=parallel,
        usd=budget_usd,
        tokens=max_tokens,
        max_seconds=max_seconds,
    )
    place = place_of(database)
    raise typer.Exit(resume_here(place, build, given, retry=not only_open, as_json=as_json, wait=not no_wait))
