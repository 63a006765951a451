"""What an agent that wants out of the sandbox tries, and what comes of it."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents.confined import Cell, cell_in, needs_bubblewrap
from tests.engine import sample_jobs
from tests.engine.zygote import Zygote
from tests.processes.watching import running, wait_until

from touchline.agents.sandbox import confined_command
from touchline.processes import limits
from touchline.processes.children import end_leftovers

CANARY = "canary-" + secrets.token_hex(8)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    needs_bubblewrap()
    return cell_in(tmp_path, GITHUB_TOKEN=CANARY, MY_PASSWORD=CANARY, ANTHROPIC_API_KEY="the-agents-own-key")


@pytest.fixture
def length() -> str:
    return f"60.{secrets.randbelow(10**9)}"


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user that has nothing to do with the agent, and a secret in its environment."""
    with subprocess.Popen(["sleep", "100"], env={"SECRET": CANARY}) as process:
        yield process
        process.kill()


def test_writing_outside_the_workspace(cell: Cell, tmp_path: Path) -> None:
    outside = Path(__file__).parent / f"escaped-{secrets.token_hex(4)}"
    done = cell.sh(f"echo x > {outside}; echo x > {tmp_path}/escaped; echo x > ../escaped; echo x > $HOME/.bashrc; :")
    assert done.code == 0
    assert not outside.exists()
    # Where the whole checkout is hidden, it is not there at all.
    assert "Read-only" in done.err or "nonexistent" in done.err, done.err
    assert not (tmp_path / "escaped").exists()
    assert not (cell.workspace.parent / "escaped").exists()
    assert not (tmp_path / "home" / ".bashrc").exists()


def test_reading_secrets_of_the_home(cell: Cell, tmp_path: Path) -> None:
    assert (tmp_path / "home" / ".ssh" / "id_test").read_text() == "the-private-key"
    done = cell.sh(f"cat $HOME/.ssh/id_test {tmp_path}/home/.ssh/id_test; ls -A {Path.home()}/.ssh; cat /etc/shadow; :")
    assert done.out == ""


def test_links_out_of_the_workspace(cell: Cell, tmp_path: Path) -> None:
    """A link made inside leads nowhere, and one that was there before leads to nothing that can be written."""
    target = tmp_path / "target"
    target.write_text("before")
    (cell.workspace / "old").symlink_to(target)
    (cell.workspace / "folder").symlink_to(tmp_path)
    cell.sh(f"echo x > old; ln -s {target} new; echo x > new; echo x > folder/escaped; ln {target} hard; :")
    assert target.read_text() == "before"
    assert not (tmp_path / "escaped").exists()
    assert target.stat().st_nlink == 1


def test_a_workspace_swapped_for_a_link(cell: Cell, tmp_path: Path) -> None:
    cell.sh(f"cd ..; mv clone aside; rm -rf clone; ln -s {tmp_path} clone; :")
    assert cell.workspace.is_dir()
    assert not cell.workspace.is_symlink()


@pytest.mark.parametrize(
    "escape",
    ["setsid sleep {} &", "env -i setsid sh -c 'sleep {} &' &", "(setsid sh -c 'nohup sleep {} & disown' &) &"],
    ids=["setsid", "without environment", "forked twice"],
)
def test_leaving_a_process_behind(cell: Cell, length: str, escape: str) -> None:
    ready = f"until pgrep -x sleep >/dev/null; do :; done; {'echo up'}"
    with cell.start("bash", "-c", f"{escape.format(length)} {ready}; exit 3") as child:
        assert child.wait(20) == 3
        assert running("sleep", length) == []
    with cell.start("bash", "-c", f"{escape.format(length)} {ready}; sleep 100") as child:
        assert child.stdout
        assert child.stdout.readline() == b"up\n"
        assert len(running("sleep", length)) == 1
        child.end(0.1)
        assert running("sleep", length) == []
    assert list(cell.records.iterdir()) == []


def test_outliving_a_touchline_that_was_killed(cell: Cell, tmp_path: Path, length: str) -> None:
    escape = f"env -i setsid sleep {length} & setsid sleep {length} & sleep {length}"
    inside = confined_command(["sh", "-c", escape], level="bubblewrap", workspace=cell.workspace, env=cell.env)
    with Zygote(tmp_path / "log") as zygote:
        father = zygote.spawn("tests.engine.sample_programs.father", folder=str(tmp_path), command=list(inside.argv))
        wait_until(lambda: len(running("sleep", length)) == 3)
        sample_jobs.end(father)
        assert zygote.wait(father) == -9
        wait_until(lambda: running("sleep", length) == [], 5)
        end_leftovers(tmp_path / "children")
        assert list((tmp_path / "children").iterdir()) == []


def test_the_kind_signal_comes_through_to_the_agent(cell: Cell) -> None:
    """No escape, but the ladder's first rung: bubblewrap would die of it and take the agent along unheard."""
    script = "trap 'echo bye > bye; exit 7' TERM; echo up; while :; do sleep 0.02; done"
    with cell.start("sh", "-c", script) as child:
        assert child.stdout
        child.stdout.readline()
        assert child.end(10) == 7
    assert (cell.workspace / "bye").read_text() == "bye\n"


BOMB = """
import os, time
made = 0
for _ in range(300):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        made += 1
    except OSError:
        break
print(made, flush=True)
time.sleep(60)
"""


def test_a_fork_bomb(cell: Cell) -> None:
    by = limits.means().by
    if by == "nothing":
        pytest.skip(str(limits.means()))
    with cell.start("/usr/bin/env", "python3", "-c", BOMB, str(cell.workspace), processes=50) as child:
        assert child.stdout
        assert 5 < int(child.stdout.readline()) < 70
        child.end(0.0)
    assert running("python3", "-c", BOMB, str(cell.workspace)) == []
    assert list(cell.records.iterdir()) == []


def test_signals_to_processes_of_the_host(cell: Cell, bystander: subprocess.Popen[bytes]) -> None:
    done = cell.sh(f"kill -9 {bystander.pid} && echo sent")
    assert done.out == ""
    assert bystander.poll() is None


def test_looking_into_processes_of_the_host(cell: Cell, bystander: subprocess.Popen[bytes]) -> None:
    assert CANARY in Path(f"/proc/{bystander.pid}/environ").read_text()
    attach = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {bystander.pid}, 0, 0) == 0)"
    pid = bystander.pid
    done = cell.sh(f"cat /proc/{pid}/environ /proc/{pid}/mem /proc/[0-9]*/environ; ls /proc | grep -c '^[0-9]'")
    assert CANARY not in done.out
    assert int(done.out.split("\n")[-2].split("\0")[-1]) < 10
    assert cell.run("python3", "-c", attach).code == 0


def test_secrets_of_the_environment(cell: Cell) -> None:
    """Neither its own variables nor those of the processes above it tell them."""
    done = cell.sh("env; cat /proc/*/environ | tr '\\0' '\\n'")
    assert CANARY not in done.out
    assert "the-agents-own-key" in done.out, "the agent cannot reach its provider without"


def test_the_kernel_and_its_settings(cell: Cell) -> None:
    """Root without capabilities still owns these files; written back is what they hold, should it come through."""
    pattern = Path("/proc/sys/kernel/core_pattern")
    script = (
        f"echo {pattern.read_text().strip()!r} > {pattern} && echo wrote; "
        "echo h > /proc/sysrq-trigger && echo asked; mount -t tmpfs none /etc && echo mounted; "
        "unshare -Urm sh -c 'mount -o remount,rw,bind /usr && touch /usr/escaped' && echo remounted; "
        "mkdir /sys/fs/cgroup/pids/escaped && echo made; mknod disk b 8 0 && echo device; grep -E 'CapEff|NoNewPrivs' "
        "/proc/self/status"
    )
    done = cell.sh(script)
    assert done.out.split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1"], done.err
    assert not Path("/usr/escaped").exists()


def test_the_network_when_it_is_off(cell: Cell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reached: list[bool] = []

        def answer() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    reached.append(True)
                    if connection.recv(4) == b"stop":
                        return

        thread = threading.Thread(target=answer)
        thread.start()
        talk = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).sendall(b'here')"
        assert cell.run("python3", "-c", talk, network=True).code == 0
        assert reached == [True], "with the network on the agent reaches its provider"
        assert "refused" in cell.run("python3", "-c", talk, network=False).err
        interfaces = cell.sh("cat /proc/net/dev | tail -n +3 | cut -d: -f1", network=False)
        assert interfaces.out.split() == ["lo"]
        with socket.create_connection(("127.0.0.1", port)) as last:
            last.sendall(b"stop")
        thread.join(10)
        assert reached == [True, True]


def test_sockets_through_which_other_programs_do_things(cell: Cell, tmp_path: Path) -> None:
    """Such as the one of a container service: in /run, /tmp or the home it cannot be seen."""
    path = tmp_path / "home" / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        talk = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
        assert "No such file" in cell.run("python3", "-c", talk).err
        subprocess.run([sys.executable, "-c", talk], check=True)


def test_the_terminal_cannot_be_typed_into(cell: Cell) -> None:
    done = cell.run("python3", "-c", "open('/dev/tty')")
    assert "No such device" in done.err


def test_files_planted_for_git_are_the_clones_own(cell: Cell) -> None:
    """The agent may write its clone's hooks and settings: the host never runs git in there."""
    subprocess.run(["git", "init", "-q", str(cell.workspace)], check=True)
    done = cell.sh("echo 'touch escaped' > .git/hooks/post-commit; git config core.fsmonitor 'touch escaped'; echo ok")
    assert done.out == "ok\n"
