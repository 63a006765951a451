"""How is the build's demo played? The ordinary specification and build, with a narrator where the progress would be."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchline.audit.visible import one_line
from touchline.cli.build_run import accompany
from touchline.cli.build_view import Mine, line_of
from touchline.cli.demo_stage import Stage, came_to, level, on_stage
from touchline.cli.progress import Line
from touchline.cli.progress_view import lasting, print_trimmed
from touchline.cli.terminal import console, say, text
from touchline.rehearsal.demo_build import ANSWERS, BRIEF, SCRIPT, make_repository, narration
from touchline.store.events import Event

if TYPE_CHECKING:
    from touchline.cli.run_post import Post
    from touchline.roles.build.overview import Overview
    from touchline.roles.build.settings import BuildSettings

STAGES = ("parallel", "reminded", "reviewed", "rejected", "whole")
"""What the script brings about; a demo without one of them went wrong."""
_SHOWN = frozenset(
    {
        *("task.completed", "task.failed", "task.retry", "task.blocked", "task.skipped"),
        *("reminder.sent", "review.completed", "check.run", "coaching.sent"),
    }
)


def play_build(keep: Path | None) -> int:
    """Play it and leave nothing behind, or all of it in a folder."""
    return on_stage(keep, _play)


def _play(stage: Stage) -> int:
    repository = make_repository(stage.folder / "split", os.environ)
    narrator = Narrator()
    narrator.open()
    code = accompany(stage.place, lambda post: _begun(post, narrator, stage.folder, repository), view=narrator)
    narrator.show_result(repository)
    if stage.kept:
        build = narrator.build
        stage.say_where([f"build status {build}", f"apply --dry-run {build}", "events list --limit 40"])
        say(f"  less {stage.folder / 'spec' / 'spec.md'} {stage.folder / 'spec' / 'tasks.md'}")
    else:
        say("\nYour turn: write a brief, then touchline spec new BRIEF.md")
    return came_to(STAGES, narrator.seen, code)


def _begun(post: Post, narrator: Narrator, folder: Path, repository: Path) -> str:
    """Specify, approve, start: what `touchline spec new`, `spec approve` and `build start` do."""
    from touchline.models.opening import asker_for
    from touchline.roles.build.controlling import start_build
    from touchline.roles.specification.keeping import approve, find_spec
    from touchline.roles.specification.making import make_spec

    made = make_spec(post.database, asker_for(_judge()), BRIEF, repository=repository, folder=folder / "spec")
    with post.database.writing() as connection:
        approve(connection, made.row, by="demo")
        row = find_spec(connection, made.row.id)
    lines = len(BRIEF.read_text(encoding="utf-8").splitlines())
    narrator.tell("brief", lines=lines, requirements=len(made.draft.spec.requirements), tasks=len(made.draft.tasks))
    for task in made.draft.tasks:
        needs = f" (after {', '.join(task.depends_on)})" if task.depends_on else ""
        narrator.line(Line(word=task.id, text=f"{task.title}: {task.file}{needs}"))
    narrator.tell("approved")
    return start_build(post.engine, post.database, row, repository=repository, settings=_settings())


def _settings() -> BuildSettings:
    from touchline.roles.build.settings import BuildSettings

    return BuildSettings(
        agent="scripted",
        agent_settings={"script": str(SCRIPT)},
        judge=_judge(),
        commands={"unit": "python3 -m unittest discover -s tests -t ."},  # on every machine; pytest is not
        sandbox=level(),
    )


def _judge() -> str:
    return f"scripted:{ANSWERS}"


class Narrator:
    """Tells what happens, and in between what Touchline saw and why it acted."""

    attended = False

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.build = ""
        self._out = console()
        self._mine = Mine()
        self._last: Overview | None = None

    def open(self) -> None:
        self._out.print(text("Touchline demo: from a brief to a program", "bold green"))
        print_trimmed(self._out, text(narration()["opening"], "dim"))

    def tell(self, name: str, **values: Any) -> None:
        """One of the narrator's sentences."""
        self.seen.add(name)
        self._out.print()
        print_trimmed(self._out, text(f"▸ {narration()[name].format(**values)}", "bold"))

    def line(self, line: Line) -> None:
        print_trimmed(self._out, lasting(line))

    def event(self, event: Event) -> None:
        if self._mine.hold(event) or not self._mine.has(event) or event.type not in _SHOWN:
            return
        given, name = event.payload, self._mine.name(event)
        line = line_of(event)
        if line is None or not self._worth_it(event.type, given):
            return
        self._narrate(event.type, given, name)
        self.line(Line(word=name, text=f"{line.word}: {one_line(line.text, 300)}", tone=line.tone))

    def _worth_it(self, type: str, given: Mapping[str, Any]) -> bool:
        """A pass is told by the commit that follows it."""
        return not (type == "check.run" and given["verified"])

    def _narrate(self, type: str, given: Mapping[str, Any], name: str) -> None:
        match type:
            case "reminder.sent" if "reminded" not in self.seen:
                self.tell("reminded", task=name)
            case "review.completed" if given["verdict"] == "needs_changes" and "reviewed" not in self.seen:
                self.tell("reviewed")
            case "check.run" if "rejected" not in self.seen:
                self.tell("rejected", task=name, why=given.get("why") or "")
            case _:
                pass

    def look(self, seen: Overview) -> None:
        self.build, self._last = seen.build.id, seen
        for event in self._mine.learn(seen):
            self.event(event)
        running = [each.row.task.id for each in seen.tasks if each.row.running]
        if len(running) > 1 and "parallel" not in self.seen:
            self.tell("parallel", first=running[0], second=running[1])
        validation = seen.build.result.get("validation")
        if validation and seen.build.ended and "whole" not in self.seen and validation["outcome"] == "passed":
            self.tell("whole")
            for result in validation["results"]:
                self.line(Line(word=result["name"], text=f"{result['command']}: {result['why']}", tone="good"))

    def show_result(self, repository: Path) -> None:
        """The commits, and that the person's own repository has none of them yet."""
        if self._last is None or not self._last.build.workshop:
            return
        self._out.print()
        log = _git(Path(self._last.build.workshop), "log", "--format=%h %s", "refs/touchline/base..refs/heads/build")
        for commit in reversed(log.splitlines()):
            self.line(Line(word="commit", text=commit))
        clean = not _git(repository, "status", "--porcelain")
        self.line(Line(word="yours", text=f"your own branch and files {'are untouched' if clean else 'were changed'}"))

    def say(self, words: str) -> None:
        say(words)

    def close(self) -> None:
        pass


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
