"""The slice with a real CLI: Claude Code plans and builds a task, its model played by the rehearsal server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clis import cli_path
from tests.real.stage import environment, level
from tests.roles.yard import code_turns, opened, plan_turns, sh, task

from touchline.rehearsal.script import parse_script
from touchline.rehearsal.server import serving
from touchline.roles.specification.task import TaskAction
from touchline.sessions.records import session_record, turns_of_session

pytestmark = pytest.mark.timeout(240)
CHECK = "python3 -c 'import greeting; assert greeting.hello(1) == 1'"
WRITTEN = '{calls: [{write: greeting.py, content: "def hello(x):\\n    return x\\n"}]}'
DONE = '{text: "greeting.py is written, and the check passes with exit code 0.\\n${marker}"}'


def test_claude_code_plans_builds_and_is_checked(tmp_path: Path) -> None:
    cli_path("claude")
    script = "conversations:\n" + plan_turns("T-001") + code_turns("T-001", WRITTEN, sh(CHECK), DONE)
    tasks = (
        task("T-001", "greeting.py", check=CHECK),
        task("T-002", "", check=CHECK, action=TaskAction.VERIFY, needs=("T-001",)),
    )
    with serving() as server:
        url = server.url("claude", parse_script(script))
        with opened(tmp_path, env=environment("claude", url, tmp_path), driver=None) as yard:
            id = yard.start(
                tasks, "  - {turns: [{text: unused}]}\n", agent="claude", sandbox=level(), agent_settings={}
            )
            build = yard.end(id, seconds=200)
            rows = yard.tasks(id)
            told = [(row.task.status, row.data.get("failures")) for row in rows.values()]
            assert (build.status, build.reason) == ("complete", "completed"), (build.detail, told)
            sessions = rows["T-001"].data["sessions"]
            with yard.database.reading() as connection:
                planner = session_record(connection, sessions["planning"][0])
                coder = session_record(connection, sessions["coding"][0])
                (turn,) = turns_of_session(connection, coder.id)
            assert (planner.agent, planner.asked.read_only, planner.delivery) == ("claude", True, "accepted")
            assert (coder.agent, coder.delivery) == ("claude", "accepted")
            assert turn.check_run["outcome"] == "passed"
            assert turn.usage, "what it cost is known"
            assert rows["T-001"].plan.startswith("The plan:")
            log = yard.git("log", "--format=%s", "refs/touchline/base..build", at=Path(build.workshop))
            assert log == "T-001: Make greeting.py"
            assert yard.git("status", "--porcelain") == ""
