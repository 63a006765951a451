"""A turn's process, whatever it does: missing, dying, flooding, silent, deaf, stubborn. Real programs, no CLI."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.agents.turning import Seat, alive, nothing, once

from touchline.agents.codex import driver as codex
from touchline.agents.port import Found
from touchline.agents.turns import Say, Stop, TurnLimits
from touchline.errors import AgentError
from touchline.supervision.facts import Call, Ended, Event, Fault, Text, Unread


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(folder=tmp_path)


def left(seat: Seat) -> list[Path]:
    """Records of children that were not taken away."""
    return list(seat.records.glob("*")) if seat.records.exists() else []


def test_a_turn_that_goes_well(seat: Seat) -> None:
    events: list[Event] = []
    ran = seat.run(
        seat.program("begin(); said = heard(); speak('I heard ' + said['message']['content'][0]['text']); result()"),
        prompt="the task",
        observe=lambda event: events.append(event),
    )
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "I heard the task"
    assert ran.turn.exit_code == 0
    assert ran.stopped == ""
    assert [event for event in ran.turn.events if isinstance(event, Text)] == [e for e in events if isinstance(e, Text)]
    assert len(ran.raw.read_text().splitlines()) == 3
    assert ran.raw.stat().st_mode & 0o077 == 0
    assert seat.sessions[-1] == "s-1"
    assert left(seat) == []


def test_the_session_is_told_before_the_program_starts(seat: Seat) -> None:
    ran = seat.run(seat.program("sys.exit(3)"))
    assert len(seat.sessions) == 1
    assert ran.turn.ended is Ended.CRASHED


def test_a_missing_program_is_an_error(seat: Seat) -> None:
    with pytest.raises(AgentError, match=r"is not at .*nowhere.*npm install"):
        seat.run(Found(path=seat.folder / "nowhere", version=""))


def test_a_program_that_is_not_executable_is_an_error(seat: Seat) -> None:
    found = seat.program("result()")
    found.path.chmod(0o644)
    with pytest.raises(AgentError, match="not executable"):
        seat.run(found)


def test_a_missing_workspace_is_an_error(seat: Seat) -> None:
    seat.workspace = seat.folder / "work"
    seat.workspace.mkdir()
    found = seat.program("result()")
    seat.workspace.rmdir()
    seat.workspace = seat.folder / "a" / "b"
    with pytest.raises((AgentError, FileNotFoundError)):
        seat.run(found)


def test_dying_at_once_is_a_crash_with_its_last_words(seat: Seat) -> None:
    ran = seat.run(seat.program("sys.exit('my configuration is broken')"))
    assert ran.turn.ended is Ended.CRASHED
    assert ran.turn.exit_code == 1
    assert "my configuration is broken" in ran.errors
    assert ran.turn.fault is not None
    assert "my configuration is broken" in ran.turn.fault.message


def test_an_interpreter_that_is_missing_is_a_crash(seat: Seat) -> None:
    found = seat.program("")
    found.path.write_text("#!/no/such/interpreter\n")
    ran = seat.run(found)
    assert ran.turn.ended is Ended.CRASHED
    assert ran.turn.exit_code in (126, 127)


def test_exit_code_0_without_a_final_record_is_a_crash(seat: Seat) -> None:
    ran = seat.run(seat.program("begin(); speak('All done, everything passes.')"))
    assert ran.turn.ended is Ended.CRASHED
    assert ran.turn.final_text == "All done, everything passes."


def test_a_flood_is_ended_and_what_came_before_is_kept(seat: Seat) -> None:
    body = "begin(); speak('before');\nwhile True: sys.stdout.write('x' * 1000 + '\\n')"
    ran = seat.run(seat.program(body), limits=TurnLimits(seconds=60, output_bytes=3_000_000, grace_seconds=1))
    assert "more than 3000000 bytes" in ran.stopped
    assert ran.turn.ended is Ended.KILLED
    assert ran.turn.final_text == "before"
    assert ran.raw.stat().st_size < 20_000_000
    assert left(seat) == []


def test_a_flood_of_errors_is_ended_too(seat: Seat) -> None:
    body = "begin()\nwhile True: sys.stderr.write('x' * 1000 + '\\n')"
    ran = seat.run(seat.program(body), limits=TurnLimits(seconds=60, output_bytes=3_000_000, grace_seconds=1))
    assert ran.turn.ended is Ended.KILLED
    assert len(ran.errors) < 20_000


def test_a_line_of_100_megabytes_is_skipped_and_the_turn_goes_on(seat: Seat) -> None:
    body = "begin()\nfor _ in range(100): sys.stdout.write('y' * 1_000_000)\nprint(); speak('after'); result()"
    ran = seat.run(seat.program(body))
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "after"
    assert [event.why for event in ran.turn.events if isinstance(event, Unread)] == ["too_long"]
    assert ran.raw.stat().st_size < 100_000
    assert b"too long" in ran.raw.read_bytes()


def test_bytes_that_are_no_utf8_lose_nothing_else(seat: Seat) -> None:
    body = r"""
begin(); sys.stdout.flush()
os.write(1, b'\xff\xfe\x00garbage\n')
os.write(1, b'{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"caf\xe9"}]}}\n')
os.write(2, b'\xff\xff wrong \xe9\n')
result()
"""
    ran = seat.run(seat.program(body))
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "caf\ufffd"
    assert "wrong" in ran.errors


def test_output_without_a_line_end_is_read(seat: Seat) -> None:
    ran = seat.run(
        seat.program("begin(); sys.stdout.write(json.dumps({'type': 'result', 'is_error': False, 'result': 'x'}))")
    )
    assert ran.turn.ended is Ended.FINISHED


@pytest.mark.timeout(30)
def test_closed_output_with_a_living_process_is_ended(seat: Seat) -> None:
    body = "begin(); speak('now I go dark'); sys.stdout.flush(); os.close(1); time.sleep(600)"
    ran = seat.run(seat.program(body), limits=TurnLimits(seconds=300, grace_seconds=0.5))
    assert ran.stopped == "its output ended and it went on"
    assert ran.turn.ended is Ended.KILLED
    assert ran.turn.final_text == "now I go dark"


@pytest.mark.timeout(30)
def test_a_child_in_a_session_of_its_own_neither_delays_nor_survives(seat: Seat) -> None:
    mark = f"mark-{os.getpid()}-{seat.folder.name}"
    body = f"""
import subprocess
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'], start_new_session=True)
begin(); speak('done'); result()
"""
    ran = seat.run(seat.program(body))
    assert ran.turn.ended is Ended.FINISHED
    assert alive(mark) == []


@pytest.mark.timeout(30)
def test_a_finished_program_that_lingers_is_ended_and_stays_finished(seat: Seat) -> None:
    ran = seat.run(
        seat.program(
            "begin(); tell(type='user', isReplay=True, message={'content': 'x'})\n"
            "speak('done'); result(); time.sleep(600)"
        ),
        limits=TurnLimits(seconds=300, grace_seconds=0.5),
    )
    assert ran.turn.ended is Ended.FINISHED
    assert ran.stopped == ""


def test_standard_input_is_closed_when_the_turn_is_over(seat: Seat) -> None:
    body = "begin(); heard(); result(); rest = sys.stdin.read(); open('closed', 'w').write(rest)"
    ran = seat.run(seat.program(body), limits=TurnLimits(seconds=30, grace_seconds=20))
    assert ran.turn.ended is Ended.FINISHED
    assert (seat.folder / "work" / "closed").read_text() == ""


@pytest.mark.timeout(60)
def test_a_prompt_larger_than_any_pipe_reaches_a_program_that_writes_first(seat: Seat) -> None:
    body = """
begin()
for _ in range(2000): speak('y' * 1000)
said = heard()
speak(str(len(said['message']['content'][0]['text']))); result()
"""
    ran = seat.run(seat.program(body), prompt="z" * 5_000_000)
    assert ran.turn.final_text == "5000000"


@pytest.mark.timeout(60)
def test_a_program_that_never_reads_does_not_block_us(seat: Seat) -> None:
    ran = seat.run(seat.program("begin(); speak('deaf'); result()"), prompt="z" * 5_000_000)
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "deaf"


def test_a_message_is_said_while_it_works(seat: Seat) -> None:
    body = """
begin(); heard(); call(command='x'); said = heard(); answer()
speak(said['message']['content'][0]['text']); result()
"""
    ran = seat.run(seat.program(body), observe=once(Call, Say(text="Look at the log.")))
    assert ran.turn.final_text == "Look at the log."
    assert ran.said == ("Look at the log.",)
    assert ran.unsaid == ()


def test_a_message_that_cannot_be_said_is_told(seat: Seat) -> None:
    seat.driver = codex
    body = """
sys.stdin.read()
tell(type='thread.started', thread_id='t-1')
tell(type='item.completed', item={'id': 'item_0', 'type': 'agent_message', 'text': 'Hello.'})
tell(type='turn.completed', usage={})
"""
    ran = seat.run(seat.program(body), observe=once(Text, Say(text="Look at the log.")))
    assert ran.turn.ended is Ended.FINISHED
    assert ran.said == ()
    assert ran.unsaid == ("Look at the log.",)


def test_a_message_after_a_stop_is_not_said(seat: Seat) -> None:
    answers: list[Say | Stop] = [Stop(why="enough"), Say(text="too late")]
    ran = seat.run(
        seat.program("begin(); sys.stdout.write(''); speak('one'); speak('two'); time.sleep(600)"),
        observe=lambda event: answers.pop(0) if isinstance(event, Text) and answers else None,
        limits=TurnLimits(seconds=300, grace_seconds=0.5),
    )
    assert ran.stopped == "enough"
    assert ran.unsaid == ("too late",)


def test_a_permission_question_is_refused_rather_than_left_open(seat: Seat) -> None:
    body = """
begin(); heard()
tell(type='control_request', request_id='r-1', request={'subtype': 'can_use_tool', 'tool_name': 'Bash', 'input': {}})
said = heard()
speak(json.dumps(said)); result()
"""
    ran = seat.run(seat.program(body))
    said = json.loads(ran.turn.final_text)
    assert said["response"]["request_id"] == "r-1"
    assert said["response"]["response"]["behavior"] == "deny"


def test_the_raw_stream_holds_no_secret(seat: Seat) -> None:
    secret = "sk-ant-api03-" + "q7" * 40
    seat.env = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": secret}
    ran = seat.run(
        seat.program(
            "key = os.environ['ANTHROPIC_API_KEY']; begin(); speak(key); print(key, file=sys.stderr); result()"
        )
    )
    assert secret.encode() not in ran.raw.read_bytes()
    assert secret not in ran.errors
    assert secret.encode() not in ran.raw.with_name("raw.jsonl.err").read_bytes()
    assert len(ran.raw.read_text().splitlines()) == 3, "redacted, not dropped"


def test_a_raw_stream_that_cannot_be_written_does_not_lose_the_turn(seat: Seat) -> None:
    (seat.folder / "turn-1").write_text("a file where the folder should be")
    ran = seat.run(seat.program("begin(); speak('done'); result()"))
    assert ran.turn.ended is Ended.FINISHED
    assert "turn-1" in ran.raw_error


@pytest.mark.timeout(60)
def test_many_turns_at_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def one(number: int) -> Ended:
        folder = tmp_path / str(number)
        folder.mkdir()
        seat = Seat(folder=folder)
        return seat.run(seat.program("begin(); time.sleep(0.5); speak('done'); result()"), observe=nothing).turn.ended

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(one, range(12))) == {Ended.FINISHED}


def test_faults_are_told_to_the_observer_as_they_come(seat: Seat) -> None:
    seen: list[Event] = []
    seat.run(
        seat.program(
            "begin(); tell(type='system', subtype='api_retry', attempt=1, max_retries=2, error_status=529); result()"
        ),
        observe=seen.append,
    )
    assert [event.kind for event in seen if isinstance(event, Fault)] == ["overloaded"]
