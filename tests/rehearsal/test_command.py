"""`touchline rehearse`, started as a person starts it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clis import clean_env, cli_path, workspace_at

from touchline.rehearsal.pointing import CLIS, point, point_all, without_leads

PROGRAM = """
import json, os, sys, urllib.request
sent = {"messages": [{"role": "user", "content": "Go."}], "tools": [{"name": "Bash"}], "max_tokens": 9, "model": "m"}
for _ in range(int(sys.argv[1])):
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(sent).encode())))
    print(answer["content"][0]["text"])
    sent["messages"] += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": "More."}]
print(os.environ.get("OPENAI_API_KEY", "no key"), os.environ["HOME"])
sys.exit(int(sys.argv[2]))
"""
"""Asks for some replies, and leaves with an exit code."""


def rehearse(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "touchline", "rehearse", *map(str, arguments)],
        cwd=cwd,
        env=clean_env(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "play.yaml"
    path.write_text("turns: [{text: one}, {text: two}]\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    return path


def asking(times: int, code: int = 0) -> tuple[str, ...]:
    return "--", sys.executable, "program.py", str(times), str(code)


def test_the_command_runs_and_what_was_played_is_told(script: Path, tmp_path: Path) -> None:
    done = rehearse(script, *asking(2, 7), cwd=tmp_path, OPENAI_API_KEY="sk-real", HOME="/home/me")
    assert done.returncode == 7
    lines = done.stdout.splitlines()
    assert lines[:2] == ["one", "two"]
    assert lines[2].startswith("no key ")
    home = lines[2].split()[-1]
    assert home != "/home/me"
    assert not Path(home).exists()
    assert done.stderr == "touchline: 2 turns played. The script was used up. The command ended with 7.\n"


@pytest.mark.parametrize(
    ("times", "says"), [(1, "Never reached: 1 turn of 'main'."), (3, "The script ran out: more was asked than it has.")]
)
def test_a_script_that_does_not_fit_is_told(script: Path, tmp_path: Path, times: int, says: str) -> None:
    assert says in rehearse(script, *asking(times), cwd=tmp_path).stderr


def test_the_report_as_json_is_all_there_is_on_standard_output(script: Path, tmp_path: Path) -> None:
    done = rehearse(script, "--json", "--home", tmp_path / "kept", *asking(1), cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (report["exit_code"], report["turns"], report["left"], report["used_up"]) == (0, 1, {"main": 1}, False)
    assert done.stderr.startswith("one\n")
    assert (tmp_path / "kept" / ".codex" / "config.toml").exists()


def test_wrong_input_is_told(script: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("turns:\n  - txt: a\n")
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        ((broken, *asking(1)), "broken.yaml:2: turns[1].txt: a turn has no such field"),
        ((tmp_path / "nothing.yaml",), "nothing.yaml: the script cannot be read"),
        ((script, "--", "no-such-program"), "There is no program 'no-such-program' on the PATH"),
    ]
    for arguments, says in cases:
        done = rehearse(*arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert says in done.stderr


def test_it_serves_until_it_is_stopped(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "touchline", "rehearse", str(script)]
    with subprocess.Popen([*command, "--json"], env=clean_env(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        port, run = told["url"].removeprefix("http://127.0.0.1:").split("/s/")
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
        connection.request("GET", f"/s/{run}/report")
        assert json.loads(connection.getresponse().read())["turns"] == 0
        connection.close()
        in_use = rehearse(script, "--port", port, cwd=tmp_path)
        assert (in_use.returncode, f"Port {port} cannot be used" in in_use.stderr) == (2, True)
        process.send_signal(signal.SIGINT)
        assert json.loads(process.stdout.readline())["left"] == {"main": 2}
        assert process.wait() == 0
    with subprocess.Popen(command, env=clean_env(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        head = ""
        while "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:" not in head:
            head += process.stdout.readline()
        assert all(f"# {cli}\n" in head for cli in CLIS)
        process.terminate()
        assert "0 turns played. Never reached: 2 turns of 'main'." in process.stdout.read()
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("cli", "flags"),
    [
        ("claude", ("-p", "Go.", "--dangerously-skip-permissions")),
        ("codex", ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Go.")),
    ],
)
def test_a_real_cli(tmp_path: Path, cli: str, flags: tuple[str, ...]) -> None:
    cli_path(cli)
    workspace = workspace_at(tmp_path / "workspace")
    script = tmp_path / "play.yaml"
    script.write_text("turns: [{calls: [{shell: echo hi > out.txt}]}, {text: All is said.}]\n")
    done = rehearse(script, "--", cli, *flags, cwd=workspace, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "All is said." in done.stdout
    assert "2 turns played. The script was used up." in done.stderr
    assert (workspace / "out.txt").read_text() == "hi\n"
    assert {entry.name for entry in tmp_path.iterdir()} == {"workspace", "play.yaml"}


def test_all_that_a_cli_keeps_is_below_its_home(tmp_path: Path) -> None:
    whole = point_all("http://127.0.0.1:1/s/main", tmp_path)
    assert all(path.is_relative_to(tmp_path) for path in whole.files)
    for cli in CLIS:
        env = point(cli, "http://127.0.0.1:1/s/main", tmp_path).env
        assert env["HOME"] == str(tmp_path)
        assert set(env.items()) <= set(whole.env.items())
        assert any("http://127.0.0.1:1/s/main" in value for value in (*env.values(), *whole.files.values()))


def test_what_leads_elsewhere_is_taken_out() -> None:
    given = {"PATH": "/bin", "ANTHROPIC_AUTH_TOKEN": "a", "OPENAI_BASE_URL": "b", "https_proxy": "c", "CLAUDECODE": "1"}
    assert without_leads(given) == {"PATH": "/bin"}
