"""A repository with code and rules, a brief, and a model that answers from a file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

REQUIREMENTS: dict[str, Any] = {
    "title": "Small notes",
    "objective": "People keep notes in one file.",
    "success_criteria": ["A note survives a restart."],
    "requirements": [
        {"text": "Add a note", "acceptance": "It is listed afterwards."},
        {"text": "Colours", "priority": "could", "acceptance": "It is red.", "source": "research/market.md"},
    ],
    "new_files": [
        {"path": "notes.py", "purpose": "keeps notes"},
        {"path": "db/migrations/0001_notes.sql", "purpose": "the table"},
    ],
    "modified_files": [{"path": "app.py", "purpose": "calls it"}],
}
TASKS: list[dict[str, Any]] = [
    {
        "id": "T-002",
        "title": "Keep notes",
        "phase": "services",
        "action": "CREATE",
        "file": "notes.py",
        "requirements": ["add and list"],
        "satisfies": ["FR-001"],
        "command": "python3 -c 'import notes'",
        "depends_on": ["T-001"],
    },
    {
        "id": "T-001",
        "title": "The table",
        "phase": "database",
        "action": "CREATE",
        "file": "db/migrations/0001_notes.sql",
        "requirements": ["a table of notes"],
        "satisfies": ["FR-001"],
        "command": "test -s db/migrations/*_notes.sql",
    },
]


def repository_at(folder: Path) -> Path:
    """A git repository with a migration, rules for agents and a lesson."""
    for name, text in {
        "app.py": "print('hi')\n",
        "db/migrations/0007_begin.sql": "create table a (b int);\n",
        "AGENTS.md": "Use tabs.\n",
        ".touchline/lessons/sql.md": "---\npattern: '*.sql'\nconfidence: 0.9\n---\nName every constraint.\n",
        ".touchline/lessons/vague.md": "---\nconfidence: 0.4\n---\nPerhaps it was the moon.\n",
        "Makefile": "test:\n\tpython3 -m unittest -q\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder


def answers_at(path: Path, *entries: dict[str, Any], tasks: list[dict[str, Any]] | None = None) -> str:
    """A file of answers, and the line that names it. JSON is YAML, too."""
    plain = [
        {"question": "write_requirements", "answer": REQUIREMENTS},
        {"question": "plan_tasks", "answer": {"tasks": TASKS if tasks is None else tasks}},
    ]
    path.write_text(json.dumps([*entries, *plain]))
    return f"scripted:{path}"
