"""How is the demo played? The ordinary run of a session, with a narrator where the progress would be."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from touchline.audit.figures import tokens
from touchline.audit.visible import one_line
from touchline.cli.exits import Exit
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
    from touchline.agents.port import Level
    from touchline.cli.run_post import Post
    from touchline.sessions.asked import Asked
    from touchline.sessions.records import SessionRecord, TurnRecord
    from touchline.store.place import Place

STAGES = ("coached", "steered", "nudged", "check")
"""What the script brings about; a demo without one of them went wrong."""


def play(keep: Path | None) -> int:
    """Play it and leave nothing behind, or all of it in a folder."""
    if keep is None:
        with TemporaryDirectory(prefix="touchline-demo-") as folder:
            return _play(Path(folder), kept=False)
    if keep.exists() and any(keep.iterdir()):
        raise InputError(f"--keep: {keep} is not empty.", hint="Name a new folder.")
    keep.mkdir(parents=True, exist_ok=True)
    return _play(keep.resolve(), kept=True)


def _play(folder: Path, *, kept: bool) -> int:
    from touchline.sessions.starting import start_session
    from touchline.store.place import Place

    # For this process alone: the agent's sessions go into the demo's folder, and `python3` is the one that runs us.
    os.environ["TOUCHLINE_SCRIPTED_HOME"] = str(folder / "agent")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    repository = make_repository(folder / "shop", os.environ)
    place = Place(url=f"sqlite:///{folder / 'demo.db'}", origin="given")
    narrator = Narrator()
    narrator.open(_asked(repository))
    code = accompany(
        place,
        lambda post: start_session(post.engine, post.database, _asked(repository)),
        view=narrator,
        show=lambda post, result: _show(post, result, kept),
    )
    if kept:
        _say_where(folder, place)
    if missing := [stage for stage in STAGES if stage not in narrator.seen]:
        say(f"The demo did not come to: {', '.join(missing)}. The result above says why.")
        return code or Exit.FOUND
    return code


def _asked(repository: Path) -> Asked:
    from touchline.sessions.asked import Asked

    return Asked(
        task=sample().task,
        repository=str(repository),
        agent="scripted",
        check=sample().check,
        contract=sample().contract,
        settings={"script": str(SCRIPT)},
        sandbox=_level(),
    )


def _level() -> Level | None:
    """Where bubblewrap cannot be used, the demo says so and runs all the same: its commands are harmless."""
    from touchline.agents.sandbox import probe

    found = probe(os.environ)
    if found.bubblewrap:
        return None
    say(f"No sandbox on this machine ({one_line(found.why_not, 200)}), so the scripted agent runs without one.")
    return "none"


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
    return sum(sum(each.values()) for each in turn.usage.values())


def _say_where(folder: Path, place: Place) -> None:
    from touchline.store.database import Database

    say(f"\nAll of it is in {folder}. Look around:")
    for command in ("sessions list", "sessions show", "sessions log", "apply --dry-run"):
        name = "" if command == "sessions list" else f" {_id(Database(place.url, only_look=True))}"
        say(f"  touchline {command}{name} --database {place}")


def _id(database: Any) -> str:
    from touchline.sessions.records import list_sessions

    with database, database.reading() as connection:
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
