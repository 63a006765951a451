"""Does a driver keep the contract of `port`? A test suite for pytest that any driver can run, ours and a stranger's.

    class TestMine(DriverContract):
        driver = mine
        lines = (b'{"type": "hello"}', b'{"type": "bye"}')     # what a whole plain run prints

Give `live` to run a real turn, too. Needs pytest and hypothesis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from touchline.agents.port import Abilities, Conversation, Driver, Found, Launch, Request
from touchline.agents.turns import Ran, TurnLimits, run_turn
from touchline.errors import InputError
from touchline.supervision.facts import Ended, Turn

LONGEST_ARGUMENT = 128 * 1024
"""What Linux takes as one argument; a longer prompt must go another way."""
SESSION = "0b8d2f60-5f1c-4c5e-9c53-0f6d1e1f2a3b"
UGLY: Sequence[bytes] = (
    b"",
    b"\x00\xff\xfe",
    b"null",
    b"[]",
    b"{",
    b'{"type": null}',
    b'{"type": {"type": []}}',
    b'{"jsonrpc": "2.0", "id": null, "result": 3}',
    b"[" * 5_000,
    b'{"type": "result", "usage": "x", "total_cost_usd": "y"}',
    '{"text": "\ud800"}'.encode("utf-8", "surrogatepass"),
)


@dataclass(frozen=True, kw_only=True)
class Live:
    """What a real turn needs: an environment in which the CLI answers and finishes."""

    env: Mapping[str, str]
    workspace: Path
    prompt: str = "Say that you are done."
    model: str | None = None
    home: Path | None = None
    allow: tuple[str, ...] = ()
    settings: Mapping[str, Any] | None = None


class DriverContract:
    """Subclass it, name the class `Test...`, and set `driver`."""

    driver: ClassVar[Driver]
    lines: ClassVar[Sequence[bytes]] = ()
    """Standard output of a plain run that finishes, line by line; without them less can be checked."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """What `Request.settings` must hold for any request."""

    def live(self, folder: Path) -> Iterator[Live]:
        """Yield once, what a real turn needs; yield nothing to leave it out. Resources may be held around the yield."""
        del folder
        yield from ()

    def test_it_has_a_name_and_advice(self) -> None:
        driver = self.driver
        assert driver.name
        assert driver.name == driver.name.strip().lower()
        assert isinstance(driver.abilities, Abilities)
        assert driver.advice()
        assert "\n" not in driver.advice()

    def test_find_never_raises(self) -> None:
        with TemporaryDirectory() as folder:
            place = Path(folder)
            for name in (self.driver.name, "npx", "node"):
                (place / name).write_text("#!/bin/sh\nprintf '\\377 no version'; exit 3\n")
                (place / name).chmod(0o755)
            for env in ({}, {"PATH": ""}, {"PATH": f"{folder}/nowhere"}, {"PATH": folder, "HOME": folder}):
                found = self.driver.find(env)
                assert found is None or isinstance(found, Found)

    def test_launch_is_pure(self) -> None:
        for request, found in self._requests():
            before = _tree(request.workspace)
            env = {"HOME": str(request.workspace.parent), "PATH": "/usr/bin:/bin"}
            launch = self.driver.launch(request, found, env)
            assert launch == self.driver.launch(request, found, env)
            assert _tree(request.workspace) == before
            assert isinstance(launch, Launch)
            assert launch.argv
            assert all(isinstance(part, str) for part in (*launch.argv, *launch.env, *launch.env.values()))
            assert not launch.only_opens or launch.talks

    def test_a_long_prompt_fits(self) -> None:
        for request, found in self._requests():
            request = replace(request, prompt="word " * 200_000)
            launch = self.driver.launch(request, found, {"HOME": str(request.workspace.parent)})
            assert max(len(part.encode()) for part in launch.argv) < LONGEST_ARGUMENT

    def test_an_unknown_setting_is_refused(self) -> None:
        for request, found in self._requests():
            request = replace(request, settings={**request.settings, "no-such-setting": 1})
            try:
                self.driver.launch(request, found, {"HOME": str(request.workspace.parent)})
            except InputError as error:
                assert "no-such-setting" in str(error)  # noqa: PT017 - pytest is not imported here
            else:
                raise AssertionError("a setting that the driver does not know was taken")

    def test_standard_input_is_written_only_when_it_is_a_pipe(self) -> None:
        for request, found in self._requests():
            launch = self.driver.launch(request, found, {"HOME": str(request.workspace.parent)})
            conversation = self.driver.converse(request)
            first = conversation.open()
            replies = [conversation.hear(line).reply for line in self.lines]
            if not launch.talks:
                assert first == b""
                assert not any(replies)
            if launch.only_opens:
                assert not any(replies)

    def test_hear_takes_anything(self) -> None:
        from hypothesis import HealthCheck, given, settings
        from hypothesis import strategies as some

        sane = [line for line in self.lines if line]
        torn = some.sampled_from(sane or [b"{}"]).flatmap(
            lambda line: some.integers(0, len(line)).map(lambda cut: line[:cut])
        )
        known = some.sampled_from([*sane, *UGLY])

        @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(some.lists(some.one_of(some.binary(max_size=200), torn, known), max_size=8))
        def hold(lines: list[bytes]) -> None:
            conversation = self._conversation()
            for line in lines:
                conversation.hear(line)
            assert isinstance(conversation.finish(exit_code=1), Turn)

        hold()

    def test_finish_tells_what_was_heard_wherever_the_stream_ends(self) -> None:
        for cut in range(len(self.lines) + 1):
            conversation = self._conversation()
            heard = [event for line in self.lines[:cut] for event in conversation.hear(line).events]
            turn = conversation.finish(exit_code=None, signal=9, errors="the last words")
            assert [event for event in turn.events if event in heard] == heard
            if cut == 0:
                assert turn.ended not in (Ended.FINISHED, Ended.LIMIT)

    def test_exit_code_0_is_no_success(self) -> None:
        turn = self._conversation().finish(exit_code=0)
        assert turn.ended is Ended.CRASHED

    def test_who_ended_it_is_told(self) -> None:
        assert self._conversation().finish(exit_code=-15, signal=15, ended_by="timeout").ended is Ended.TIMED_OUT
        assert self._conversation().finish(exit_code=-15, signal=15, ended_by="user").ended is Ended.INTERRUPTED
        assert self._conversation().finish(exit_code=-15, signal=15, ended_by="us").ended is Ended.KILLED

    def test_a_whole_run_is_finished(self) -> None:
        if not self.lines:
            return
        conversation = self._conversation()
        closed = False
        for line in self.lines:
            assert not conversation.over, "it is over before its last line"
            closed = conversation.hear(line).close or closed
        assert conversation.over or closed
        assert conversation.session_id
        turn = conversation.finish(exit_code=0)
        assert turn.ended is Ended.FINISHED
        assert turn.session_id == conversation.session_id
        assert turn.final_text

    def test_after_the_end_nothing_is_heard_or_said(self) -> None:
        conversation = self._conversation()
        for line in self.lines:
            conversation.hear(line)
        if conversation.over:
            assert all(conversation.hear(line).events == () for line in self.lines)
            assert conversation.say("More.") is None
            assert conversation.interrupt() is None
            assert conversation.over

    def test_abilities_agree_with_what_it_does(self) -> None:
        abilities = self.driver.abilities
        conversation = self._conversation()
        said, interrupted = [], []
        for line in self.lines[:-1]:
            conversation.hear(line)
            said.append(conversation.say("Look here."))
        said.append(conversation.say("Look here."))
        interrupted.append(conversation.interrupt())
        if not abilities.speak:
            assert not any(said)
        elif self.lines:
            assert any(said)
        if not abilities.interrupt:
            assert not any(interrupted)
        elif self.lines:
            assert any(interrupted)

    def test_the_session_is_known_when_it_is_given(self) -> None:
        with TemporaryDirectory() as folder:
            request = self._request(Path(folder))
            if self.driver.abilities.resume:
                assert self.driver.converse(replace(request, session=SESSION)).session_id == SESSION
            if self.driver.abilities.preset:
                request = replace(request, new_session=SESSION)
                assert self.driver.converse(request).session_id == SESSION
                assert any(SESSION in part for part in self.driver.launch(request, _found(Path(folder)), {}).argv)

    def test_what_was_spent_can_be_kept(self) -> None:
        conversation = self._conversation()
        for line in self.lines:
            conversation.hear(line)
        conversation.finish(exit_code=0)
        kept = json.loads(json.dumps(dict(self.driver.spent(conversation))))
        with TemporaryDirectory() as folder:
            request = replace(self._request(Path(folder)), session=SESSION)
            for before in (kept, {}, {"unknown": [1]}, None):
                assert isinstance(self.driver.converse(request, spent_before=before).finish(exit_code=1), Turn)

    def test_a_real_turn(self) -> None:
        with TemporaryDirectory(prefix="touchline-contract-") as folder:
            for live in self.live(Path(folder)):
                sessions: list[str] = []
                ran = self._run(live, Path(folder), sessions)
                assert ran.turn.ended is Ended.FINISHED, (ran.turn.end_detail, ran.errors)
                assert ran.turn.final_text
                assert ran.turn.session_id
                assert sessions[-1] == ran.turn.session_id
                assert ran.raw.read_bytes().strip()
                assert not list((Path(folder) / "children").glob("*.json")), "a process was left"
                json.dumps(dict(ran.spent))

    def _run(self, live: Live, folder: Path, sessions: list[str]) -> Ran:
        found = self.driver.find(live.env)
        assert found is not None
        request = Request(
            prompt=live.prompt,
            workspace=live.workspace,
            model=live.model,
            home=live.home,
            settings=live.settings if live.settings is not None else self.settings,
        )
        return run_turn(
            self.driver,
            request,
            found,
            level="none",
            env=live.env,
            records=folder / "children",
            raw=folder / "turn" / "raw.jsonl",
            limits=TurnLimits(seconds=100),
            observe=lambda _event: None,
            must_stop=lambda: False,
            on_session=sessions.append,
            allow=live.allow,
        )

    def _conversation(self) -> Conversation:
        conversation = self.driver.converse(self._request(Path("/nowhere")))
        conversation.open()
        return conversation

    def _request(self, folder: Path) -> Request:
        return Request(prompt="Do it.", workspace=folder / "work", settings=self.settings)

    def _requests(self) -> Iterator[tuple[Request, Found]]:
        abilities = self.driver.abilities
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "work").mkdir()
            plain = replace(self._request(folder), scratch=folder / "turn")
            requests = [
                plain,
                replace(plain, confined=True),
                replace(plain, model="some-model", flags=("--some-flag",), folders=(folder / "more",)),
                replace(plain, home=folder / "home"),
            ]
            if abilities.resume:
                requests.append(replace(plain, session=SESSION))
            if abilities.read_only:
                requests += [replace(plain, read_only=True), replace(plain, read_only=True, confined=True)]
            if abilities.schema:
                requests.append(replace(plain, schema={"type": "object"}))
            if abilities.max_turns:
                requests.append(replace(plain, max_requests=3))
            for request in requests:
                yield request, _found(folder)


def _found(folder: Path) -> Found:
    return Found(path=folder / "program", version="1.2.3")


def _tree(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))
