"""A child process ends with its parent, and nothing that it started is left."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.engine import sample_jobs
from tests.engine.zygote import Zygote
from tests.processes.watching import children_of, lives, open_files, pid_in, running, wait_until

from touchline.errors import EngineError
from touchline.processes import limits
from touchline.processes.child_start import boot, started
from touchline.processes.children import Child, end_leftovers, run_process, start_child

LIBRARYS_OWN = 1 << 31 | 1 << 32
"""Two signals that the C library keeps for itself. Programs that `make` starts ignore the first, and cannot help it."""
FATHER = "tests.engine.sample_programs.father"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def records(folder: Path) -> list[Path]:
    return list((folder / "children").glob("*"))


def start(folder: Path, *command: str, talks: bool = False, processes: int = limits.PROCESSES) -> Child:
    return start_child(command, records=folder / "children", cwd=folder, talks=talks, processes=processes)


@pytest.fixture
def length() -> str:
    """Seconds to sleep that no other process on this machine sleeps: our tests may run more than once at a time."""
    return f"60.{secrets.randbelow(10**9)}"


def escaper(folder: Path, length: str, then: str) -> str:
    """A daemon as tricky as they come: its own session, forked twice, with nothing of our environment."""
    return f"env -i setsid sh -c 'sleep {length} & echo $! > {folder}/escaped' & {then}"


def test_it_runs_to_its_end_and_says_how(tmp_path: Path) -> None:
    out = tmp_path / "log" / "out"
    ended = run_process(
        ["sh", "-c", "echo here; echo there >&2; pwd; exit 3"], records=tmp_path / "children", cwd=tmp_path, output=out
    )
    assert (ended.how, ended.exit_code) == ("exited", 3)
    assert out.read_text() == f"here\nthere\n{tmp_path}\n"
    assert records(tmp_path) == []


@pytest.mark.parametrize(("command", "code"), [(["/no/such/program"], 127), (["/etc/passwd"], 126)])
def test_a_program_that_cannot_run(tmp_path: Path, command: list[str], code: int) -> None:
    out = tmp_path / "out"
    assert run_process(command, records=tmp_path / "children", output=out).exit_code == code
    assert command[0] in out.read_text()


def test_no_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no command"):
        run_process([], records=tmp_path)


def test_a_slow_one_is_ended_even_if_it_will_not_listen(tmp_path: Path) -> None:
    ended = run_process([sys.executable, "-c", DEAF], records=tmp_path / "children", timeout=0.5, grace=0.3)
    assert (ended.how, ended.exit_code) == ("timed_out", -9)
    polite = run_process(["sleep", "60"], records=tmp_path / "children", must_stop=lambda: True)
    assert (polite.how, polite.exit_code) == ("stopped", -15)


def test_a_question_that_fails_ends_the_child_and_is_not_an_end_of_its_own(tmp_path: Path) -> None:
    def broken() -> bool:
        raise RuntimeError("nobody can say")

    with pytest.raises(RuntimeError, match="nobody can say"):
        run_process(
            ["sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"], records=tmp_path / "children", must_stop=broken
        )
    assert not lives(pid_in(tmp_path / "pid"))
    assert records(tmp_path) == []


def test_what_it_left_in_the_background_ends_with_it(tmp_path: Path) -> None:
    left = f"setsid sleep 60 & echo $! > {tmp_path}/pid"
    assert run_process(["sh", "-c", left], records=tmp_path / "children").exit_code == 0
    assert not lives(pid_in(tmp_path / "pid"))


def test_a_daemon_that_shed_session_parent_and_environment_ends_with_it(tmp_path: Path, length: str) -> None:
    left = escaper(tmp_path, length, f"while ! [ -s {tmp_path}/escaped ]; do sleep 0.01; done; exit 5")
    assert run_process(["sh", "-c", left], records=tmp_path / "children").exit_code == 5
    assert not lives(pid_in(tmp_path / "escaped"))
    assert running("sleep", length) == []


def test_pipes_are_the_commands_alone_and_input_only_when_it_talks(tmp_path: Path) -> None:
    with start(tmp_path, "sh", "-c", "read line; echo got $line; echo bad >&2; cat; exit 4", talks=True) as child:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        child.stdin.write(b"this\nand that\n")
        assert child.stdout.readline() == b"got this\n"
        assert child.poll() is None
        child.stdin.close()
        assert child.stdout.read() == b"and that\n"
        assert child.stderr.read() == b"bad\n"
        assert child.wait(10) == 4
        assert child.end() == 4
    assert child.stdout.closed
    with start(tmp_path, "sh", "-c", "cat; exit 6") as child:
        assert child.stdin is None
        assert child.wait(10) == 6
    assert records(tmp_path) == []


def test_the_end_is_seen_while_somebody_else_holds_the_pipe(tmp_path: Path, length: str) -> None:
    """Who leaves a process with the pipe in the background has ended all the same."""
    with start(tmp_path, "sh", "-c", f"setsid sleep {length} & exit 0") as child:
        assert child.wait(10) == 0
        assert child.stdout
        assert child.stdout.read() == b""
    assert running("sleep", length) == []


@pytest.fixture
def in_the_background() -> Iterator[None]:
    """As a script's background job: what it ignores its children would ignore, too."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("in_the_background")
def test_a_program_ignores_no_signal_whatever_we_ignore(tmp_path: Path) -> None:
    masks = "import re; print(re.findall('Sig(?:Blk|Ign):.([0-9a-f]+)', open('/proc/self/status').read()))"
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTSTP)}
    try:
        with start(tmp_path, sys.executable, "-c", masks) as child:
            assert child.stdout
            blocked, ignored = eval(child.stdout.read())
            child.end()
        python_ignores = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)  # it does so itself, as it starts
        assert (int(blocked, 16), int(ignored, 16) & ~LIBRARYS_OWN) == (0, python_ignores)
        with start(tmp_path, "grep", "-E", "SigIgn|SigBlk", "/proc/self/status") as child:
            assert child.stdout
            _, blocked, _, ignored = child.stdout.read().split()
        assert (int(blocked, 16), int(ignored, 16) & ~LIBRARYS_OWN) == (0, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(("ending", "code"), [("kill -SEGV $$", -11), ("kill -KILL $$", -9), ("exit 255", 255)])
def test_the_exit_code_is_the_commands(tmp_path: Path, ending: str, code: int) -> None:
    with start(tmp_path, "sh", "-c", f"ulimit -c 0; {ending}") as child:
        assert child.wait(10) == code
        assert child.end() == code


def test_the_ladder_is_kind_first_and_ends_all_in_the_end(tmp_path: Path, length: str) -> None:
    kind = f"trap 'echo bye > {tmp_path}/bye; exit 7' TERM; echo up; while :; do sleep 0.02; done"
    with start(tmp_path, "sh", "-c", kind) as child:
        assert child.stdout
        child.stdout.readline()
        assert child.end(10) == 7
        assert (tmp_path / "bye").read_text() == "bye\n"
    shell = escaper(tmp_path, length, f'setsid sleep {length} & exec "{sys.executable}" -c "{DEAF}"')
    with start(tmp_path, "sh", "-c", shell) as child:
        assert child.stdout
        child.stdout.readline()
        escaped = pid_in(tmp_path / "escaped")
        assert lives(escaped)
        assert child.end(0.2) == -9
        assert running("sleep", length) == []
    assert records(tmp_path) == []


def test_nothing_of_ours_is_left_behind(tmp_path: Path) -> None:
    """No zombie, no open file, after starts and ends of every kind."""
    start(tmp_path, "true").__exit__()
    files, children = open_files(), children_of(os.getpid())
    for command in (["true"], ["/no/such"], ["sleep", "60"], ["sh", "-c", "setsid sleep 60 & sleep 60"]):
        for talks in (True, False):
            with start(tmp_path, *command, talks=talks) as child:
                if command[0] == "true":
                    child.wait(10)
            assert child.poll() is not None
    assert children_of(os.getpid()) == children
    assert open_files() == files
    assert records(tmp_path) == []


def test_a_child_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    made: list[Child] = []

    def begin() -> None:
        child = start(tmp_path, "sh", "-c", "echo up; read line; exit 8", talks=True)
        made.append(child)
        assert child.stdout
        assert child.stdout.readline() == b"up\n"

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    with made[0] as child:
        assert child.wait(0.5) is None
        assert child.stdin
        child.stdin.close()
        assert child.wait(10) == 8


def test_who_dies_by_sigkill_takes_the_whole_tree_along_at_once(tmp_path: Path, length: str) -> None:
    shell = escaper(tmp_path, length, f"setsid sleep {length} & echo $$ > {tmp_path}/child; sleep {length}")
    command = ["sh", "-c", shell]
    with Zygote(tmp_path / "log") as zygote:
        father = zygote.spawn(FATHER, folder=str(tmp_path), command=command)
        child, escaped = pid_in(tmp_path / "child"), pid_in(tmp_path / "escaped")
        wait_until(lambda: len(running("sleep", length)) >= 3)
        assert lives(child)
        assert lives(escaped)
        sample_jobs.end(father)
        assert zygote.wait(father) == -9
        wait_until(lambda: running("sleep", length) == [], 5)
        end_leftovers(tmp_path / "children")
        assert records(tmp_path) == []


def test_what_even_a_killed_keeper_left_is_ended_at_the_next_start(tmp_path: Path, length: str) -> None:
    shell = f"setsid sleep {length} & echo $PPID > {tmp_path}/keeper; echo $$ > {tmp_path}/child; sleep 60"
    command = ["sh", "-c", shell]
    with Zygote(tmp_path / "log") as zygote:
        father = zygote.spawn(FATHER, folder=str(tmp_path), command=command)
        keeper, child = pid_in(tmp_path / "keeper"), pid_in(tmp_path / "child")
        wait_until(lambda: running("sleep", length))
        grandchild = running("sleep", length)[0]
        os.kill(father, signal.SIGSTOP)  # it may neither see the keeper's end nor clean up after it
        os.kill(keeper, signal.SIGKILL)
        sample_jobs.end(father)
        assert zygote.wait(father) == -9
        wait_until(lambda: not lives(child), 3)
        assert lives(grandchild), "the test would show nothing"
        assert end_leftovers(tmp_path / "children") >= 1
        assert not lives(grandchild)
        assert records(tmp_path) == []
        assert end_leftovers(tmp_path / "children") == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not end the process")
def test_a_record_stays_until_all_that_it_stands_for_is_gone(tmp_path: Path) -> None:
    text = '{"pid": %d, "started": %d, "parent": 1, "parent_started": -1, "boot": "%s", "token": "none"}'
    attempt = "import encodings.ascii, os, sys; from pathlib import Path; "
    attempt += "from touchline.processes.children import end_leftovers; os.setuid(65534); "
    attempt += "print(end_leftovers(Path(sys.argv[1])))"
    with TemporaryDirectory() as name, subprocess.Popen(["sleep", "60"]) as child:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "one.json").write_text(text % (child.pid, started(child.pid) or 0, boot()))
        done = subprocess.run([sys.executable, "-c", attempt, name], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("0\n", "")
        assert (folder / "one.json").exists()
        assert child.poll() is None
        assert end_leftovers(folder) >= 1
        assert not (folder / "one.json").exists()
        assert child.wait(5) == -9


def test_children_of_the_living_are_left_alone(tmp_path: Path) -> None:
    with Zygote(tmp_path / "log") as zygote:
        command = ["sh", "-c", f"echo $$ > {tmp_path}/child; sleep 60"]
        father = zygote.spawn(FATHER, folder=str(tmp_path), command=command)
        child = pid_in(tmp_path / "child")
        assert end_leftovers(tmp_path / "children") == 0
        assert lives(child)
        sample_jobs.end(father)
        zygote.wait(father)
        wait_until(lambda: not lives(child), 5)


def test_a_record_of_an_old_process_with_a_number_that_is_anothers_now(tmp_path: Path) -> None:
    """The number is ours, the start time and the token are not: it must not be ended."""
    folder = tmp_path / "children"
    folder.mkdir()
    text = '{"pid": %d, "started": 1, "parent": 1, "parent_started": -1, "boot": "%s", "token": "none"}'
    (folder / "old.json").write_text(text % (os.getpid(), boot()))
    (folder / "broken.json").write_text("{")
    assert end_leftovers(folder) == 0
    assert [path.name for path in records(tmp_path)] == ["broken.json"]


BOMB = """
import os, sys
made = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            os.setsid()
            import time; time.sleep(60)
        made += 1
    except OSError:
        break
print(made, flush=True)
import time; time.sleep(60)
"""


def test_a_fork_bomb_is_held_and_ended(tmp_path: Path) -> None:
    with start(tmp_path, sys.executable, "-c", BOMB, str(tmp_path), processes=40) as child:
        assert child.stdout
        made = int(child.stdout.readline())
        by = limits.means().by
        if by == "nothing":
            assert made == 200
        else:
            assert 5 < made < 60
        assert child.end(0.0) == -9
    assert running(sys.executable, "-c", BOMB, str(tmp_path)) == []
    assert records(tmp_path) == []
    if by == "nothing":
        pytest.skip("nothing can limit processes here; that they are all ended was seen")


def test_control_groups_without_a_record_are_removed_when_nobody_is_in_them() -> None:
    parent = limits.means().parent
    if parent is None:
        pytest.skip("no control group can be made here")
    # One within ours: the other groups there may be another test's, about to be filled.
    nest = parent / f"nest-{secrets.token_hex(8)}"
    used, empty = nest / "touchline-used", nest / "touchline-empty"
    with subprocess.Popen(["sleep", "60"]) as process:
        for folder in (nest, used, empty):
            folder.mkdir()
        (used / "cgroup.procs").write_text(str(process.pid))
        limits.remove_forgotten(nest)
        assert empty.is_dir(), "it may be about to be filled"
        limits.remove_forgotten(nest, age=-1.0)
        assert not empty.exists()
        assert used.is_dir()
        process.kill()
    limits.remove_forgotten(nest, age=-1.0)
    nest.rmdir()


def test_a_bomb_that_goes_on_forking_is_ended(tmp_path: Path) -> None:
    """Each process replaces itself by another in a session of its own as fast as it can, for a bounded number."""
    runner = "import os\nfor _ in range(3000):\n    if os.fork(): os._exit(0)\n    os.setsid()\nopen('done', 'w')"
    with start(tmp_path, "sh", "-c", f'"{sys.executable}" -S -c "{runner}" "{tmp_path}"; echo up; sleep 60') as child:
        assert child.stdout
        assert child.stdout.readline() == b"up\n"
        assert child.end(0.0) == -9
    assert running(sys.executable, "-S", "-c", runner, str(tmp_path)) == []
    assert not (tmp_path / "done").exists(), "it had run out before it was ended, and the test shows nothing"
