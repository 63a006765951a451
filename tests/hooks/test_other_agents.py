"""The coach inside the other real CLIs, as far as their own hooks go."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clis import CliHome
from tests.hooks.running import log_of, opencode_server, run_in, told

from touchline.hooks import opencode
from touchline.hooks.install import apply, plan_install, plan_uninstall, standing
from touchline.rehearsal.pointing import Cli

pytestmark = pytest.mark.timeout(110)

LOOP = '  - {text: I try., calls: [{shell: "cat nowhere.txt"}]}\n' * 4
WORK = f"""
turns:
  - text: I change it.
    calls: [{{write: "${{workspace}}/hello.py", content: "print('hello')\\n"}}]
{LOOP}
  - text: I have implemented hello.py. It should work now.
  - {{text: I run it now., calls: [{{shell: "python3 hello.py"}}]}}
  - text: I implemented hello.py; running it prints the greeting.
"""


def test_codex_is_coached(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("codex")
    home.play(WORK)
    ran = run_in(home, "Create hello.py", "--dangerously-bypass-hook-trust")
    asked = told(home)
    assert "This call was not run" in asked[5]
    assert "[System Coach]" in asked[6]
    assert "hello.py" in asked[6]
    assert len(asked) == 8, "proof passes"
    assert ran.code == 0
    assert log_of(home) == ""
    logs = list((home.home / ".codex" / "sessions").rglob("*.jsonl"))
    assert "gave the same result 3 times in a row" in logs[0].read_text(), "the reminder reached the conversation"


def test_codex_may_write_its_plan_while_planning(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("codex")
    home.play(
        """
turns:
  - calls: [{write: "${workspace}/code.py", content: "x = 1"}]
  - calls: [{write: "${workspace}/plan.md", content: "# Plan"}]
  - text: The plan is in plan.md. Shall I build it?
"""
    )
    run_in(home, "Please /do-plan the parser", "--dangerously-bypass-hook-trust")
    assert "You are PLANNING" in told(home)[1]
    assert not (home.workspace / "code.py").exists()
    assert (home.workspace / "plan.md").exists()
    assert log_of(home) == ""


def test_gemini_is_coached(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("gemini")
    home.play(WORK)
    run_in(home, "Create hello.py", GEMINI_CLI_TRUST_WORKSPACE="true")
    asked = told(home)
    assert "failed twice in a row" in asked[3]
    assert "This call was not run" in asked[5]
    assert "No such file" in asked[5]
    assert "[System Coach]" in asked[6]
    assert len(asked) == 8, "proof passes"
    assert log_of(home) == ""


@pytest.mark.parametrize("off", [False, True])
def test_gemini_reads_comments_and_its_switch(with_hooks: Callable[[Cli], CliHome], off: bool) -> None:
    home = with_hooks("gemini")
    path = home.workspace / ".gemini" / "settings.json"
    remarked = (
        '// mine\n{\n  /* all, or none */ "hooksConfig": {"enabled": ' + ("false" if off else "true") + "} // !\n}\n"
    )
    path.write_text(remarked)
    apply(plan_install("gemini", "project", folder=home.workspace, env=home.env))
    found = standing("gemini", "project", folder=home.workspace, env=home.env)
    assert found is not None
    assert found.result == ("off" if off else "installed")
    home.play(
        WORK.split(LOOP)[0] + "  - text: I have implemented hello.py. It should work now.\n  - text: Not checked.\n"
    )
    run_in(home, "Create hello.py", GEMINI_CLI_TRUST_WORKSPACE="true")
    assert ("[System Coach]" not in "".join(told(home))) is off
    apply(plan_uninstall("gemini", "project", folder=home.workspace, env=home.env))
    assert path.read_text() == remarked


def test_in_gemini_the_cap_holds_although_coaching_comes_as_a_prompt(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("gemini")
    claims = ["It should work now.", "All tests pass.", "Fixed, probably.", "I pushed it.", "Done.", "Done now."]
    turns = "".join(f"  - text: I have implemented hello.py. {claim}\n" for claim in claims)
    home.play(WORK.split(LOOP)[0] + turns)
    run_in(home, "Create hello.py", GEMINI_CLI_TRUST_WORKSPACE="true")
    assert len([words for words in told(home) if "[System Coach]" in words]) == 3


def test_opencode_is_reminded_and_refused(with_hooks: Callable[[Cli], CliHome]) -> None:
    home = with_hooks("opencode")
    home.play("turns:\n" + LOOP + "  - text: I cannot find nowhere.txt. Where is it?\n")
    # OpenCode fetches a package for projects that have plug-ins, and goes on without it.
    run_in(home, "Read nowhere.txt", npm_config_registry="http://127.0.0.1:9/", npm_config_fetch_retries="0")
    asked = told(home)
    assert "failed twice in a row" in asked[2]
    assert "This call was not run" in asked[4]
    assert log_of(home) == ""


def test_opencode_is_sent_back_when_it_stops(with_hooks: Callable[[Cli], CliHome]) -> None:
    """As people use it: a server that stays, which the plug-in speaks to when the agent has come to rest."""
    home = with_hooks("opencode")
    home.play(WORK.replace(LOOP, ""))
    with opencode_server(home) as call:
        session = call("POST", "/session", {})["id"]
        prompt = {"parts": [{"type": "text", "text": "Create hello.py"}]}
        call("POST", f"/session/{session}/message", prompt)
        until = time.monotonic() + 60
        while len(told(home)) < 4:
            assert time.monotonic() < until, told(home)
            time.sleep(0.1)
    assert "[System Coach]" in told(home)[2]
    assert "hello.py" in told(home)[2]
    assert len(told(home)) == 4, "proof passes"
    assert log_of(home) == ""


@pytest.mark.parametrize("command", ['["/nowhere/python"]', '["false"]', '["echo", "no JSON"]', '["kill"]'])
def test_opencode_goes_on_when_the_hook_breaks(tmp_path: Path, command: str) -> None:
    """The plug-in itself, called as OpenCode calls it."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    template = Path(opencode.__file__).with_name("opencode_plugin.js").read_text()
    if "kill" in command:
        command = json.dumps(["sh", "-c", "kill -9 $$"])
    (tmp_path / "plugin.mjs").write_text(template.replace("[/* command */]", command))
    (tmp_path / "call.mjs").write_text(
        """
        import { Touchline } from "./plugin.mjs"
        const said = { info: { role: "assistant" }, parts: [{ type: "text", text: "Done." }] }
        const spoken = []
        const session = {
          get: async () => ({ data: {} }),
          messages: async () => ({ data: [said] }),
          promptAsync: async (message) => spoken.push(message),
        }
        const hooks = await Touchline({ client: { session }, directory: "/w" })
        const after = { output: "as it was", metadata: { exit: 1 } }
        await hooks["chat.message"]({ sessionID: "s" }, { parts: [{ type: "text", text: "hello" }] })
        await hooks["tool.execute.before"]({ sessionID: "s", tool: "bash" }, { args: { command: "ls" } })
        await hooks["tool.execute.after"]({ sessionID: "s", tool: "bash", args: {} }, after)
        const system = { system: ["as it was"] }
        await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, system)
        await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
        console.log(after.output, system.system.length, spoken.length)
        """
    )
    done = subprocess.run([node, tmp_path / "call.mjs"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "as it was 1 0"), done.stderr
