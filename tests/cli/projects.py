"""A repository with an approved specification of two files, a script for its agents, and `touchline` beside it."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.cli.command import touchline
from tests.sessions.house import repository

ANSWERS = """
- question: write_requirements
  answer:
    title: Sample
    objective: Two files.
    success_criteria: [they are there]
    requirements: [{text: The files exist, acceptance: one sees them}]
    new_files: [{path: one.py, purpose: first}, {path: two.py, purpose: second}]
- question: plan_tasks
  answer:
    tasks:
      - {id: T-001, title: The first, phase: types, action: CREATE, file: one.py, requirements: [it exists],
         satisfies: [FR-001], command: test -f one.py}
      - {id: T-002, title: The second, phase: types, action: CREATE, file: two.py, requirements: [it exists],
         satisfies: [FR-001], command: test -f two.py, depends_on: [T-001]}
"""
SCRIPT = """
conversations:
  - name: one
    when: '/Task T-001:/'
    find: &find {marker: "(TASK-COMPLETE-[0-9a-f]+)"}
    turns:
      - {calls: [{shell: "touch HERE/begun; until test -e HERE/go; do sleep 0.1; done"}]}
      - {calls: [{write: one.py, content: "x = 1\\n"}]}
      - {calls: [{shell: test -f one.py}]}
      - {text: "Written, and the check passes with exit code 0.\\n${marker}"}
  - name: two
    when: '/Task T-002:/'
    find: *find
    turns:
      - {calls: [{write: two.py, content: "x = 2\\n"}]}
      - {calls: [{shell: test -f two.py}]}
      - {text: "Written, and the check passes with exit code 0.\\n${marker}"}
"""


class Project:
    """One person's folder. In a script, HERE is that folder."""

    def __init__(self, folder: Path, *, answers: str = ANSWERS, script: str = SCRIPT) -> None:
        self.folder, self.repo = folder, repository(folder / "repo")
        (folder / "brief.md").write_text("Two files, please.\n")
        (folder / "answers.yaml").write_text(answers)
        (folder / "script.yaml").write_text(script.replace("HERE", str(folder)))
        self.env = {
            "TOUCHLINE_DATABASE_URL": f"sqlite:///{folder / 'app.db'}",
            "TOUCHLINE_SCRIPTED_HOME": str(folder / "scripted"),
            "HOME": str(folder),
        }
        model = f"scripted:{folder / 'answers.yaml'}"
        where = ("--repository", self.repo, "--folder", folder / "spec")
        self.run("spec", "new", folder / "brief.md", "--model", model, *where)
        self.run("spec", "approve", "--yes")

    def start(self, *, sandbox: str = "none") -> tuple[str | Path, ...]:
        options = ("--script", self.folder / "script.yaml", "--sandbox", sandbox, "--no-plan")
        return ("build", "start", *options, "--repository", self.repo)

    def run(self, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = touchline(*arguments, **self.env)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def said(self, *arguments: str | Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*arguments, "--json").stdout)
        return found

    def until(self, path: Path) -> None:
        until = time.monotonic() + 90
        while not path.exists():
            assert time.monotonic() < until, f"{path} never came"
            time.sleep(0.05)
