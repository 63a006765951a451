"""The sandbox is found by trying, chosen in the open, and shows a command what it needs and not more."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

import pytest
from tests.agents.confined import cell_in, needs_bubblewrap, probed

from touchline.agents.port import Abilities, Launch
from touchline.agents.sandbox import Chosen, Probe, choose, confine, confined_command, probe
from touchline.errors import SandboxError

THERE = Probe(bubblewrap=True, why_not="", hint="", processes="")
NOT = Probe(bubblewrap=False, why_not="it is not installed.", hint="Install it.", processes="")
OWN = Abilities(own_sandbox=True)
NONE = Abilities()


def test_what_is_chosen_when_nobody_says() -> None:
    assert choose(None, THERE, NONE) == Chosen(level="bubblewrap", why="it works here")
    chosen = choose(None, NOT, OWN)
    assert chosen.level == "own"
    assert "it is not installed" in chosen.why
    assert choose(None, NOT, Abilities(read_only=True), read_only=True).level == "own"


def test_no_confinement_is_never_chosen_silently() -> None:
    for abilities in (NONE, Abilities(read_only=True)):  # a read-only mode confines nothing that may write
        with pytest.raises(SandboxError, match=r"it is not installed.* Install it.* `--sandbox none`"):
            choose(None, NOT, abilities)
    assert choose("none", THERE, OWN).level == "none"


def test_a_level_that_is_not_there_is_an_error_and_no_other_level() -> None:
    with pytest.raises(SandboxError, match=r"bubblewrap cannot be used: it is not installed\. Install it"):
        choose("bubblewrap", NOT, OWN)
    with pytest.raises(SandboxError, match="no sandbox of its own"):
        choose("own", THERE, NONE)
    assert choose("own", THERE, OWN).level == "own"
    assert choose("bubblewrap", THERE, OWN).level == "bubblewrap"


def test_a_check_of_ours_needs_a_level_that_is_around_it_too() -> None:
    with pytest.raises(SandboxError, match=r"check would run unconfined.* Leave out `--sandbox own`.* none`"):
        choose("own", THERE, OWN, checked=True)
    with pytest.raises(SandboxError, match=r"check would run unconfined.* Install it\. .*`--sandbox none`"):
        choose(None, NOT, OWN, checked=True)
    assert choose(None, THERE, OWN, checked=True).level == "bubblewrap"
    assert choose("none", NOT, OWN, checked=True).level == "none"


def test_the_probe_says_why_not(tmp_path: Path) -> None:
    missing = probe({"PATH": str(tmp_path)})
    assert not missing.bubblewrap
    assert "not on the PATH" in missing.why_not
    assert "apt install bubblewrap" in missing.hint
    assert missing.processes
    with pytest.raises(SandboxError, match="not on the PATH"):
        confined_command(["true"], level="bubblewrap", workspace=tmp_path, env={"PATH": str(tmp_path)})

    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    blocked = probe({"PATH": str(tmp_path)})
    assert not blocked.bubblewrap
    assert "No permissions to create new namespace" in blocked.why_not
    assert "unprivileged_userns_clone" in blocked.hint


def test_the_probe_is_bubblewrap_itself() -> None:
    needs_bubblewrap()
    assert probed().why_not == ""


def test_other_levels_change_nothing(tmp_path: Path) -> None:
    launch = Launch(argv=("true",), keeps=(tmp_path / "kept",))
    for level in ("own", "none"):
        assert confine(launch, level=level, workspace=tmp_path, env={}) is launch
    assert not (tmp_path / "kept").exists()


def test_a_workspace_below_home_below_tmp_is_written_and_all_else_is_not(tmp_path: Path) -> None:
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    done = cell.sh("pwd; echo made > made; echo $HOME $TMPDIR; ls -A $HOME $HOME/work; : > $TMPDIR/x && echo yes")
    assert done.code == 0, done.err
    workspace, home = cell.workspace, cell.env["HOME"]
    assert done.out.split("\n")[:2] == [str(workspace), f"{home} /tmp"]
    assert done.out.rstrip().endswith("clone\nyes")
    assert ".ssh" not in done.out
    assert (workspace / "made").read_text() == "made\n"
    assert not Path("/tmp/x").exists()


def test_read_only_leaves_the_workspace_as_it_was(tmp_path: Path) -> None:
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    (cell.workspace / "file").write_text("before")
    done = cell.sh("cat file; echo after > file; touch new; rm file; git init . 2>/dev/null", read_only=True)
    assert done.out.startswith("before")
    assert [path.name for path in cell.workspace.iterdir()] == ["file"]
    assert (cell.workspace / "file").read_text() == "before"


def test_what_a_driver_needs_can_be_read_and_what_it_keeps_is_kept(tmp_path: Path) -> None:
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    home = Path(cell.env["HOME"])
    (home / "login.json").write_text("login")
    real = home / "programs" / "agent-1.0"
    real.mkdir(parents=True)
    (real / "agent").write_text("#!/bin/sh\ncat $HOME/login.json; echo session > $HOME/.agent/one; echo no > $0\n")
    (real / "agent").chmod(0o755)
    (home / "bin").mkdir()
    (home / "bin" / "agent").symlink_to(real / "agent")
    launch = Launch(
        argv=(str(home / "bin" / "agent"),),
        needs=(home / "bin" / "agent", home / "login.json", home / "not-there"),
        keeps=(home / ".agent", home / ".agent.json"),
    )
    done = cell.run(launch=launch, read_only=True)
    assert done.out == "login", done.err
    assert (home / ".agent" / "one").read_text() == "session\n"
    assert (home / ".agent").stat().st_mode & 0o077 == 0
    assert "echo no" in (real / "agent").read_text()
    assert not (home / ".agent.json").exists()


def test_agents_that_start_at_the_same_moment_may_share_what_they_keep(tmp_path: Path) -> None:
    needs_bubblewrap()
    together = Barrier(8, timeout=20)

    def start(_: int) -> None:
        for each in range(60):
            launch = Launch(argv=("true",), keeps=(tmp_path / f"home{each}" / "agent",))
            together.wait()
            confine(launch, level="bubblewrap", workspace=tmp_path, env=os.environ)

    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(start, range(8)))
    assert all((tmp_path / f"home{each}" / "agent").is_dir() for each in range(60))


def test_inner_folders_keep_their_own_rights(tmp_path: Path) -> None:
    """What is kept may lie in the workspace that is read-only, and the workspace in what is kept."""
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    within = cell.workspace / "sessions"
    launch = Launch(
        argv=("sh", "-c", "touch no; touch sessions/yes; touch ../beside"), keeps=(within, cell.workspace.parent)
    )
    cell.run(launch=launch, read_only=True)
    assert (within / "yes").exists()
    assert (cell.workspace.parent / "beside").exists()
    assert not (cell.workspace / "no").exists()


def test_tools_below_a_home_work_and_the_secrets_beside_them_stay_hidden(tmp_path: Path) -> None:
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    home = Path(cell.env["HOME"])
    for name, text in {
        ".cargo/bin/tool": "#!/bin/sh\necho cargo tool",
        ".cargo/credentials.toml": "token",
        "env/bin/venvtool": "#!/bin/sh\ncat $(dirname $0)/../lib/its",
        "env/lib/its": "library",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    cell.env["PATH"] = f"{home}:{home}/.cargo/bin:{home}/env/bin:{cell.env['PATH']}"
    done = cell.sh("tool; venvtool; cat $HOME/.cargo/credentials.toml")
    assert done.out == "cargo tool\nlibrary"
    assert "No such file" in done.err


def test_a_virtual_environment_in_the_workspace_stays_writable(tmp_path: Path) -> None:
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    (cell.workspace / ".venv" / "bin").mkdir(parents=True)
    (cell.workspace / ".venv" / "lib").mkdir()
    cell.env["PATH"] = f"{cell.workspace}/.venv/bin:{cell.env['PATH']}"
    assert cell.sh("touch .venv/bin/new .venv/lib/new").code == 0


@pytest.mark.parametrize("path", ["home", "/"])
def test_a_folder_that_would_show_the_home_is_refused(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_bubblewrap()
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "ann"))
    folder = tmp_path / "home" if path == "home" else Path(path)
    (tmp_path / "home" / "ann" / "clone").mkdir(parents=True)
    with pytest.raises(SandboxError, match="with all its secrets"):
        confined_command(["true"], level="bubblewrap", workspace=folder, env=os.environ)
    launch = Launch(argv=("true",), needs=(folder,))
    with pytest.raises(SandboxError, match="with all its secrets"):
        confine(launch, level="bubblewrap", workspace=tmp_path / "home" / "ann" / "clone", env=os.environ)


NOBODY = """
import encodings.ascii, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from touchline.agents import sandbox
from touchline.processes import children, limits
here = Path(sys.argv[2])
env = {"PATH": "/usr/bin:/bin", "HOME": str(here / "home")}
os.environ["HOME"] = env["HOME"]
found = sandbox.probe(env)
if not found.bubblewrap:
    sys.exit(found.why_not)
work = here / "home" / "work"
bomb = '''
import os
made = 0
for _ in range(150):
    try:
        if os.fork() == 0:
            import time; time.sleep(60)
        made += 1
    except OSError:
        break
print("made", made, flush=True)
'''
script = f'id -u; touch made; touch /usr/x; cat {here}/home/secret; exec /usr/bin/python3 -c "$1"'
for level in ("bubblewrap", "none"):
    line = sandbox.confined_command(["sh", "-c", script, "sh", bomb], level=level, workspace=work, env=env)
    environment = {**env, **line.env}
    with children.start_child(line.argv, records=here / "records", cwd=work, env=environment, processes=40) as child:
        print(level, child.stdout.read().split(), child.wait(20))
print(limits.means().by, os.listdir(here / "records"))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else; who is not root sees it everywhere")
def test_it_works_for_who_is_not_root() -> None:
    needs_bubblewrap()
    sources = str(Path(__file__).parents[2] / "src")
    with TemporaryDirectory() as name:
        here = Path(name)
        (here / "home" / "work").mkdir(parents=True)
        (here / "home" / "secret").write_text("secret")
        for path in (here, here / "home", here / "home" / "work", here / "home" / "secret"):
            os.chown(path, 65534, 65534)
        command = ["/usr/bin/python3", "-c", NOBODY, sources, name]
        try:
            done = subprocess.run(
                command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True, env={}, cwd="/"
            )
        except OSError as error:
            pytest.skip(f"no Python of the machine's own: {error}")
        if "ModuleNotFoundError" in done.stderr or "Permission denied" in done.stderr.partition("touch")[0]:
            pytest.skip(f"the sources cannot be read by who is not root: {done.stderr[-200:]}")
        lines = [line.split() for line in done.stdout.splitlines()]
        assert done.returncode == 0, done.stderr
        assert [line[0] for line in lines] == ["bubblewrap", "none", "rlimit"]
        inside, outside = done.stdout.splitlines()[:2]
        assert "65534" in inside
        assert "secret" not in inside
        assert "secret" in outside
        for line in (inside, outside):
            made = int(line.partition("made', b'")[2].partition("'")[0])
            assert 5 < made < 60, line
        assert lines[2] == ["rlimit", "[]"]
        assert (here / "home" / "work" / "made").exists()


def test_this_python_is_seen_in_the_sandbox(tmp_path: Path) -> None:
    """Wherever it lies: checks are run with it."""
    needs_bubblewrap()
    cell = cell_in(tmp_path)
    cell.env["PATH"] = f"{Path(sys.executable).parent}:{cell.env['PATH']}"
    launch = Launch(argv=(sys.executable, "-c", "import ssl; print('works')"), needs=(Path(sys.base_prefix),))
    assert cell.run(launch=launch).out == "works\n"
