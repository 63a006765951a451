"""An answer to a build that stopped for it reaches its agent, whichever command goes on with the build."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import started
from tests.cli.projects import Project

pytestmark = pytest.mark.timeout(240)
# The agent has what it needs where it works; a fresh clone has not.
ANSWERS = """
- question: write_requirements
  answer:
    title: Sample
    objective: Three files.
    success_criteria: [they are there]
    requirements: [{text: The files exist, acceptance: one sees them}]
    new_files: [{path: a1.py, purpose: x}, {path: a2.py, purpose: x}, {path: a3.py, purpose: x}]
- question: plan_tasks
  answer:
    tasks:
""" + "".join(
    f"      - {{id: T-00{n}, title: File {n}, phase: types, action: CREATE, file: a{n}.py, requirements: [it exists],\n"
    f"         satisfies: [FR-001], command: 'test -f __pycache__/seen || python3 -c \"import nonexist_{n}\"'}}\n"
    for n in (1, 2, 3)
)
SCRIPT = "conversations:\n" + "".join(
    f"""
  - name: advised-{n}
    when: '/Task T-00{n}:[\\s\\S]*A person looked at what went wrong before, and says:\\s+Use SQLite {n}/'
    find: {{marker: "(TASK-COMPLETE-[0-9a-f]+)"}}
    turns:
      - {{calls: [{{write: a{n}.py, content: "x = 1\\n"}}, {{write: nonexist_{n}.py, content: "x = 1\\n"}}]}}
      - {{calls: [{{shell: 'test -f __pycache__/seen || python3 -c "import nonexist_{n}"'}}]}}
      - {{text: "Written, and the check passes with exit code 0.\\n${{marker}}"}}
  - name: at-first-{n}
    when: '/Task T-00{n}:/'
    find: {{marker: "(TASK-COMPLETE-[0-9a-f]+)"}}
    turns:
      - {{calls: [{{shell: "mkdir -p __pycache__ && touch __pycache__/seen && echo > a{n}.py"}}]}}
      - {{calls: [{{shell: 'test -f __pycache__/seen || python3 -c "import nonexist_{n}"'}}]}}
      - {{text: "Written, and the check passes with exit code 0.\\n${{marker}}"}}
"""
    for n in (1, 2, 3)
)

ONE_ANSWERS = """
- question: write_requirements
  answer:
    title: Sample
    objective: One file.
    success_criteria: [it is there]
    requirements: [{text: The file exists, acceptance: one sees it}]
    new_files: [{path: one.py, purpose: x}]
- question: plan_tasks
  answer:
    tasks:
      - {id: T-001, title: The file, phase: types, action: CREATE, file: one.py, requirements: [it exists],
         satisfies: [FR-001], command: test -f one.py}
"""
ONE_SCRIPT = """
conversations:
  - name: one
    when: '/Task T-001:/'
    find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}
    turns:
      - {calls: [{write: one.py, content: "x = 1\\n"}]}
      - {calls: [{shell: test -f one.py}]}
      - {text: "Written, and the check passes with exit code 0.\\n${marker}"}
"""


def task(seen: dict[str, Any], number: int) -> dict[str, Any]:
    found: dict[str, Any] = seen["tasks"][number - 1]
    return found


def test_the_words_reach_the_agent_by_follow_by_a_worker_and_by_resume(tmp_path: Path) -> None:
    project = Project(tmp_path, answers=ANSWERS, script=SCRIPT)
    blocked = project.run(*project.start(), code=5).stdout
    assert "It waits for you: touchline inbox list" in blocked
    asked = {each["text"][:5]: each["id"] for each in project.said("build", "status")["questions"]}
    assert sorted(asked) == ["T-001", "T-002", "T-003"]

    told = project.run("inbox", "answer", asked["T-001"], "Use SQLite 1").stderr
    build = project.said("build", "status")["id"]
    step = f"touchline build follow {build}"
    assert step in told, "nothing runs it now, so the answer says what does"
    assert step in project.run("build", "status").stdout
    lines = project.run("build", "follow", "--json", code=5).stdout.splitlines()
    last = json.loads(lines[-1])
    assert [each["status"] for each in last["tasks"]] == ["complete", "blocked", "blocked"], last["tasks"]

    project.run("inbox", "answer", asked["T-002"], "Use SQLite 2")
    worker = started("worker", **project.env)
    try:
        until = time.monotonic() + 90
        while task(seen := project.said("build", "status"), 2)["status"] != "complete" or seen["status"] != "stopped":
            assert time.monotonic() < until, seen
            time.sleep(0.3)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)

    project.run("inbox", "answer", asked["T-003"], "Use SQLite 3")
    project.run("build", "resume")
    last = project.said("build", "status")
    assert [each["status"] for each in last["tasks"]] == ["complete"] * 3
    assert last["runs"] == 4


def test_who_answers_an_agents_own_question_is_told_what_goes_on_with_the_build(tmp_path: Path) -> None:
    asks = '{text: "Before I go on: which port should the server listen on, 8080 or 9090?"}'
    script = ONE_SCRIPT.replace("    turns:\n", f"    turns:\n      - {asks}\n")
    project = Project(tmp_path, answers=ONE_ANSWERS, script=script)
    project.run(*project.start(), code=5)
    build = project.said("build", "status")
    (question,) = build["questions"]
    told = project.run("inbox", "answer", question["id"], "8080").stderr
    assert f"Nothing runs the build now; go on with: touchline build follow {build['id']}" in told
    project.run("build", "follow")
    assert project.said("build", "status")["status"] == "complete"
