"""How is the demo played? The ordinary run of a session, with a narrator where the progress would be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchline.audit.figures import tokens
from touchline.audit.visible import one_line
from touchline.cli.demo_stage import Stage, came_to, level, on_stage
from touchline.cli.progress import Line, told
from touchline.cli.progress_view import lasting, print_trimmed
from touchline.cli.result import Result, run_words, short
from touchline.cli.result_output import print_result
from touchline.cli.run_session import accompany
from touchline.cli.terminal import console, say, text
from touchline.errors import InputError
from touchline.rehearsal.demo import SCRIPT, make_repository, sample
from touchline.store.events import Event

if TYPE_CHECKING:
    from touchline.cli.run_post import Post
    from touchline.sessions.asked import Asked
    from touchline.sessions.records import SessionRecord, TurnRecord
    from touchline.store.place import Place

STAGES = ("coached", "steered", "nudged", "check")
"""What the script brings about; a demo without one of them went wrong."""


def play(keep: Path | None) -> int:
    """Play it and leave nothing behind, or all of it in a folder."""
    return on_stage(keep, _play)


def _play(stage: Stage) -> int:
    from touchline.sessions.starting import start_session

    repository = make_repository(stage.folder / "shop", os.environ)
    narrator = Narrator()
    narrator.open(asked := _asked(repository))
    code = accompany(
        stage.place,
        lambda post: start_session(post.engine, post.database, asked),
        view=narrator,
        show=lambda post, result: _show(post, result, stage.kept),
    )
    if stage.kept:
        id = _id(stage.place)
        stage.say_where(["sessions list", f"sessions show {id}", f"sessions log {id}", f"apply --dry-run {id}"])
    return came_to(STAGES, narrator.seen, code)


def _asked(repository: Path) -> Asked:
    from touchline.sessions.asked import Asked

    return Asked(
        task=sample().task,
        repository=str(repository),
        agent="scripted",
        check=sample().check,
        contract=sample().contract,
        settings={"script": str(SCRIPT)},
        sandbox=level(),
    )


class Narrator:
    """Tells what the agent does, and in between what Touchline saw and why it acted."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._out = console()
        self._decision: Mapping[str, Any] = {}
        self._workspace = self._said = ""

    def open(self, asked: Asked) -> None:
        self._out.print(text("Touchline demo", "bold green"))
        print_trimmed(self._out, text(sample().narration["opening"], "dim"))
        self._out.print()
        print_trimmed(self._out, lasting(Line(word="task", text=asked.task)))
        print_trimmed(self._out, lasting(Line(word="check", text=asked.check or "")))

    def event(self, event: Event) -> None:
        given = event.payload
        match event.type:
            case "decision.made":
                self._decision = given
                return
            case "agent.said":
                # The last sentence before whatever else its report holds.
                self._said = one_line(given["text"].partition("\n\n")[0].rpartition(". ")[2], 120)
            case "session.started":
                self._workspace = given.get("workspace") or ""
            case "session.ended":
                return
            case _:
                pass
        line = told(event, workspace=self._workspace)
        if line is None:
            return
        if line.word in STAGES:
            self.seen.add(line.word)
            self._narrate(line, given)
        print_trimmed(self._out, lasting(line))

    def _narrate(self, line: Line, given: Mapping[str, Any]) -> None:
        evidence = self._decision.get("evidence") or {}
        words = sample().narration
        match line.word:
            case "coached":
                because = [str(each["because"]) for each in evidence.get("claims", ()) if each["standing"] != "proved"]
                said = words["coached"].format(because=next(iter(because), "nothing proves it"))
            case "nudged":
                run = evidence.get("last_test_run")
                said = words["nudged"].format(tests=run_words(run) if run else "unknown")
            case "check":
                said = words["check_good" if given["verified"] else "check_bad"].format(said=self._said)
            case _:
                said = words[line.word]
        self._out.print()
        print_trimmed(self._out, text(f"▸ {said}", "bold"))

    def look(self, record: SessionRecord) -> None:
        pass

    def say(self, words: str) -> None:
        say(words)

    def close(self) -> None:
        pass


def _show(post: Post, result: Result, kept: bool) -> None:
    from touchline.sessions.records import turns_of_session

    print_result(result, note="" if kept else "as it would be in your own repository; the demo's is removed now")
    with post.database.reading() as connection:
        turns = turns_of_session(connection, result.record.id)
    nudge = sum(map(_tokens, (turn for turn in turns if turn.kind == "nudge")))
    work = sum(map(_tokens, (turn for turn in turns if turn.kind != "nudge")))
    if nudge:
        console().print()
        closing = sample().narration["closing"].format(nudge=tokens(nudge), work=tokens(work))
        print_trimmed(console(), text(closing, "dim"))
    if not kept:
        console().print()
        console().print(text('Your turn: touchline run "your task" --check "your tests"', "bold"))


def _tokens(turn: TurnRecord) -> int:
    from touchline.sessions.raw import usage_from_json

    return sum(each.total for each in usage_from_json(turn.usage).values())


def _id(place: Place) -> str:
    from touchline.sessions.records import list_sessions
    from touchline.store.database import Database

    with Database(place.url, only_look=True) as database, database.reading() as connection:
        return short(list_sessions(connection, limit=1)[0].id)


def audit_samples(out: Path) -> None:
    """The audit of sample sessions: the report, and the page."""
    from touchline.audit.run import audit
    from touchline.audit.samples import SAMPLES
    from touchline.audit.selection import choose
    from touchline.cli.audit import show

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be made ({error.strerror}).", hint="Name another folder.") from error
    show(audit(choose([SAMPLES])), as_json=False, html=out / "audit.html", given="--samples")
