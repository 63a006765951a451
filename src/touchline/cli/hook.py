"""`touchline hook`: puts the coach into an interactive agent's own hooks, takes it out, and says how it stands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.cli.exits import Exit
from touchline.cli.place import JsonOption

if TYPE_CHECKING:
    from touchline.hooks.agents_known import Level
    from touchline.hooks.install import Change, Standing

hook = typer.Typer(
    help="The coach in interactive sessions, through the agent's own hooks: install, uninstall, status.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _agents(begun: str) -> list[str]:
    """Agents whose name begins so, for a shell that completes."""
    from touchline.hooks.agents_known import HOMES

    return [name for name in HOMES if name.startswith(begun)]


Agent = Annotated[
    str, typer.Argument(metavar="AGENT", help="claude, codex, gemini or opencode.", autocompletion=_agents)
]
UserOption = Annotated[bool, typer.Option("--user", help="In your own settings, for every project.")]
LocalOption = Annotated[
    bool, typer.Option("--local", help="In the project's settings that are not shared (claude: settings.local.json).")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Show the change and leave.")]


@hook.command()
def install(
    agent: Agent,
    user: UserOption = False,
    local: LocalOption = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
) -> None:
    """Put Touchline's hooks into an agent's settings: those of this folder's project, or your own with --user.

    Shows the change and asks first. Adds its own lines and keeps every other byte; `uninstall` takes exactly them
    out again.

    \b
    Exit codes:
      0  installed, or nothing to do
      1  you said no
      2  the settings cannot be used; the message says why, and nothing was changed
    """
    from touchline.hooks.install import home_of, plan_install
    from touchline.hooks.switches import switched_off

    level, home = _level(user, local), home_of(agent)
    change = plan_install(agent, level, folder=_project(), env=os.environ)
    mine = "--local or --user keep it" if home.local else "--user keeps it"
    notes = []
    if level == "project":
        notes += [
            f"Others get this file with the repository, and it names a place on this machine; {mine} to yourself."
        ]
    if level != "user" and not home.below:
        notes += [f"{home.title} reads it only when it is started in {_project()}, not in a folder below; --user holds"]
        notes[-1] += " everywhere."
    notes += _elsewhere(agent, level)
    done = f"Installed. It holds from the next start of {home.title} on. How it stands: touchline hook status"
    nothing = "Nothing to do: the hooks are there."
    if off := switched_off(agent, folder=_project(), env=os.environ):
        done = f"Installed, but {home.title} will not run it: {off.detail}. {off.fix}"
        nothing = f"The hooks are there, but {home.title} does not run them: {off.detail}. {off.fix}"
    _apply(
        change,
        yes=yes,
        dry_run=dry_run,
        note="\n".join(notes),
        done=done,
        nothing=nothing,
    )
    if home.advice:
        typer.echo(home.advice, err=True)


@hook.command()
def uninstall(
    agent: Agent,
    user: UserOption = False,
    local: LocalOption = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
) -> None:
    """Take Touchline's hooks out of an agent's settings again, and nothing else.

    \b
    Exit codes:
      0  taken out, or nothing to do
      1  you said no
      2  the settings cannot be used; the message says why, and nothing was changed
    """
    from touchline.hooks.install import plan_uninstall

    change = plan_uninstall(agent, _level(user, local), folder=_project(), env=os.environ)
    _apply(change, yes=yes, dry_run=dry_run, done="Taken out.", nothing="Nothing to do: no hooks of Touchline there.")


@hook.command()
def status(
    agent: Annotated[str, typer.Argument(metavar="[AGENT]", help="Only this agent.", autocompletion=_agents)] = "",
    as_json: JsonOption = False,
) -> None:
    """Say where hooks are installed, and whether they still work.

    \b
    Exit codes:
      0  nothing is wrong
      1  installed hooks are broken, outdated, incomplete or switched off, or a settings file cannot be read
      2  there is no such agent
    """
    from touchline.cli.sheet import print_json
    from touchline.hooks.agents_known import HOMES
    from touchline.hooks.install import home_of, standing

    levels: tuple[Level, ...] = ("project", "local", "user")
    found = [
        one
        for name in ([home_of(agent).agent] if agent else HOMES)
        for level in levels
        if (one := standing(name, level, folder=_project(), env=os.environ)) is not None
    ]
    fine = all(one.result in ("installed", "absent") for one in found)
    if as_json:
        rows = [
            {"agent": o.agent, "level": o.level, "path": str(o.path), "result": o.result, "detail": o.detail}
            for o in found
        ]
        print_json("touchline.hooks/1", {"ok": fine, "hooks": rows})
    else:
        for one in found:
            words = one.detail or _not_here(one)
            detail = f"  ({words})" if words else ""
            typer.echo(f"{one.agent:9} {one.level:8} {one.result:11} {one.path}{detail}")
        if all(one.result == "absent" for one in found):
            typer.echo("Install them with: touchline hook install claude", err=True)
    if not fine:
        raise typer.Exit(Exit.FOUND)


def _elsewhere(agent: str, level: Level) -> list[str]:
    """Where hooks of ours stand besides: most agents run both, and every call is then told twice."""
    from touchline.hooks.install import standing

    others: tuple[Level, ...] = ("project", "local", "user")
    found = [standing(agent, other, folder=_project(), env=os.environ) for other in others if other != level]
    there = [one for one in found if one is not None and one.result not in ("absent", "unreadable")]
    return [
        f"They are in {one.path}, too. One place is enough: touchline hook uninstall {agent}"
        + ("" if one.level == "project" else f" --{one.level}")
        for one in there
    ]


def _not_here(one: Standing) -> str:
    """What is to be said of a project's hooks to who stands in a folder below it."""
    from touchline.hooks.install import home_of

    home = home_of(one.agent)
    if one.result != "installed" or one.level == "user" or home.below or Path.cwd() == _project():
        return ""
    return f"not read by {home.title} when it is started here; start it in {_project()}"


def _project() -> Path:
    """The root of the repository around this folder, else the folder itself."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _level(user: bool, local: bool) -> Level:
    from touchline.errors import InputError

    if user and local:
        raise InputError("--user and --local exclude each other.", hint="Give one of them.")
    return "user" if user else "local" if local else "project"


def _apply(change: Change, *, yes: bool, dry_run: bool, done: str, nothing: str, note: str = "") -> None:
    from touchline.audit.visible import visible
    from touchline.cli.asking import agree
    from touchline.hooks.install import apply

    if not change.needed:
        typer.echo(nothing, err=True)
        return
    typer.echo("\n".join(visible(line) for line in change.diff().splitlines()))
    if note:
        typer.echo(note, err=True)
    if dry_run:
        return
    if not yes:
        agree(f"Change {change.path}?")
    apply(change)
    typer.echo(done, err=True)
